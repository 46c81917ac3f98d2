package sched

import (
	"fmt"
	"strconv"
	"strings"
)

// A Decision is what the scheduler decided at one point of an execution: which
// thread makes the next access, or which alternative a [Choose] took.
type Decision struct {
	Choice bool
	N      int // the thread, or the alternative
}

// A Schedule is all decisions of an execution, in order. Its text is a letter
// for each access, A for the first thread, and #n for each choice; a number
// before a letter repeats it: "3A2B#1A".
type Schedule []Decision

func (s Schedule) String() string {
	var b strings.Builder
	for i := 0; i < len(s); {
		n := 1
		for !s[i].Choice && i+n < len(s) && s[i+n] == s[i] {
			n++
		}
		switch {
		case s[i].Choice:
			fmt.Fprintf(&b, "#%d.", s[i].N)
		case n > 1:
			fmt.Fprintf(&b, "%d%c", n, 'A'+s[i].N)
		default:
			fmt.Fprintf(&b, "%c", 'A'+s[i].N)
		}
		i += n
	}
	return b.String()
}

// ParseSchedule reads the text of a Schedule.
func ParseSchedule(text string) (Schedule, error) {
	var s Schedule
	for i := 0; i < len(text); {
		bad := func(what string) (Schedule, error) {
			return nil, fmt.Errorf("schedule, at character %d (%q): %s", i+1, text[i:min(i+8, len(text))], what)
		}
		c := text[i]
		switch {
		case c == '#':
			digits, _, ok := strings.Cut(text[i+1:], ".")
			n, err := strconv.Atoi(digits)
			if !ok || err != nil || n < 0 || n >= maxChoices {
				return bad("a choice is # and a number and a dot")
			}
			s = append(s, Decision{true, n})
			i += 2 + len(digits)
		case '0' <= c && c <= '9':
			digits := text[i:]
			if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
				digits = digits[:end]
			}
			n, err := strconv.Atoi(digits)
			at := i + len(digits)
			if err != nil || n < 1 || n > 1e6 || at == len(text) || !isThread(text[at]) {
				return bad("a number, at most a million, repeats the letter of a thread that follows it")
			}
			for range n {
				s = append(s, Decision{false, int(text[at] - 'A')})
			}
			i = at + 1
		case isThread(c):
			s = append(s, Decision{false, int(c - 'A')})
			i++
		default:
			return bad(fmt.Sprintf("threads are the letters A to %c", 'A'+MaxThreads-1))
		}
	}
	return s, nil
}

func isThread(c byte) bool { return 'A' <= c && c < 'A'+MaxThreads }
