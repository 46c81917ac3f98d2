// Command xbench measures and compares the snapshot managers of the laboratory.
//
//	xbench run            every variant, every workload, the built-in trace: two minutes
//	xbench run -quick     a first look: a quarter of a minute
//	xbench help           everything else
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if served() {
		return
	}
	interrupts := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		interrupts = append(interrupts, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), interrupts...)
	context.AfterFunc(ctx, stop) // a second ^C ends the program at once
	os.Exit(xbench(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
