//go:build !sim

package atomic

// An alias alone does not make an operation one instruction. Of another package's
// functions, the compiler hands on the bodies that it has inlined somewhere in
// this package, and no others: whoever imports this package instead of the
// standard one would call what it could have inlined. So everything is inlined
// here once, by a function that nobody calls.
var _ = inlineAll

func inlineAll(b *Bool, i *Int64, u *Uint32, v *Uint64, p *Pointer[int]) {
	b.Store(b.Load() && b.Swap(true) && b.CompareAndSwap(true, false))
	i.Store(i.Load() + i.Add(1) + i.Swap(1))
	i.CompareAndSwap(0, 1)
	u.Store(u.Load() + u.Add(1) + u.Swap(1))
	u.CompareAndSwap(0, 1)
	v.Store(v.Load() + v.Add(1) + v.Swap(1))
	v.CompareAndSwap(0, 1)
	p.Store(p.Load())
	p.CompareAndSwap(p.Swap(nil), nil)
}
