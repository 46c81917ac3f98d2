package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"github.com/peterbourgon/ff/v3/ffcli"

	"xidlab/harness/pin"
	"xidlab/harness/result"
	"xidlab/harness/workload"
	"xidlab/variants"
)

func listCommand(std streams, help *bytes.Buffer) *ffcli.Command {
	return &ffcli.Command{
		Name: "list", ShortUsage: "xbench list", ShortHelp: "List variants and workloads.",
		LongHelp: "EXAMPLES\n  xbench list",
		FlagSet:  newFlagSet("list", help),
		Exec: func(_ context.Context, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "VARIANTS\n")
			for _, v := range variants.All {
				fmt.Fprintf(w, "  %s\t%s\n", v.Name, v.Summary)
			}
			fmt.Fprintf(w, "\nWORKLOADS\n")
			for _, l := range workload.All() {
				fmt.Fprintf(w, "  %s\t%s\n", l.Name(), l.Summary())
			}
			fmt.Fprintf(w, "  %s\t%s\n", builtinTrace, "a recorded PostgreSQL server: pgbench at several isolation levels, savepoints, a long reader")
			fmt.Fprintf(w, "\nOF ONE OPERATION, for -costs and by name\n")
			for _, l := range workload.Operations() {
				fmt.Fprintf(w, "  %s\t%s\n", l.Name(), l.Summary())
			}
			fmt.Fprintf(w, "\n  txn-snapshot/active=N works with any N; txn-snapshot is the four above; -trace FILE replays another trace\n")
			return w.Flush()
		},
	}
}

func envCommand(std streams, help *bytes.Buffer) *ffcli.Command {
	return &ffcli.Command{
		Name: "env", ShortUsage: "xbench env", ShortHelp: "Say what this machine is, what can be pinned and what cannot be known.",
		LongHelp: "EXAMPLES\n  xbench env",
		FlagSet:  newFlagSet("env", help),
		Exec: func(_ context.Context, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			top := pin.ReadTopology()
			order := top.Order()
			pinnable := "yes, verified on each of these CPUs"
			if err := tryPins(order); err != nil {
				pinnable = "no: " + err.Error()
			}
			defer setProcs(top)()
			clock := pin.NewClock()
			e := result.ReadEnv(top, clock)
			w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
			for _, row := range [][2]string{
				{"fingerprint", e.Fingerprint()},
				{"processor", e.CPU},
				{"CPUs online", e.Online},
				{"CPUs allowed", e.Allowed},
				{"order of workers", fmt.Sprint(order)},
				{"pinning", pinnable},
				{"SMT", e.SMT},
				{"NUMA nodes", number(e.Nodes)},
				{"caches", e.Caches},
				{"governor", e.Governor},
				{"turbo", e.Turbo},
				{"hypervisor", e.Hypervisor},
				{"kernel", e.OS + " " + e.Kernel + " " + e.Arch},
				{"mitigations", e.Mitigations},
				{"CPU quota", e.Quota},
				{"Go", e.Go},
				{"GOMAXPROCS", number(e.GOMAXPROCS)},
				{"clock source", e.ClockSource},
				{"clock of figures", fmt.Sprintf("%s; a read costs %.1f ns, it advances in steps of %.1f ns", e.Clock, clock.Nanoseconds(clock.Overhead()), clock.Nanoseconds(step(clock)))},
				{"run delay", known(pin.ThreadUsage().RunDelay != pin.Unknown)},
				{"steal", known(pin.MachineUsage().Steal != pin.Unknown)},
				{"pressure (PSI)", known(pin.MachineUsage().Pressure != pin.Unknown)},
			} {
				fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
			}
			return w.Flush()
		},
	}
}

// step returns by how many ticks the clock advances at least.
func step(clock pin.Clock) int64 {
	least := int64(1<<63 - 1)
	last := clock.Now()
	for range 10000 {
		now := clock.Now()
		if now > last {
			least = min(least, now-last)
		}
		last = now
	}
	return least
}

func number(n int) string {
	if n == pin.Unknown {
		return "unknown"
	}
	return fmt.Sprint(n)
}

func known(ok bool) string {
	if ok {
		return "reported by this system"
	}
	return "unknown: this system does not tell"
}

func versionCommand(std streams, help *bytes.Buffer) *ffcli.Command {
	return &ffcli.Command{
		Name: "version", ShortUsage: "xbench version", ShortHelp: "Show the version of xbench and of its files.",
		LongHelp: "EXAMPLES\n  xbench version",
		FlagSet:  newFlagSet("version", help),
		Exec: func(_ context.Context, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			_, err := fmt.Fprintf(std.out, "xbench %s, %s, result schema %d\n", version(), runtime.Version(), result.Schema)
			return err
		},
	}
}

// version is that of the module, or the revision that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+"
		}
	}
	if revision == "" {
		return "(devel)"
	}
	return revision + modified
}
