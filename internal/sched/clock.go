package sched

// MaxThreads is how many threads a program may have.
const MaxThreads = 8

// MaxOps is how many operations a program may bracket with [Call] and [Return].
const MaxOps = 64

// A clock is a vector clock: how many events of each thread it knows.
type clock [MaxThreads]uint16

func (c *clock) join(d *clock) {
	for i, n := range d {
		c[i] = max(c[i], n)
	}
}

// A mask is a set of threads.
type mask uint8

func bit(t int) mask { return 1 << t }
