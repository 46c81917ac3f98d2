package epoch

// A trie is a persistent map from the indices of segments to segments: a radix
// tree with nodes of a fixed fan-out, of which a change copies those on the way
// to what it changes. So a new version costs O(log n), however many segments the
// log holds, and the old one stays as it is. Its zero value, but for bits, is
// empty.
type trie struct {
	root   *node
	bits   uint // the fan-out is 1<<bits
	height uint // levels
}

// A node has either nodes or, on the lowest level, segments.
type node struct {
	nodes    []*node
	segments []*segment
	live     int // how many of the segments below are unfinal
}

// A change of the map: s nil takes the entry away.
type change struct {
	index uint64
	s     *segment
}

// place returns where in its node of the given level an index is to be found.
func (t *trie) place(index uint64, level uint) int {
	return int(index >> (level * t.bits) & (1<<t.bits - 1))
}

// holds reports whether the tree is high enough for the index.
func (t *trie) holds(index uint64) bool { return index>>(t.height*t.bits) == 0 }

// get returns what the index is mapped to, or nil.
func (t *trie) get(index uint64) *segment {
	n := t.root
	if !t.holds(index) {
		return nil
	}
	for level := t.height; n != nil; {
		level--
		if level == 0 {
			return n.segments[t.place(index, 0)]
		}
		n = n.nodes[t.place(index, level)]
	}
	return nil
}

// next returns the first entry from index on, or nil; of those that are unfinal
// only, if live.
func (t *trie) next(index uint64, live bool) (uint64, *segment) {
	if t.root == nil || !t.holds(index) {
		return 0, nil
	}
	return t.nextIn(t.root, t.height-1, index, live)
}

// nextIn looks in n, on the given level, and in the part of its range that begins
// at index.
func (t *trie) nextIn(n *node, level uint, index uint64, live bool) (uint64, *segment) {
	for i := t.place(index, level); i < 1<<t.bits; i++ {
		if level == 0 {
			if s := n.segments[i]; s != nil && (s.unfinal() || !live) {
				return index, s
			}
		} else if kid := n.nodes[i]; kid != nil && (kid.live > 0 || !live) {
			if found, s := t.nextIn(kid, level-1, index, live); s != nil {
				return found, s
			}
		}
		step := uint64(1) << (level * t.bits)
		index = (index/step + 1) * step
	}
	return 0, nil
}

// with returns the map after the changes, which ascend.
func (t *trie) with(changes []change) trie {
	next := *t
	if len(changes) == 0 {
		return next
	}
	for last := changes[len(changes)-1].index; next.root == nil && next.height == 0 || !next.holds(last); {
		if next.root != nil {
			root := &node{nodes: make([]*node, 1<<t.bits), live: next.root.live}
			root.nodes[0] = next.root
			next.root = root
		}
		next.height++
	}
	next.root = next.changed(next.root, next.height-1, changes)
	return next
}

// changed returns n, on the given level, after the changes, all of which are in
// its range; nil if nothing is left.
func (t *trie) changed(n *node, level uint, changes []change) *node {
	next := &node{}
	switch {
	case level == 0:
		next.segments = make([]*segment, 1<<t.bits)
		if n != nil {
			copy(next.segments, n.segments)
		}
		for _, c := range changes {
			next.segments[t.place(c.index, 0)] = c.s
		}
	default:
		next.nodes = make([]*node, 1<<t.bits)
		if n != nil {
			copy(next.nodes, n.nodes)
		}
		for len(changes) > 0 {
			i, k := t.place(changes[0].index, level), 1
			for k < len(changes) && t.place(changes[k].index, level) == i {
				k++
			}
			next.nodes[i] = t.changed(next.nodes[i], level-1, changes[:k])
			changes = changes[k:]
		}
	}
	empty := true
	for _, kid := range next.nodes {
		if kid != nil {
			empty = false
			next.live += kid.live
		}
	}
	for _, s := range next.segments {
		if s != nil {
			empty = false
			if s.unfinal() {
				next.live++
			}
		}
	}
	if empty {
		return nil
	}
	return next
}
