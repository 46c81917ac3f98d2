//go:build !sim

package main

import "context"

func explorePrograms(context.Context, streams, *exploreFlags) error { return needsSim("explore") }

func killMutants(context.Context, streams, *mutantsFlags) error { return needsSim("mutants") }

func served() bool { return false }
