package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/peterbourgon/ff/v3/ffcli"

	"xidlab/harness/trace"
	"xidlab/harness/trace/pglog"
	"xidlab/harness/workload"
)

const formatPgCSVLog = "pg-csvlog"

func importCommand(std streams, help *bytes.Buffer) *ffcli.Command {
	fs := newFlagSet("import", help)
	output := fs.String("o", "", "write the trace to `FILE`")
	dump := fs.Bool("dump", false, "write the trace to the standard output as text, an operation a line")
	c := &ffcli.Command{
		Name: "import", ShortUsage: "xbench import pg-csvlog FILE... -o T.trace", ShortHelp: "Make a trace from a server's log.",
		LongHelp: `The log is PostgreSQL's csvlog (versions 13 and later), plain or gzip, written
with log_statement = all. Several files are one log. What cannot be interpreted
is counted and shown, by kind.

EXAMPLES
  xbench import pg-csvlog /var/log/postgresql/*.csv -o shop.trace
  xbench run -trace shop.trace
  xbench import pg-csvlog shop.csv -dump | less    see what became of it

` + exitHelp,
		FlagSet: fs,
	}
	c.Exec = func(_ context.Context, args []string) error {
		fs.Usage = func() { fmt.Fprintln(help, ffcli.DefaultUsageFunc(c)) }
		args, err := interleaved(fs, args)
		switch {
		case err != nil:
			return err
		case len(args) == 0:
			return usageError(errors.New("no format: say xbench import pg-csvlog FILE... -o T.trace"))
		}
		if err := workload.CheckName("format", args[0], []string{formatPgCSVLog}); err != nil {
			return usageError(err)
		}
		switch files := args[1:]; {
		case len(files) == 0:
			return usageError(errors.New("no files: name the logs to import"))
		case *output == "" && !*dump:
			return usageError(errors.New("no name for the trace: add -o FILE.trace, or -dump to read it"))
		case slices.ContainsFunc(files, func(file string) bool { return sameFile(file, *output) }):
			return usageError(fmt.Errorf("-o %s would replace a log that is to be imported: give the trace another name", *output))
		default:
			t, report, err := pglog.Import(files...)
			if err != nil {
				return usageError(err)
			}
			words := std.out
			if *dump {
				words = std.log
				if err := t.Dump(std.out); err != nil {
					return err
				}
			}
			if _, err := report.WriteTo(words); err != nil || *output == "" {
				return err
			}
			if err := trace.WriteFile(*output, t); err != nil {
				return environmentError(err)
			}
			_, err = fmt.Fprintf(words, "wrote %s; replay it with: xbench run -trace %s\n", *output, *output)
			return err
		}
	}
	return c
}

// sameFile reports whether both exist and are one file.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
