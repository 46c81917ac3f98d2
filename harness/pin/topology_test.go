package pin

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// sysfs makes the files of a machine: online CPUs, and for each node the
// physical core of each CPU.
func sysfs(smt string, online string, nodes map[int]map[int]int) fs.FS {
	files := fstest.MapFS{
		"devices/system/cpu/online":     {Data: []byte(online + "\n")},
		"devices/system/cpu/smt/active": {Data: []byte(smt + "\n")},
		"devices/system/node/online":    {Data: []byte("0\n")},
	}
	for node, cpus := range nodes {
		var ids []int
		for cpu, core := range cpus {
			ids = append(ids, cpu)
			dir := fmt.Sprintf("devices/system/cpu/cpu%d/topology/", cpu)
			files[dir+"core_id"] = &fstest.MapFile{Data: []byte(strconv.Itoa(core) + "\n")}
			files[dir+"physical_package_id"] = &fstest.MapFile{Data: []byte(strconv.Itoa(node) + "\n")}
		}
		slices.Sort(ids)
		name := fmt.Sprintf("devices/system/node/node%d/cpulist", node)
		files[name] = &fstest.MapFile{Data: []byte(FormatCPUList(ids) + "\n")}
	}
	return files
}

func TestOrder(t *testing.T) {
	twoSockets := sysfs("1", "0-7", map[int]map[int]int{
		0: {0: 0, 1: 1, 4: 0, 5: 1}, // Linux numbers siblings last on most machines
		1: {2: 0, 3: 1, 6: 0, 7: 1},
	})
	for _, c := range []struct {
		name    string
		sys     fs.FS
		allowed []int
		want    []int
	}{
		{"cores of both nodes come before siblings", twoSockets, nil, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{"adjacent siblings", sysfs("1", "0-3", map[int]map[int]int{0: {0: 0, 1: 0, 2: 1, 3: 1}}), nil, []int{0, 2, 1, 3}},
		{"interleaved nodes", sysfs("0", "0-3", map[int]map[int]int{0: {0: 0, 2: 1}, 1: {1: 0, 3: 1}}), nil, []int{0, 2, 1, 3}},
		{"the first allowed CPU of a core is not a sibling", twoSockets, []int{4, 5, 6}, []int{4, 5, 6}},
		{"allowed siblings", twoSockets, []int{0, 4, 6}, []int{0, 6, 4}},
		{"offline CPUs do not appear", sysfs("0", "0,2", map[int]map[int]int{0: {0: 0, 1: 1, 2: 2}}), []int{0, 1, 2}, []int{0, 2}},
		{"a guest that hides everything", fstest.MapFS{}, []int{1, 3}, []int{1, 3}},
	} {
		if got := readTopology(c.sys, c.allowed).Order(); !slices.Equal(got, c.want) {
			t.Errorf("%s: order %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTopologyHidden(t *testing.T) {
	top := readTopology(fstest.MapFS{}, nil)
	if len(top.CPUs) != runtime.NumCPU() || top.SMT != "unknown" || top.Nodes() != Unknown {
		t.Errorf("without sysfs: %+v with %d nodes", top, top.Nodes())
	}
	for _, c := range top.CPUs {
		if c.Core != Unknown || c.Node != Unknown || c.Package != Unknown {
			t.Errorf("without sysfs: %+v is made up", c)
		}
	}
}

func TestTopologyKnown(t *testing.T) {
	top := readTopology(sysfs("1", "0-3", map[int]map[int]int{0: {0: 0, 1: 0}, 1: {2: 4, 3: 4}}), []int{0, 1, 2, 3})
	want := []CPU{{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 4, 1, 1}, {3, 4, 1, 1}}
	if !slices.Equal(top.CPUs, want) || top.SMT != "on" || top.Nodes() != 2 {
		t.Errorf("got %+v with %d nodes", top, top.Nodes())
	}
}

func TestCPUList(t *testing.T) {
	for _, c := range []struct {
		list string
		want []int
	}{
		{"", nil}, {"\n", nil}, {"0", []int{0}}, {"0-3,8", []int{0, 1, 2, 3, 8}}, {"8,0-1,1", []int{0, 1, 8}},
	} {
		got, err := ParseCPUList(c.list)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v; want %v", c.list, got, err, c.want)
		}
		again, err := ParseCPUList(FormatCPUList(got))
		if err != nil || !slices.Equal(again, got) {
			t.Errorf("%q: written and read again: %v, %v", c.list, again, err)
		}
	}
	for _, bad := range []string{"x", "3-1", "1,,2", "-1", "0-99999999", "1-2-3"} {
		if ids, err := ParseCPUList(bad); err == nil || !strings.Contains(err.Error(), "0-3,8") {
			t.Errorf("%q: %v, %v; want an error with an example", bad, ids, err)
		}
	}
}
