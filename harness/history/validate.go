package history

import (
	"errors"
	"fmt"
	"slices"

	"xidlab/core"
)

// ErrInvalid is what Validate, Writer and Reader answer, wrapped, if the
// operations are no history.
var ErrInvalid = errors.New("not a history")

// Validate reports whether h is one history: the operations in the order of
// their calls, each worker's one after the other, nothing after one that never
// returned, and what each Kind needs. It does not judge answers.
func (h *History) Validate() error {
	v := newValidator(h.Header)
	if err := h.Header.validate(); err != nil {
		return err
	}
	for i := range h.Ops {
		if err := v.op(&h.Ops[i]); err != nil {
			return fmt.Errorf("operation %d (%s): %w: expected %w", i, h.Ops[i].Line(), ErrInvalid, err)
		}
	}
	return nil
}

func (h *Header) validate() error {
	switch {
	case slices.Contains([]byte(h.Manager), '\n'):
		return fmt.Errorf("%w: the manager's name %q has a line break", ErrInvalid, h.Manager)
	case int(h.Clock) >= len(clockNames):
		return fmt.Errorf("%w: unknown clock %v", ErrInvalid, h.Clock)
	case h.Skew < 0 || h.Skew > maxSkew:
		return fmt.Errorf("%w: skew %d is not in 0..%d", ErrInvalid, h.Skew, maxSkew)
	}
	return nil
}

const maxSkew = 1 << 60 // no overflow

// A validator looks at operations one after the other. Its errors say what was
// expected. Memory: a few words for each worker.
type validator struct {
	skew    int64
	latest  int64           // the last call
	workers map[int32]int64 // the return of each one's last operation
}

func newValidator(h Header) *validator {
	return &validator{skew: h.Skew, latest: -1 << 63, workers: map[int32]int64{}}
}

func (v *validator) op(o *Op) error {
	if o.Kind == 0 || o.Kind >= numKinds {
		return fmt.Errorf("a known kind, not %v", o.Kind)
	}
	last, busy := v.workers[o.Worker]
	switch {
	case o.Worker < 0:
		return fmt.Errorf("a worker's number of 0 or more, not %d", o.Worker)
	case o.Call < v.latest:
		return fmt.Errorf("operations in the order of their calls, but one at %d comes after one at %d", o.Call, v.latest)
	case o.Call == Pending || o.Return < o.Call:
		return fmt.Errorf("a call before its return, not %d and %d", o.Call, o.Return)
	case busy && last == Pending:
		return fmt.Errorf("nothing more of worker %d, whose last operation never returned", o.Worker)
	case busy && last-v.skew > o.Call+v.skew:
		return fmt.Errorf("a call of worker %d after its last return, at %d: one worker does one thing at a time", o.Worker, last)
	}
	v.latest = o.Call
	v.workers[o.Worker] = o.Return
	return v.fields(o)
}

func (v *validator) fields(o *Op) error {
	k := &shapes[o.Kind]
	if o.Result >= numResults || o.Result != OK && (o.IsPending() || !slices.Contains(k.refusals, o.Result)) {
		return fmt.Errorf("a result that %v can have, not %v", o.Kind, o.Result)
	}
	ascending := func() bool {
		for i := 1; i < len(o.Set); i++ {
			if o.Set[i-1] >= o.Set[i] {
				return false
			}
		}
		return true
	}
	switch {
	case o.Status > core.Aborted:
		return fmt.Errorf("a status, not %v", o.Status)
	case o.Granted() && o.Kind.has(partSnap) != (o.Snap != 0):
		return errors.New("a number for each snapshot or guard that is made, and only for these")
	case o.Full && o.Next == core.None:
		return errors.New("a bound, without which the hidden set says nothing about the other xids")
	case o.Kind != CommitGroup && !ascending():
		return errors.New("an ascending set")
	}
	return nil
}
