package result

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"xidlab/harness/pin"
)

type fakeClock struct{ pin.Clock }

func (fakeClock) Name() string { return "fake" }

// machine makes a file system from pairs of name and content.
func machine(files ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1] + "\n")}
	}
	return fsys
}

func TestReadEnv(t *testing.T) {
	top := pin.Topology{CPUs: []pin.CPU{{ID: 0}, {ID: 1}, {ID: 2}}, Allowed: []int{0, 2}, SMT: "on"}
	e := readEnv(machine(
		"proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz\nflags\t\t: fpu tsc",
		"proc/sys/kernel/osrelease", "6.1.0-test",
		"sys/devices/system/cpu/cpu0/cache/index0/level", "1",
		"sys/devices/system/cpu/cpu0/cache/index0/type", "Data",
		"sys/devices/system/cpu/cpu0/cache/index0/size", "48K",
		"sys/devices/system/cpu/cpu0/cache/index1/level", "2",
		"sys/devices/system/cpu/cpu0/cache/index1/type", "Unified",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance",
		"sys/devices/system/cpu/intel_pstate/no_turbo", "1",
		"sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected",
		"sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines",
		"sys/devices/system/cpu/vulnerabilities/mds", "Vulnerable",
		"sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc",
		"proc/self/cgroup", "0::/a/b",
		"sys/fs/cgroup/a/cpu.max", "150000 100000",
		"sys/fs/cgroup/a/b/cpu.max", "max 100000",
	), top, fakeClock{})
	want := e // what the runtime says is not up for testing
	want.CPU, want.Online, want.Allowed, want.SMT, want.Nodes = "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "0-2", "0,2", "on", 1
	want.Caches, want.Governor, want.Turbo, want.Hypervisor = "L1d 48K, L2 unknown", "performance", "off", "none"
	want.Kernel, want.Mitigations, want.Quota = "6.1.0-test", "mds: Vulnerable | spectre_v2: Retpolines", "1.5 CPUs"
	want.ClockSource, want.Clock = "tsc", "fake"
	if e != want {
		t.Errorf("got  %+v\nwant %+v", e, want)
	}
	if f := e.Fingerprint(); !strings.HasPrefix(f, "intel-xeon-platinum-8375c-2cpu-") {
		t.Errorf("fingerprint %s", f)
	}
}

func TestReadEnvHidden(t *testing.T) {
	e := readEnv(fstest.MapFS{}, pin.Topology{CPUs: []pin.CPU{{ID: 0, Core: -1, Package: -1, Node: -1}}, SMT: "unknown"}, fakeClock{})
	for name, got := range map[string]string{
		"cpu": e.CPU, "allowed": e.Allowed, "caches": e.Caches, "governor": e.Governor, "turbo": e.Turbo, "hypervisor": e.Hypervisor,
		"kernel": e.Kernel, "mitigations": e.Mitigations, "quota": e.Quota, "clock source": e.ClockSource,
	} {
		if got != "unknown" {
			t.Errorf("%s: %q is made up", name, got)
		}
	}
	if e.Nodes != pin.Unknown {
		t.Errorf("%d nodes", e.Nodes)
	}
	if f := e.Fingerprint(); !strings.HasPrefix(f, "unknown-1cpu-") {
		t.Errorf("fingerprint %s", f)
	}
}

func TestEnvDetails(t *testing.T) {
	cpuinfo := func(flags string) []string { return []string{"proc/cpuinfo", "model name : x\nflags : fpu " + flags} }
	for _, c := range []struct {
		name  string
		files []string
		get   func(reader) string
		want  string
	}{
		{"arm64", []string{"proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd40"}, reader.model, "implementer 0x41 part 0xd40"},
		{"kvm", append(cpuinfo("hypervisor"), "sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock"), reader.hypervisor, "kvm"},
		{"named by its firmware", append(cpuinfo("hypervisor"), "sys/class/dmi/id/sys_vendor", "QEMU", "sys/class/dmi/id/product_name", "PC"), reader.hypervisor, "QEMU PC"},
		{"a guest of something", cpuinfo("hypervisor"), reader.hypervisor, "of unknown kind"},
		{"xen", []string{"sys/hypervisor/type", "xen"}, reader.hypervisor, "xen"},
		{"AMD's boost", []string{"sys/devices/system/cpu/cpufreq/boost", "1"}, reader.turbo, "on"},
		{"no flaws", []string{"sys/devices/system/cpu/vulnerabilities/mds", "Not affected"}, reader.mitigations, "none needed"},
		{"quota of version 1", []string{"proc/self/cgroup", "4:cpu,cpuacct:/docker/x", "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "50000", "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000"}, reader.quota, "0.5 CPUs"},
		{"no quota of version 1", []string{"proc/self/cgroup", "4:cpu:/", "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"}, reader.quota, "none"},
		{"quota in a cgroup namespace", []string{"proc/self/cgroup", "0::/", "sys/fs/cgroup/cpu.max", "200000 100000"}, reader.quota, "2 CPUs"},
	} {
		if got := c.get(reader{machine(c.files...)}); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	base := sampleRun().Env
	const known = "amd-epyc-7r13-2cpu-9ebc8456b9" // changes only with Schema: folders of old results keep their names
	if got := base.Fingerprint(); got != known {
		t.Errorf("fingerprint %s, want %s", got, known)
	}
	safe := regexp.MustCompile(`^[a-z0-9-]+$`)
	for i := range reflect.TypeFor[Env]().NumField() {
		e := base
		field := reflect.ValueOf(&e).Elem().Field(i)
		if field.Kind() == reflect.String {
			field.SetString("3/../x é")
		} else {
			field.SetInt(77)
		}
		name := reflect.TypeFor[Env]().Field(i).Name
		if e.Fingerprint() == known {
			t.Errorf("the fingerprint does not depend on %s", name)
		}
		if !safe.MatchString(e.Fingerprint()) {
			t.Errorf("with an odd %s the fingerprint is %s", name, e.Fingerprint())
		}
	}
}
