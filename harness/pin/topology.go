package pin

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A CPU is one logical processor, by the kernel's numbering. Core, Package and
// Node are Unknown where the system does not reveal them.
type CPU struct {
	ID      int // as in taskset and /proc/cpuinfo
	Core    int // physical core, unique within its package
	Package int // socket
	Node    int // NUMA node
}

// A Topology is what is known of the CPUs of this machine.
type Topology struct {
	CPUs    []CPU  // online, ascending by ID
	Allowed []int  // IDs that this process may run on, ascending; nil if unknown
	SMT     string // "on", "off" or "unknown"
}

// ReadTopology reads the topology from sysfs. It always returns one: where
// sysfs is missing it holds the allowed CPUs, or failing that as many as the Go
// runtime reports, with everything else unknown.
func ReadTopology() Topology {
	allowed, err := Allowed()
	if err != nil {
		allowed = nil
	}
	return readTopology(os.DirFS("/sys"), allowed)
}

func readTopology(sys fs.FS, allowed []int) Topology {
	t := Topology{Allowed: allowed, SMT: readSMT(sys)}
	ids, err := ParseCPUList(readLine(sys, "devices/system/cpu/online"))
	if err != nil || len(ids) == 0 {
		ids = allowed
	}
	if len(ids) == 0 {
		for id := range runtime.NumCPU() {
			ids = append(ids, id)
		}
	}
	nodes := readNodes(sys)
	for _, id := range ids {
		dir := path.Join("devices/system/cpu", "cpu"+strconv.Itoa(id), "topology")
		cpu := CPU{ID: id, Core: readInt(sys, path.Join(dir, "core_id")), Package: readInt(sys, path.Join(dir, "physical_package_id")), Node: Unknown}
		if node, ok := nodes[id]; ok {
			cpu.Node = node
		}
		t.CPUs = append(t.CPUs, cpu)
	}
	return t
}

// Nodes returns the number of NUMA nodes with online CPUs, or Unknown.
func (t Topology) Nodes() int {
	seen := map[int]bool{}
	for _, c := range t.CPUs {
		if c.Node == Unknown {
			return Unknown
		}
		seen[c.Node] = true
	}
	return len(seen)
}

// Order returns the CPUs to give to workers, best first: all distinct cores
// before the first SMT sibling, and within each of the two one NUMA node (and
// package) after the next. Only CPUs that are online and allowed appear. CPUs
// whose core is unknown count as cores of their own.
func (t Topology) Order() []int {
	type place struct{ pkg, core int }
	type ranked struct {
		CPU
		sibling int // how many CPUs of the same core come before this one
	}
	siblings := map[place]int{}
	var order []ranked
	for _, c := range t.CPUs {
		if t.Allowed != nil && !slices.Contains(t.Allowed, c.ID) {
			continue
		}
		r := ranked{CPU: c}
		if c.Core != Unknown {
			at := place{c.Package, c.Core}
			r.sibling = siblings[at]
			siblings[at]++
		}
		order = append(order, r)
	}
	slices.SortStableFunc(order, func(a, b ranked) int {
		return cmp.Or(
			cmp.Compare(a.sibling, b.sibling),
			cmp.Compare(a.Node, b.Node),
			cmp.Compare(a.Package, b.Package),
			cmp.Compare(a.ID, b.ID),
		)
	})
	ids := make([]int, len(order))
	for i, r := range order {
		ids[i] = r.ID
	}
	return ids
}

// ParseCPUList reads a list of CPUs such as "0-3,8", in the kernel's notation.
// The empty string is the empty list. The result is ascending, without repeats.
func ParseCPUList(list string) ([]int, error) {
	const most = 1 << 16 // no kernel numbers CPUs beyond; bounds what "0-999999999" costs
	var ids []int
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		if part == "" && len(strings.TrimSpace(list)) == 0 {
			break
		}
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		lo, err1 := strconv.ParseUint(first, 10, 32)
		hi, err2 := strconv.ParseUint(last, 10, 32)
		if err1 != nil || err2 != nil || lo > hi || hi >= most {
			return nil, fmt.Errorf("CPU list %q: %q is not a CPU or a range; write it like 0-3,8", list, part)
		}
		for id := lo; id <= hi; id++ {
			ids = append(ids, int(id))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// FormatCPUList is the inverse of [ParseCPUList]: "0-3,8".
func FormatCPUList(ids []int) string {
	var b strings.Builder
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(ids[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(ids[j]))
		}
		i = j + 1
	}
	return b.String()
}

func readSMT(sys fs.FS) string {
	switch readLine(sys, "devices/system/cpu/smt/active") {
	case "1":
		return "on"
	case "0":
		return "off"
	}
	return "unknown"
}

// readNodes maps CPUs to NUMA nodes.
func readNodes(sys fs.FS) map[int]int {
	nodes := map[int]int{}
	entries, err := fs.ReadDir(sys, "devices/system/node")
	if err != nil {
		return nodes
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "node")
		node, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		ids, err := ParseCPUList(readLine(sys, path.Join("devices/system/node", e.Name(), "cpulist")))
		if err != nil {
			continue
		}
		for _, id := range ids {
			nodes[id] = node
		}
	}
	return nodes
}

// readLine returns the content of a one-line file, or "".
func readLine(sys fs.FS, name string) string {
	b, err := fs.ReadFile(sys, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// readInt returns the number in a one-line file. The kernel writes -1 for what
// it does not know, which is Unknown too.
func readInt(sys fs.FS, name string) int {
	n, err := strconv.Atoi(readLine(sys, name))
	if err != nil || n < 0 {
		return Unknown
	}
	return n
}
