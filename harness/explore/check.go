package explore

import (
	"encoding/binary"

	"xidlab/internal/sched"
)

// A checker decides about executions of one client. Executions are many,
// histories are few: most of its work is to find the one it has judged before.
type checker struct {
	c       *client
	judges  map[string]*judged // by the answers
	key     []byte
	ops     []sched.Op
	called  []uint64
	literal bool // judge the order of the execution itself, not all that it stands for

	histories int // different ones
}

// A judged is a judge with its verdicts.
type judged struct {
	*judge
	verdicts map[string]bool // by what is called before each return
}

func newChecker(c *client) *checker {
	return &checker{c: c, judges: map[string]*judged{}}
}

// maxJudges bounds the memory of a search with very many histories.
const maxJudges = 1 << 14

// check reports whether the execution, whose threads have all ended, is
// linearizable; its client has just finished it.
func (k *checker) check(x *sched.Execution) bool {
	j := k.judge()
	k.intervals(x)
	k.key = k.key[:0]
	for _, mask := range k.called {
		k.key = binary.AppendUvarint(k.key, mask)
	}
	ok, known := j.verdicts[string(k.key)]
	if !known {
		k.histories++
		if ok = j.setupWrong == ""; ok {
			ok, _ = j.linearizable(k.called)
		}
		j.verdicts[string(k.key)] = ok
	}
	return ok
}

// witness says why the execution is not linearizable.
func (k *checker) witness(x *sched.Execution) (lines []string, failing int) {
	j := k.judge()
	k.intervals(x)
	return j.witness(k.called)
}

// judge returns the judge of the answers that the client has now.
func (k *checker) judge() *judged {
	c := k.c
	b := k.key[:0]
	for i := range c.setup {
		b = binary.AppendUvarint(c.setup[i].record(b), uint64(c.setupNext[i]))
	}
	for i := range c.threads {
		b = c.threads[i].record(b)
	}
	for i := range c.end {
		b = binary.AppendUvarint(c.end[i].record(b), uint64(c.endNext[i]))
	}
	for _, word := range c.final {
		b = binary.AppendUvarint(b, word)
	}
	k.key = b
	j := k.judges[string(b)]
	if j == nil {
		if len(k.judges) >= maxJudges {
			clear(k.judges)
		}
		j = &judged{newJudge(c), map[string]bool{}}
		k.judges[string(b)] = j
	}
	return j
}

// intervals sets called.
func (k *checker) intervals(x *sched.Execution) {
	k.ops = x.Ops(k.ops[:0])
	k.called = k.called[:0]
	if k.literal {
		k.called = literalOrder(k.ops, k.called)
		return
	}
	for _, op := range k.ops {
		k.called = append(k.called, op.CallsBefore)
	}
}

// literalOrder appends, for each operation, those that are called before it
// returns when calls come immediately before first accesses and returns
// immediately after last ones.
func literalOrder(ops []sched.Op, called []uint64) []uint64 {
	type span struct{ call, ret int }
	spans := make([]span, len(ops))
	var end [sched.MaxThreads]int // of the last operation of each thread
	for p, op := range ops {
		if spans[p] = (span{end[op.Thread], end[op.Thread]}); op.First >= 0 {
			spans[p] = span{2*op.First + 1, 2*op.Last + 2}
		}
		end[op.Thread] = spans[p].ret
	}
	for p := range ops {
		var mask uint64
		for q := range ops {
			if p == q || spans[q].call <= spans[p].ret {
				mask |= 1 << q
			}
		}
		called = append(called, mask)
	}
	return called
}
