package explore

import (
	"fmt"
	"slices"
	"strings"

	"xidlab/core"
	"xidlab/core/spec"
)

// The final questions are asked of the manager when everything has ended, and
// of the specification when it has followed; the answers, one word each, are
// compared. At first nothing is changed: outcomes, snapshots. Then the guards
// are released one after the other: the horizon moves as far as each of them has
// held it back, and the prunes that waited happen.
type questions struct {
	words []uint64

	// For the specification, which follows where a manager may choose.
	follow []uint64
	want   *spec.Manager

	explain bool
	names   []string // of the words, if explain is on
}

const (
	no uint64 = iota
	yes
	wordTooOld
	wordOther
)

func truth(b bool) uint64 {
	if b {
		return yes
	}
	return no
}

// put records a word. Name and xs say what it answers.
func (q *questions) put(word uint64, name string, xs ...core.Xid) {
	q.words = append(q.words, word)
	if q.explain {
		for i, x := range xs {
			if i == 0 {
				name += "("
			} else {
				name += ", "
			}
			name += nameXid(x)
		}
		if len(xs) > 0 {
			name += ")"
		}
		q.names = append(q.names, name)
	}
}

// refused reports whether the manager that is followed has answered, here, that
// it no longer knows, and was allowed to.
func (q *questions) refused(s core.Snapshot) bool {
	i := len(q.words)
	return q.want != nil && i < len(q.follow) && q.follow[i] == wordTooOld && q.want.MayForget(s)
}

// ask asks m everything that managers like those explored can be asked.
// The snapshots and guards are those of the variables;
// some may be missing.
func (q *questions) ask(m core.Manager, of traits, vars []variable, snaps []core.Snapshot, guards []core.Guard, known []core.Xid) {
	next := m.PeekNext()
	q.put(uint64(next), "PeekNext")
	q.outcomes(m, of, known, next)
	for i := range vars {
		if vars[i].sort == xid {
			continue
		}
		if view, _, _, _, _ := snaps[i].Parts(); view == nil {
			continue
		}
		name := ""
		if q.explain {
			name = vars[i].name
			if name == "" {
				name = "the snapshot without a name"
			}
		}
		q.snapshot(snaps[i], name, of.ordered, known, next)
	}
	if of.have&pins != 0 {
		p := m.(core.Pinner)
		for _, x := range known {
			q.put(uint64(p.PinCount(x)), "PinCount", x)
		}
		x, ok := p.OldestPinned()
		q.put(uint64(x), "OldestPinned")
		q.put(truth(ok), "OldestPinned, whether there is one")
	}
	q.required(m, of)
	if of.have&checkpoints != 0 {
		bound, excluded := m.(core.Checkpointer).CheckpointExcluded()
		q.put(uint64(bound), "the bound of CheckpointExcluded")
		q.set(of.had(excluded, known), "CheckpointExcluded")
	}
	for i := range guards {
		if vars[i].sort == guard {
			released := guards[i].Release()
			name := ""
			if q.explain {
				name = fmt.Sprintf("Release(%s)", vars[i].name)
			}
			q.put(truth(released), name)
			if released {
				q.required(m, of)
				q.outcomes(m, of, known, next)
			}
		}
	}
}

func (q *questions) outcomes(m core.Manager, of traits, known []core.Xid, next core.Xid) {
	for _, x := range known {
		q.put(uint64(m.Status(x)), "Status", x)
	}
	for _, x := range [...]core.Xid{next - 1, next} {
		if !of.ordered && x < next && !slices.Contains(known, x) {
			continue // reserved, or given up
		}
		q.put(uint64(m.Status(x)), "Status", x)
	}
	x, ok := m.OldestActive()
	q.put(uint64(x), "OldestActive")
	q.put(truth(ok), "OldestActive, whether there is one")
}

func (q *questions) snapshot(s core.Snapshot, name string, ordered bool, known []core.Xid, next core.Xid) {
	lookup := func(x core.Xid) {
		what := ""
		if q.explain {
			what = fmt.Sprintf("%s includes %s", name, nameXid(x))
		}
		if q.refused(s) {
			q.put(wordTooOld, what)
			return
		}
		ok, err := s.Lookup(x)
		q.put(lookupWord(ok, err), what)
	}
	for _, x := range known {
		lookup(x)
	}
	lookup(next)
	if !ordered { // it may name xids that were handed out later
		return
	}
	what := ""
	if q.explain {
		what = name + ".InProgress"
	}
	if q.refused(s) {
		q.put(wordTooOld, what)
		return
	}
	set, err := s.InProgress()
	if err != nil {
		q.put(lookupWord(false, err), what)
		return
	}
	q.set(set, what)
}

// set puts a set as one word, and then its members. The word is never
// wordTooOld.
func (q *questions) set(set core.XidSet, what string) {
	q.put(uint64(len(set))+wordOther, sizeOf+what)
	for _, x := range set {
		q.put(uint64(x), memberOf+what)
	}
}

const (
	sizeOf   = "size of "
	memberOf = "member of "
)

// difference says how the words differ from those that are followed, first at i.
func (q *questions) difference(i int) string {
	if !q.explain || i >= len(q.follow) {
		return "in the end something is missing"
	}
	name := q.names[i]
	what, member := strings.CutPrefix(name, memberOf)
	what, size := strings.CutPrefix(what, sizeOf)
	if !member && !size {
		return fmt.Sprintf("in the end %s is %s, want %s", name, wordText(name, q.follow[i]), wordText(name, q.words[i]))
	}
	for q.names[i] != sizeOf+what {
		i--
	}
	return fmt.Sprintf("in the end %s is %s, want %s", what, setText(q.follow[i:]), setText(q.words[i:]))
}

func setText(words []uint64) string {
	if words[0] == wordTooOld {
		return core.ErrTooOld.Error()
	}
	var set core.XidSet
	for i := uint64(1); i <= words[0]-wordOther && i < uint64(len(words)); i++ {
		set = append(set, core.Xid(words[i]))
	}
	return nameXids(set)
}

func wordText(name string, word uint64) string {
	switch {
	case strings.HasPrefix(name, "Status("):
		return core.Status(word).String()
	case strings.HasPrefix(name, "Release(") || strings.Contains(name, ", whether ") || strings.Contains(name, " includes "):
		switch word {
		case no:
			return "false"
		case yes:
			return "true"
		case wordTooOld:
			return core.ErrTooOld.Error()
		}
		return "an error that is not of the contract"
	}
	return nameXid(core.Xid(word))
}

func (q *questions) required(m core.Manager, of traits) {
	if of.have&retains != 0 {
		h, ok := m.(core.Retainer).OldestRequired()
		q.put(uint64(h), "OldestRequired")
		q.put(truth(ok), "OldestRequired, whether something is")
	}
}

func lookupWord(ok bool, err error) uint64 {
	switch {
	case err == nil:
		return truth(ok)
	case isTooOld(err):
		return wordTooOld
	}
	return wordOther
}
