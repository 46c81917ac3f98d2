package pin

// A Pin is an OS thread that is locked to the calling goroutine and may run on
// one CPU only. It belongs to that goroutine, which should end without
// unlocking it: the thread then dies with it, and no other goroutine inherits
// its affinity.
type Pin struct {
	cpu int
}
