package main

import "fmt"

// steps writes one event a row: when, who, and what, in columns of lanes. An event
// with several lanes' text fills each.
func steps(c *canvas, top int, lanes []int, heads []string, rows [][]string) int {
	for i, h := range heads {
		c.text(lanes[i], top, "head", "start", h)
	}
	y := top + 10
	for n, row := range rows {
		y += 22
		c.text(0, y, "small", "start", fmt.Sprint(n+1))
		for i, s := range row {
			if s != "" {
				c.text(lanes[i], y, "small", "start", s)
			}
		}
		c.line("faint", 0, y+6, lanes[len(lanes)-1]+170, y+6)
	}
	return y + 12
}

// push: why an answer "not yet" stays right.
func push(c *canvas) {
	c.title = "A reader pushes its number into the word before it answers; a commit whose word has changed draws again"
	lanes := []int{24, 200, 420}
	heads := []string{"Commit(x)", "the word of x", "reader, snapshot at 7"}
	rows := [][]string{
		{"loads the word", "in progress, bound 0", ""},
		{"draws 7", "", ""},
		{"", "", "captures 7: it will not include x"},
		{"", "in progress, bound 7", "pushes 7, then answers “no”"},
		{"swaps from bound 0: fails", "", ""},
		{"loads again, draws 8", "", ""},
		{"swaps from bound 7", "committed at 8", ""},
		{"", "", "asked again: 8 > 7, “no” as before"},
	}
	y := steps(c, 16, lanes, heads, rows)
	c.note(24, y+14, "The number of a finish is above the bound of the word that it replaces, and that word was loaded before the draw:",
		"whoever had answered “not yet” by then has a smaller number. Nobody waits, and there is no state in between.")
}

// clock: who writes the clock, and when.
func clock(c *canvas) {
	c.title = "The clock ticks only when a snapshot may stand between two finishes; a tick mostly leaves the mark set for the next snapshot"
	type event struct {
		what, word, class string
	}
	draw := func(y int, name string, events []event) {
		c.text(0, y+20, "head", "start", name)
		for i, e := range events {
			x := 150 + i*88
			c.box(x, y, 62, 30, e.class, e.word)
			if i > 0 {
				c.arrow("", x-26, y+15, x-2, y+15)
			}
			c.text(x+31, y+46, "small", "middle", e.what)
		}
	}
	draw(0, "only finishes", []event{{"start", "16, clear", plain}, {"draws 16", "16, clear", plain}, {"draws 16", "16, clear", plain}, {"draws 16", "16, clear", plain}})
	draw(76, "only snapshots", []event{{"start", "16, clear", plain}, {"takes 16", "16, set", highlight}, {"takes 16", "16, set", plain}, {"takes 16", "16, set", plain}})
	draw(152, "in turns", []event{{"start", "16, set", plain}, {"draws 17", "17, set", highlight}, {"takes 17", "17, set", plain}, {"draws 18", "18, set", highlight}, {"takes 18", "18, set", plain}})
	draw(228, "finishes again", []event{{"start", "30, set", plain}, {"draws 31", "31, set", highlight}, {"draws 32", "32, clear", highlight}, {"draws 32", "32, clear", plain}, {"draws 32", "32, clear", plain}})
	c.note(150, 300, "Blue: the clock's line is written. “set” means that some snapshot may have this number, so the next",
		"finish needs a larger one. Every 16th tick clears the mark; if no snapshot comes then, the ticking ends.")
}

// blocks: the words say who has what.
func blocks(c *canvas) {
	c.title = "Processors take xids from blocks of their own; the words alone say who has what"
	c.box(0, 0, 150, 34, plain, "allocator: next = 24")
	c.box(210, 0, 150, 34, plain, "cursor: next = 13")
	c.box(420, 0, 150, 34, plain, "cursor: next = 19")
	kinds := []struct{ class, mark string }{
		{done, "C"}, {done, "C"}, {gone, "A"}, {open, "P"}, {open, "P"}, {reserved, ""}, {reserved, ""}, {reserved, ""},
		{done, "C"}, {open, "P"}, {open, "P"}, {reserved, ""}, {reserved, ""}, {reserved, ""}, {reserved, ""}, {reserved, ""},
	}
	for i, k := range kinds {
		x := i * 38
		if i >= 8 {
			x += 14
		}
		c.box(x, 90, 34, 30, k.class, k.mark)
		c.text(x+17, 136, "small", "middle", fmt.Sprint(8+i))
	}
	c.arrow("", 285, 34, 5*38+17, 86)
	c.arrow("", 495, 34, 11*38+31, 86)
	c.arrow("", 75, 34, 75, 60, 16*38+10, 60, 16*38+10, 100)
	c.note(0, 166, "C committed, A aborted, P in progress; dashed: reserved, nobody has it. A block’s first xid (8, 16) belongs to whoever",
		"allocated the block, even before its word says so. Begin turns its word from reserved to in progress, a walk that must get",
		"past 13 to 15 turns them from reserved to sealed: both by compare-and-swap, so one of them wins, and the other looks again.")
}

// log: what the directory holds.
func log(c *canvas) {
	c.title = "The log: the newest segments in a slice, older ones in a trie, most of them collapsed or gone"
	c.box(250, 0, 200, 44, highlight, "directory", "(a new one for every change)")
	c.box(120, 78, 120, 26, plain, "trie of the older")
	c.box(440, 78, 120, 26, plain, "newest")
	c.box(600, 78, 110, 26, plain, "observed gaps")
	c.arrow("", 290, 44, 190, 76)
	c.arrow("", 400, 44, 490, 76)
	c.arrow("", 450, 34, 640, 76)
	seg := []struct {
		x           int
		class, a, b string
	}{
		{0, reserved, "nothing", "all committed"}, {118, gone, "collapsed", "bits of aborted"}, {236, open, "segment", "one is open"},
		{354, reserved, "nothing", "all committed"}, {472, plain, "segment", "4096 words"}, {590, plain, "segment", "made ahead"},
	}
	for _, s := range seg {
		c.box(s.x, 150, 110, 44, s.class, s.a, s.b)
	}
	c.arrow("", 175, 104, 175, 148)
	c.arrow("", 200, 104, 280, 148)
	c.arrow("", 500, 104, 527, 148)
	c.arrow("", 520, 104, 640, 148)
	c.text(0, 222, "small", "start", "xid 0")
	c.text(700, 222, "small", "end", "the allocator’s bound lies here or in the one before")
	c.arrow("faint", 44, 218, 360, 218)
	c.note(0, 246, "A segment goes as soon as all its words are decided, at numbers that every guard has reached; what is open below or",
		"above does not matter. If it has aborts that are not pruned, a bit each stays. A snapshot holds the directory of its instant.")
}

// reuse: no grace period.
func reuse(c *canvas) {
	c.title = "A reused array starts above every number it ever held, so that what comes late fails"
	lanes := []int{24, 250, 480}
	heads := []string{"somebody slow", "one word of the array", "who reuses the array"}
	rows := [][]string{
		{"loads: in progress, bound 17", "in progress, bound 17   (xid 100)", ""},
		{"", "committed at 40", ""},
		{"", "", "all decided, at most 40: collapses"},
		{"", "", "says “reused” in the old header"},
		{"", "reserved, bound 41   (xid 8292)", "refills: 41 is above all of before"},
		{"swaps from bound 17: fails", "", ""},
		{"loads: reserved, bound 41", "", ""},
		{"looks at the header: reused", "", ""},
		{"looks x up again: collapsed", "", ""},
	}
	y := steps(c, 16, lanes, heads, rows)
	c.note(24, y+14, "Numbers only grow, so a word’s value never comes back, and no swap from a former life succeeds. A reader checks the header",
		"after it has loaded the word. So an array is free at once: nobody announces that he reads, nobody waits for those who do.")
}

// guard: both orders.
func guard(c *canvas) {
	c.title = "A guard announces before it captures, a collector reads the clock before it reads the announcements"
	lanes := []int{24, 230, 440}
	heads := []string{"Retain", "its slot", "a collector"}
	rows := [][]string{
		{"", "free", "reads the clock: 30"},
		{"takes a slot", "setting in (protects all)", ""},
		{"captures 31", "", "reads the slot: the horizon stays"},
		{"announces 31", "31", ""},
		{"", "", "next time: at most 31"},
		{"Release", "31, leaving", "a prune no longer sees it"},
		{"lets waiting prunes go on", "free", "a horizon no longer sees it"},
	}
	y := steps(c, 16, lanes, heads, rows)
	c.note(24, y+14, "Had the collector read the slot while it was free, then with a clock of 30, and a guard that captures later has 30 or more.",
		"The other order on either side lets a horizon pass between the capture and the announcement.")
}

// group: one word decides.
func group(c *canvas) {
	c.title = "The members of a group are linked to one word, which decides all of them at once"
	for i, x := range []string{"12", "15", "40"} {
		y := i * 44
		c.text(60, y+20, "small", "end", "word of "+x)
		c.box(70, y, 130, 30, open, "link to group 3")
		c.arrow("", 200, y+15, 270, 59)
	}
	c.box(274, 40, 190, 40, highlight, "group 3", "in progress, bound 7")
	c.arrow("highlight", 464, 60, 520, 60)
	c.text(492, 52, "small", "middle", "swap")
	c.box(524, 40, 150, 40, done, "committed at 9")
	c.note(0, 156, "Readers of a linked word push on the group; the number is drawn after all links. A member that has finished makes the group",
		"fail: the others are in progress again, at a bound above all they had, so that no word comes back as it was.",
		"Whoever wants to finish a member, or has to get past one, completes the group: a committer that is stopped stops nobody.")
}
