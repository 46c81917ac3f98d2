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
	w       io.Writer
	columns int // of the terminal, 0 if it is none
	began   time.Time
	shown   time.Time
	width   int // of the line on the terminal
	tenth   int // of the run that a plain line was written for
}

// defaultColumns is the width of a terminal that does not tell.
const defaultColumns = 80

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, began: time.Now(), tenth: -1}
	if f, ok := w.(*os.File); ok && os.Getenv("TERM") != "dumb" {
		p.columns = columns(f)
	}
	return p
}

// show is a [harness.Config.Progress].
func (p *progress) show(at harness.Progress) {
	now := time.Now()
	if p.columns > 0 {
		if now.Sub(p.shown) < 100*time.Millisecond {
			return
		}
		p.shown = now
		line := []rune(fmt.Sprintf("%3d%%  %s left  %s", 100*at.Done/at.Total, at.Left.Round(time.Second), at.Row))
		if most := max(p.columns-2, 1); len(line) > most {
			line = append(line[:most-1], '…') // a line that wraps could not be replaced
		}
		fmt.Fprintf(p.w, "\r%-*s", p.width, string(line))
		p.width = len(line)
		return
	}
	if tenth := 10 * at.Done / at.Total; tenth > p.tenth {
		p.tenth = tenth
		fmt.Fprintf(p.w, "%3d%% of %d after %s, about %s left\n", 10*tenth, at.Total, now.Sub(p.began).Round(time.Second), at.Left.Round(time.Second))
	}
}

// terminal shows at on a terminal only.
func (p *progress) terminal(at harness.Progress) {
	if p.columns > 0 {
		p.show(at)
	}
}

// clear removes the line from a terminal.
func (p *progress) clear() {
	if p.columns > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}
