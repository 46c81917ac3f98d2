package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/peterbourgon/ff/v3/ffcli"

	"xidlab/harness/plot"
	"xidlab/harness/result"
)

// resultsDir is where results go unless -o says otherwise.
const resultsDir = "results"

func plotCommand(std streams, help *bytes.Buffer) *ffcli.Command {
	fs := newFlagSet("plot", help)
	dir := fs.String("o", "", "write the pictures into the folder `DIR` (default: beside the results)")
	c := &ffcli.Command{
		Name: "plot", ShortUsage: "xbench plot [-o DIR] [RESULT...]", ShortHelp: "Draw the plots and print the tables of results again.",
		LongHelp: `RESULT is a .json or .bench file that xbench run wrote; without one it is the
newest in the folder ` + resultsDir + `.

EXAMPLES
  xbench plot
  xbench plot results/*/20260102T030405Z.json -o pictures

` + exitHelp,
		FlagSet: fs,
	}
	c.Exec = func(_ context.Context, args []string) error {
		fs.Usage = func() { fmt.Fprintln(help, ffcli.DefaultUsageFunc(c)) }
		files, err := interleaved(fs, args)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			newest, err := result.Newest(resultsDir)
			if err != nil {
				return usageError(err)
			}
			files = []string{newest}
		}
		var runs []*result.Run
		for _, f := range files {
			r, err := result.Load(f)
			if err != nil {
				return usageError(err)
			}
			runs = append(runs, r)
		}
		for i, r := range runs {
			base := plotBase(files[i])
			if *dir != "" {
				if err := os.MkdirAll(*dir, 0o777); err != nil {
					return environmentError(err)
				}
				base = filepath.Join(*dir, filepath.Base(base))
			}
			if err := result.WriteTables(std.out, r); err != nil {
				return err
			}
			paths, err := plot.Write(r, base)
			if err != nil {
				return environmentError(err)
			}
			if len(paths) == 0 {
				return usageError(errors.New(files[i] + " has no rows to draw"))
			}
			for _, p := range paths {
				fmt.Fprintln(std.out, p)
			}
		}
		return nil
	}
	return c
}

// plotBase is what the pictures of a result file are named after.
func plotBase(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(file, ".json"), ".bench")
}
