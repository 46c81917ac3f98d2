package coretest

import (
	"math/rand/v2"
	"slices"
)

// An op is one instruction of a program: a code and operands, which pick from
// whatever the program has made so far (see machine). Every sequence of ops is
// a program: an instruction that finds nothing to work on does nothing. So a
// program can come from a generator, from a fuzzer or from another program by
// dropping ops, and is run by the same interpreter.
type op struct{ code, a, b, c byte }

const (
	opBegin = iota
	opCommit
	opRollback
	opStatus
	opOldestActive
	opSnapshot
	opLookup
	opLookupAll
	opInProgress
	opWithOwner
	opAllocate
	opRetain
	opRetainSnapshot
	opRelease
	opRequired
	opPin
	opUnpin
	opPrune
	opObserve
	opExcluded
	opProjection
	opReserves
	opGroup
	opForeign
	opAudit
	opCodes // how many there are
)

// frequencies says how often a code is drawn, in relation to the others.
var frequencies = [opCodes]int{
	opBegin: 16, opCommit: 12, opRollback: 6, opStatus: 3, opOldestActive: 2,
	opSnapshot: 10, opLookup: 6, opLookupAll: 4, opInProgress: 3, opWithOwner: 3,
	opAllocate: 8, opRetain: 5, opRetainSnapshot: 5, opRelease: 6, opRequired: 5,
	opPin: 3, opUnpin: 3, opPrune: 4, opObserve: 2, opExcluded: 2, opProjection: 2,
	opReserves: 4, opGroup: 4, opForeign: 1, opAudit: 2,
}

// decode makes a program of a fuzzer's bytes, four an op; the rest is ignored,
// and so is what exceeds a length that the interpreter runs in milliseconds.
func decode(data []byte) []op {
	const longest = 400
	var prog []op
	for chunk := range slices.Chunk(data, 4) {
		if len(chunk) < 4 || len(prog) == longest {
			break
		}
		prog = append(prog, op{chunk[0] % opCodes, chunk[1], chunk[2], chunk[3]})
	}
	return prog
}

func encode(prog []op) []byte {
	var data []byte
	for _, o := range prog {
		data = append(data, o.code, o.a, o.b, o.c)
	}
	return data
}

// generate returns the program of a seed. Each seed leaves some codes out and
// favours others (swarm testing: Groce et al., ISSTA 2012), because a program
// that does a little of everything reaches few of the states that need much of
// one thing.
func generate(seed uint64) []op {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	var weights [opCodes]int
	total := 0
	for code, f := range frequencies {
		switch r.IntN(8) {
		case 0, 1:
			f = 0
		case 2:
			f *= 4
		}
		if code == opBegin || code == opSnapshot {
			f = max(f, frequencies[code])
		}
		weights[code] = f
		total += f
	}
	prog := make([]op, 10+r.IntN(110))
	for i := range prog {
		n := r.IntN(total)
		code := 0
		for ; n >= weights[code]; code++ {
			n -= weights[code]
		}
		prog[i] = op{byte(code), byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}
	}
	return prog
}

// shrink returns a shorter program that fails too: it drops runs of ops,
// halves first and single ones last, for as long as that works, and then sets
// operands to zero. It tries at most a few thousand programs.
func shrink(prog []op, fails func([]op) bool) []op {
	budget := 3000
	try := func(p []op) bool { budget--; return budget > 0 && fails(p) }
	for size := max(1, len(prog)/2); ; {
		dropped := false
		for at := 0; at+size <= len(prog); {
			if p := slices.Delete(slices.Clone(prog), at, at+size); try(p) {
				prog, dropped = p, true
			} else {
				at += size
			}
		}
		if size == 1 && !dropped {
			break
		}
		if size > 1 {
			size /= 2
		}
	}
	for i := range prog {
		for _, operand := range []func(*op) *byte{
			func(o *op) *byte { return &o.a }, func(o *op) *byte { return &o.b }, func(o *op) *byte { return &o.c },
		} {
			p := slices.Clone(prog)
			if *operand(&p[i]) == 0 {
				continue
			}
			if *operand(&p[i]) = 0; try(p) {
				prog = p
			}
		}
	}
	return prog
}
