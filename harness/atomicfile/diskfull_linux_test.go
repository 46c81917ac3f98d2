package atomicfile

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const diskFull = "XIDLAB_TEST_DISK_FULL"

// TestDiskFull writes under a limit on the size of files, which fails in the
// middle as a full disk does. The limit is for good, so it needs a process of
// its own.
func TestDiskFull(t *testing.T) {
	if path := os.Getenv(diskFull); path != "" {
		writeLimited(path)
		return
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := Write(path, []byte("before")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestDiskFull$")
	cmd.Env = append(os.Environ(), diskFull+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "error: write "+path) || !strings.Contains(string(out), "unchanged") {
		t.Errorf("%v: %s", err, out)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "before" {
		t.Errorf("after the failure: %q, %v", got, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func writeLimited(path string) {
	signal.Ignore(unix.SIGXFSZ)
	limit := unix.Rlimit{Cur: 4096, Max: 4096}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("error:", Write(path, make([]byte, 1<<20)))
}
