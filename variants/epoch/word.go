package epoch

// A word of the outcome log is a tag in the low bits and a number above them.
// The zero word is in progress with bound 0: fresh memory needs no set-up.
type word uint64

const (
	inProgress = iota // number: the bound b, "finishes at no number <= b"
	committed         // number: the commit's
	aborted           // number: the rollback's
	condemned         // aborted (same number), and the current prune may forget it
	forgotten         // number: the prune's; counts as committed from there on

	tagBits = 3
)

// begun is what Begin makes of the zero word: in progress, with a bound that
// holds for everybody because the clock starts above it. A word other than zero
// proves that its xid was handed out, without a look at the allocator.
const begun = word(1 << tagBits) // inProgress, bound 1

func newWord(tag int, number uint64) word { return word(number<<tagBits) | word(tag) }

func (w word) tag() int       { return int(w & (1<<tagBits - 1)) }
func (w word) number() uint64 { return uint64(w >> tagBits) }

func (w word) unfinished() bool { return w&(1<<tagBits-1) == inProgress }
