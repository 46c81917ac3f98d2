package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/peterbourgon/ff/v3/ffcli"

	"xidlab/harness"
	"xidlab/harness/workload"
)

// Exit codes. They are part of the interface; the help lists them.
const (
	exitOK          = 0
	exitFailed      = 1 // a variant broke a promise
	exitUsage       = 2 // the command line, or a file that it names, is wrong
	exitEnvironment = 4 // this machine does not let xbench do what it was asked to
	exitInterrupted = 130
)

const exitHelp = `EXIT CODES
  0    all is well
  1    a variant broke a promise, or a mutant survived; everything else is written
  2    a mistake in the command line or in a file that it names
  3    inconclusive (for comparisons; run never says so)
  4    this machine refuses: the results folder, a pin that was asked for
  130  interrupted; what was measured so far is written and says that it is partial`

// A codedError chooses the exit code.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

func usageError(err error) error       { return &codedError{exitUsage, err} }
func environmentError(err error) error { return &codedError{exitEnvironment, err} }

func exitCode(err error) int {
	var coded *codedError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, harness.ErrBroken):
		return exitFailed
	case errors.As(err, &coded):
		return coded.code
	}
	return exitEnvironment // what nobody foresaw is a file or a system call that failed
}

// streams are where a command writes: results to out, the rest to log.
type streams struct{ out, log io.Writer }

// xbench runs the command and returns its exit code. On an error it writes one
// line to stderr that says what is wrong, and what to do if that is not obvious.
func xbench(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	std := streams{stdout, stderr}
	var help bytes.Buffer // what package flag would print
	root := &ffcli.Command{
		Name:       "xbench",
		ShortUsage: "xbench <command> [flags]",
		ShortHelp:  "Measure and compare MVCC snapshot managers.",
		LongHelp: `EXAMPLES
  xbench run                      everything, in two minutes
  xbench run -quick               a first look, in a quarter of a minute
  xbench run -variant epoch -workload txn,mixed
  xbench COMMAND -h               help for a command

` + exitHelp,
		FlagSet: newFlagSet("xbench", &help),
	}
	root.Subcommands = []*ffcli.Command{
		listCommand(std, &help), envCommand(std, &help), runCommand(std, &help, args),
		exploreCommand(std, &help), mutantsCommand(std, &help), checkCommand(std, &help),
		importCommand(std, &help), plotCommand(std, &help), versionCommand(std, &help),
	}
	root.Subcommands = append(root.Subcommands, helpCommand(std, root, &help))
	root.Exec = func(_ context.Context, args []string) error {
		var names []string
		for _, c := range root.Subcommands {
			names = append(names, c.Name)
		}
		if len(args) == 0 {
			return usageError(fmt.Errorf("no command: try run, or one of %s", strings.Join(names, ", ")))
		}
		return usageError(workload.CheckName("command", args[0], names))
	}
	at := "xbench"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		at += " " + args[0]
	}
	err := root.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		err = flagError(root, args, err)
	default:
		err = root.Run(ctx)
	}
	if errors.Is(err, flag.ErrHelp) { // perhaps after a file
		_, err = help.WriteTo(stdout)
	}
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "%s: %v\n", at, oneLine(err))
	return exitCode(err)
}

// newFlagSet returns a flag set that reports to us, and writes to help what it
// would say itself.
func newFlagSet(name string, help io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(help)
	return fs
}

// flagError adds a suggestion to package flag's complaint about an unknown flag.
func flagError(root *ffcli.Command, args []string, err error) error {
	command := root
	for _, c := range root.Subcommands {
		if len(args) > 0 && c.Name == args[0] {
			command = c
		}
	}
	if name, ok := strings.CutPrefix(err.Error(), "error parsing commandline arguments: flag provided but not defined: -"); ok {
		if command == root {
			return usageError(fmt.Errorf("%s: flags come after the command, as in xbench run -quick", args[0]))
		}
		var known []string
		command.FlagSet.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
		if suggestion := workload.CheckName("flag", name, known); suggestion != nil {
			return usageError(suggestion)
		}
	}
	complaint := strings.TrimPrefix(err.Error(), "error parsing commandline arguments: ")
	if strings.HasSuffix(complaint, "for flag -duration: parse error") {
		complaint += ": give a number with a unit, such as 30s"
	}
	return usageError(errors.New(complaint))
}

// interleaved returns args without the flags among them, which fs parses: flags
// may follow files.
func interleaved(fs *flag.FlagSet, args []string) (files []string, err error) {
	for len(args) > 0 {
		if len(args[0]) < 2 || args[0][0] != '-' {
			files, args = append(files, args[0]), args[1:]
			continue
		}
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, usageError(err)
		}
		if args = fs.Args(); len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
			return append(files, args...), nil // they follow "--"
		}
	}
	return files, nil
}

// noArguments refuses what a command has no use for.
func noArguments(args []string) error {
	if len(args) > 0 {
		return usageError(fmt.Errorf("unexpected %q: flags begin with - and take their value as -flag=value", args[0]))
	}
	return nil
}

// oneLine folds joined errors.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' }), "; ")
}

func helpCommand(std streams, root *ffcli.Command, help *bytes.Buffer) *ffcli.Command {
	return &ffcli.Command{
		Name: "help", ShortUsage: "xbench help [command]", ShortHelp: "Show help for a command.",
		FlagSet: newFlagSet("help", help),
		Exec: func(_ context.Context, args []string) error {
			if len(args) > 0 {
				var names []string
				for _, c := range root.Subcommands {
					names = append(names, c.Name)
					if c.Name == args[0] {
						_, err := io.WriteString(std.out, ffcli.DefaultUsageFunc(c))
						return err
					}
				}
				return usageError(workload.CheckName("command", args[0], names))
			}
			_, err := io.WriteString(std.out, ffcli.DefaultUsageFunc(root))
			return err
		},
	}
}
