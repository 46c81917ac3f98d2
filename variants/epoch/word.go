package epoch

// A word of the outcome log is a tag in the low bits and a number above them.
// The zero word is reserved with bound 0: fresh memory needs no set-up.
type word uint64

const (
	reserved   = iota // number: as inProgress; Begin has not come to its mark (see Manager.first)
	inProgress        // number: the bound b, "finishes at no number <= b"
	committed         // number: the commit's
	aborted           // number: the rollback's
	condemned         // aborted (same number), and the current prune may forget it
	forgotten         // number: the prune's; counts as committed from there on
	sealed            // number: counts as committed from there on; nobody has the xid, nor ever will
	link              // number: the id of the group that decides what becomes of it

	tagBits = 3
	tagMask = 1<<tagBits - 1
)

func newWord(tag int, number uint64) word { return word(number<<tagBits) | word(tag) }

func (w word) tag() int       { return int(w & tagMask) }
func (w word) number() uint64 { return uint64(w >> tagBits) }

// unfinished reports whether w may still come to be committed or aborted, at a
// number above its bound. (A link has none of its own: see Manager.raise.)
func (w word) unfinished() bool { return (w+1)&tagMask <= inProgress+1 } // link is -1

// begun is w, which is reserved, after its Begin: the bound stays (I2).
func (w word) begun() word { return w | inProgress }
