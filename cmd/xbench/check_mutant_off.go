//go:build !sim

package main

import "xidlab/core"

func openMutant(name string) (open func() core.Manager, off func(), err error) {
	return nil, nil, needsSim("check -mutant " + name)
}
