package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"xidlab/harness"
)

// A progress shows how far a run has come: on a terminal in one line that it
// keeps up to date, elsewhere in a plain line now and then.
type progress struct {
	w        io.Writer
	terminal bool
	began    time.Time
	shown    time.Time
	width    int // of the line on the terminal
	tenth    int // of the run that a plain line was written for
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, began: time.Now(), tenth: -1}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// show is a [harness.Config.Progress].
func (p *progress) show(at harness.Progress) {
	now := time.Now()
	if p.terminal {
		if now.Sub(p.shown) < 100*time.Millisecond {
			return
		}
		p.shown = now
		line := fmt.Sprintf("%3d%%  %s left  %s", 100*at.Done/at.Total, at.Left.Round(time.Second), at.Row)
		if r := []rune(line); len(r) > 78 {
			line = string(r[:77]) + "…"
		}
		fmt.Fprintf(p.w, "\r%-*s", p.width, line)
		p.width = len([]rune(line))
		return
	}
	if tenth := 10 * at.Done / at.Total; tenth > p.tenth {
		p.tenth = tenth
		fmt.Fprintf(p.w, "%3d%% of %d slices after %s, about %s left\n", 10*tenth, at.Total, now.Sub(p.began).Round(time.Second), at.Left.Round(time.Second))
	}
}

// clear removes the line from a terminal.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}
