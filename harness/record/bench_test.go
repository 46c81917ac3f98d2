package record

import (
	"testing"

	"xidlab/core"
	"xidlab/variants/rwmutex"
)

// BenchmarkRecording is a short transaction on a manager, and what it costs to
// record it. (Emptying the logs is not in it.)
func BenchmarkRecording(b *testing.B) {
	transaction := func(b *testing.B, m core.Manager) {
		x := m.Begin()
		if m.Snapshot(x).Bound() == 0 {
			b.Fatal("no bound")
		}
		if err := m.Commit(x); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("bare", func(b *testing.B) {
		m := rwmutex.New()
		b.ReportAllocs()
		for b.Loop() {
			transaction(b, m)
		}
	})
	clocks := []*Clock{NewCounter()}
	if tsc, err := NewTSC(twoCPUs(b)); err == nil {
		clocks = append(clocks, tsc)
	}
	for _, c := range clocks {
		b.Run(c.Name(), func(b *testing.B) {
			w := New(rwmutex.New(), c, 1, Limits{1 << 16, 1 << 16}).Worker(0)
			b.ReportAllocs()
			for b.Loop() {
				if transaction(b, w); w.Full() {
					w.log, w.arena, w.fresh = w.log[:0], w.arena[:0], w.fresh[:0]
				}
			}
		})
	}
}
