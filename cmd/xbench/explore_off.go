//go:build !sim

package main

import (
	"context"
	"fmt"
)

func explorePrograms(context.Context, streams, *exploreFlags) error { return needsSim("explore") }

func killMutants(context.Context, streams, *mutantsFlags) error { return needsSim("mutants") }

func served() bool { return false }

// needsSim says how to run a command that only the sim build has.
func needsSim(command string) error {
	return usageError(fmt.Errorf("this build does not schedule threads: go run -tags sim ./cmd/xbench %s", command))
}
