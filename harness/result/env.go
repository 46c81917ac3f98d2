package result

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"unicode"

	"xidlab/harness/pin"
)

// An Env describes the machine that a run was measured on. What cannot be known
// is "unknown", or -1.
type Env struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPU         string `json:"cpu"`          // processor model as the kernel names it
	Online      string `json:"online"`       // CPUs, such as "0-3"
	Allowed     string `json:"allowed"`      // CPUs that this process may use
	SMT         string `json:"smt"`          // "on" or "off"
	Nodes       int    `json:"nodes"`        // NUMA nodes
	Caches      string `json:"caches"`       // of CPU 0, such as "L1d 32K, L1i 32K, L2 512K, L3 32768K"
	Governor    string `json:"governor"`     // of the frequency
	Turbo       string `json:"turbo"`        // "on" or "off"
	Hypervisor  string `json:"hypervisor"`   // "none", or what is known of it
	Kernel      string `json:"kernel"`       // release
	Mitigations string `json:"mitigations"`  // of flaws of the processor, as far as it has them
	Quota       string `json:"quota"`        // "none", or a number of CPUs, by cgroup
	Go          string `json:"go"`           // version of the toolchain
	GOMAXPROCS  int    `json:"gomaxprocs"`   // when read
	ClockSource string `json:"clock_source"` // of the kernel
	Clock       string `json:"clock"`        // that the figures were taken with
}

const unknown = "unknown"

// ReadEnv describes this machine. It does not fail: see [Env].
func ReadEnv(top pin.Topology, clock pin.Clock) Env {
	return readEnv(os.DirFS("/"), top, clock)
}

func readEnv(root fs.FS, top pin.Topology, clock pin.Clock) Env {
	online := make([]int, len(top.CPUs))
	for i, c := range top.CPUs {
		online[i] = c.ID
	}
	allowed := unknown
	if top.Allowed != nil {
		allowed = pin.FormatCPUList(top.Allowed)
	}
	r := reader{root}
	return Env{
		OS:          runtime.GOOS,
		Arch:        runtime.GOARCH,
		CPU:         r.model(),
		Online:      pin.FormatCPUList(online),
		Allowed:     allowed,
		SMT:         top.SMT,
		Nodes:       top.Nodes(),
		Caches:      r.caches(),
		Governor:    r.line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		Turbo:       r.turbo(),
		Hypervisor:  r.hypervisor(),
		Kernel:      r.line("proc/sys/kernel/osrelease"),
		Mitigations: r.mitigations(),
		Quota:       r.quota(),
		Go:          runtime.Version(),
		GOMAXPROCS:  runtime.GOMAXPROCS(0),
		ClockSource: r.line(clocksource + "current_clocksource"),
		Clock:       clock.Name(),
	}
}

// Fingerprint names the machine: readable words and a hash of all fields. It is
// fit for a folder's name. Absolute figures may be compared under equal
// fingerprints only.
func (e Env) Fingerprint() string {
	h := sha256.New()
	for _, field := range []string{
		e.OS, e.Arch, e.CPU, e.Online, e.Allowed, e.SMT, strconv.Itoa(e.Nodes), e.Caches, e.Governor, e.Turbo,
		e.Hypervisor, e.Kernel, e.Mitigations, e.Quota, e.Go, strconv.Itoa(e.GOMAXPROCS), e.ClockSource, e.Clock,
	} {
		fmt.Fprintf(h, "%q\n", field)
	}
	return slug(e.CPU) + "-" + strconv.Itoa(e.CPUs()) + "cpu-" + hex.EncodeToString(h.Sum(nil))[:10]
}

// CPUs returns the number of CPUs that the process may use: those allowed, or
// online if that is unknown; 0 if neither is known.
func (e Env) CPUs() int {
	list := e.Allowed
	if list == unknown {
		list = e.Online
	}
	ids, err := pin.ParseCPUList(list)
	if err != nil {
		return 0
	}
	return len(ids)
}

// slug keeps of a processor's name what is telling in a folder's name.
func slug(model string) string {
	words := strings.FieldsFunc(strings.ToLower(model), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	kept := words[:0]
	for _, w := range words {
		switch w {
		case "r", "tm", "c", "cpu", "processor", "core", "with":
		default:
			kept = append(kept, w)
		}
	}
	if len(kept) == 0 {
		return unknown
	}
	return strings.Join(kept[:min(len(kept), 4)], "-")
}

// A reader reads what the kernel says under /proc and /sys.
type reader struct{ root fs.FS }

const (
	cpus        = "sys/devices/system/cpu/"
	clocksource = "sys/devices/system/clocksource/clocksource0/"
)

// text returns the content of a file, or "".
func (r reader) text(name string) string {
	b, err := fs.ReadFile(r.root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// line returns the content of a one-line file, or "unknown".
func (r reader) line(name string) string {
	if s := r.text(name); s != "" {
		return s
	}
	return unknown
}

// cpuinfo returns the first value of a key in /proc/cpuinfo.
func (r reader) cpuinfo(key string) (value string, ok bool) {
	for line := range strings.Lines(r.text("proc/cpuinfo")) {
		k, v, _ := strings.Cut(line, ":")
		if strings.TrimSpace(k) == key {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

func (r reader) model() string {
	for _, key := range []string{"model name", "cpu model", "cpu"} { // x86; mips; power
		if model, ok := r.cpuinfo(key); ok && model != "" {
			return model
		}
	}
	implementer, ok1 := r.cpuinfo("CPU implementer") // arm64 has numbers only
	part, ok2 := r.cpuinfo("CPU part")
	if ok1 && ok2 {
		return "implementer " + implementer + " part " + part
	}
	return unknown
}

func (r reader) caches() string {
	var found []string
	for i := 0; ; i++ {
		dir := cpus + "cpu0/cache/index" + strconv.Itoa(i) + "/"
		level, size := r.text(dir+"level"), r.text(dir+"size")
		if level == "" {
			break
		}
		suffix := map[string]string{"Data": "d", "Instruction": "i"}[r.text(dir+"type")]
		if size == "" {
			size = unknown
		}
		found = append(found, "L"+level+suffix+" "+size)
	}
	if len(found) == 0 {
		return unknown
	}
	return strings.Join(found, ", ")
}

func (r reader) turbo() string {
	for _, c := range []struct{ file, on, off string }{
		{cpus + "intel_pstate/no_turbo", "0", "1"},
		{cpus + "cpufreq/boost", "1", "0"},
	} {
		switch r.text(c.file) {
		case c.on:
			return "on"
		case c.off:
			return "off"
		}
	}
	return unknown
}

func (r reader) hypervisor() string {
	if kind := r.text("sys/hypervisor/type"); kind != "" {
		return kind
	}
	flags, ok := r.cpuinfo("flags")
	if !ok {
		return unknown // only x86 tells
	}
	if !strings.Contains(" "+flags+" ", " hypervisor ") {
		return "none"
	}
	sources := r.text(clocksource + "available_clocksource")
	switch {
	case strings.Contains(sources, "kvm-clock"):
		return "kvm"
	case strings.Contains(sources, "hyperv"):
		return "hyperv"
	}
	if vendor := r.text("sys/class/dmi/id/sys_vendor"); vendor != "" {
		return strings.TrimSpace(vendor + " " + r.text("sys/class/dmi/id/product_name"))
	}
	return "of unknown kind"
}

func (r reader) mitigations() string {
	const dir = cpus + "vulnerabilities"
	entries, err := fs.ReadDir(r.root, dir)
	if err != nil {
		return unknown
	}
	var found []string
	for _, e := range entries {
		if state := r.line(path.Join(dir, e.Name())); state != "Not affected" {
			found = append(found, e.Name()+": "+strings.TrimPrefix(state, "Mitigation: "))
		}
	}
	if len(found) == 0 {
		return "none needed"
	}
	return strings.Join(found, " | ")
}

// quota returns the tightest limit on the path from the root of the cgroups to
// our own, of version 2 or 1.
func (r reader) quota() string {
	tightest, known := 0.0, false
	limit := func(quota, period string) {
		q, err1 := strconv.ParseFloat(quota, 64)
		p, err2 := strconv.ParseFloat(period, 64)
		if err1 == nil && err2 == nil && q > 0 && p > 0 && (tightest == 0 || q/p < tightest) {
			tightest = q / p
		}
	}
	for line := range strings.Lines(r.text("proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			if parts[1] == "" {
				for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
					if f := strings.Fields(r.text(path.Join(mount, group, "cpu.max"))); len(f) == 2 {
						known = true
						limit(f[0], f[1]) // "max 100000" is no limit
					}
				}
			} else if strings.Contains(","+parts[1]+",", ",cpu,") {
				dir := path.Join("sys/fs/cgroup", parts[1], group)
				if q := r.text(path.Join(dir, "cpu.cfs_quota_us")); q != "" {
					known = true
					limit(q, r.text(path.Join(dir, "cpu.cfs_period_us"))) // -1 is no limit
				}
			}
			if group == "/" {
				break
			}
		}
	}
	switch {
	case tightest > 0:
		return strconv.FormatFloat(tightest, 'g', 4, 64) + " CPUs"
	case known:
		return "none"
	}
	return unknown
}
