package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gonum "gonum.org/v1/plot"

	"xidlab/harness/result"
)

// outline describes the structure of charts in a few lines.
func outline(charts []*Chart) string {
	var b strings.Builder
	for _, c := range charts {
		b.WriteString(c.Name + ": " + c.subtitle + "\n")
		for _, p := range c.panels {
			b.WriteString("  [" + p.title + "]")
			for _, l := range p.lines {
				b.WriteString(" " + l.name + ":")
				for _, pt := range l.points {
					mark := "o"
					if !pt.hollow {
						mark = "x"
					}
					if pt.apart {
						mark += "|"
					}
					b.WriteString(mark)
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func TestStructure(t *testing.T) {
	const want = `throughput-short-transactions: million transactions per second, all threads together; higher is better (pinned, gc off)
  [pinned, gc off] rwmutex:xxx sharded:xox epoch-ordered:xxx
latency-short-transactions: time within which that share of the calls returned; lower is better (4 threads, pinned, gc off)
  [begin] rwmutex:xxxxxxxxx sharded:xxxxxxxxx epoch-ordered:ooooooooo
  [snapshot] rwmutex:xxxxxxxxx sharded:xxxxxxxxx epoch-ordered:ooooooooo
  [commit] rwmutex:xxxxxxxxx sharded:xxxxxxxxx epoch-ordered:ooooooooo
throughput-idle-active: million transactions per second, all threads together; higher is better (gc off)
  [active=0, pinned] rwmutex:xxx sharded:xxx epoch-ordered:xxx
  [active=16, pinned] rwmutex:xxx sharded:xxx epoch-ordered:xxx
  [active=256, pinned] rwmutex:xxx sharded:xxx epoch-ordered:xxx
  [active=4096, pinned] rwmutex:xxx sharded:xxx epoch-ordered:xxx
  [active=0, unpinned] rwmutex:xxx sharded:xxx epoch-ordered:xxx
  [active=16, unpinned] rwmutex:xxx sharded:xxx epoch-ordered:xxx
  [active=256, unpinned] rwmutex:xxx sharded:xxx epoch-ordered:xxx
  [active=4096, unpinned] rwmutex:xxx sharded:xxx epoch-ordered:xxx
cost-idle-active: time of a thread per transaction, both axes logarithmic; lower is better (gc off)
  [1 thread, pinned] rwmutex:x|xxx sharded:x|xxx epoch-ordered:x|xxx
  [4 threads, pinned] rwmutex:x|xxx sharded:x|xxx epoch-ordered:x|xxx
  [1 thread, unpinned] rwmutex:x|xxx sharded:x|xxx epoch-ordered:x|xxx
  [4 threads, unpinned] rwmutex:x|xxx sharded:x|xxx epoch-ordered:x|xxx
`
	if got := outline(Charts(sampleRun(1, 2, 4))); got != want {
		t.Errorf("got:\n%s", got)
	}
}

func TestPointsAreTheFigures(t *testing.T) {
	r := sampleRun(1, 2)
	c := Charts(r)[0]
	for _, l := range c.panels[0].lines {
		for _, pt := range l.points {
			i := slices.IndexFunc(r.Rows, func(row result.Row) bool {
				return row.Variant == l.name && row.Threads == int(pt.x) && row.Workload == "short-transactions"
			})
			rate := r.Figures(&r.Rows[i]).Rate
			if pt.y != rate.Median/1e6 || pt.lo != rate.Lo/1e6 || pt.hi != rate.Hi/1e6 {
				t.Errorf("%s at %v threads: %+v, want %+v", l.name, pt.x, pt, rate)
			}
		}
	}
}

// TestCaption: a picture that travels alone says what it shows, where from, and
// whether it is complete.
func TestCaption(t *testing.T) {
	r := sampleRun(1, 2)
	r.Partial = true
	caption := strings.Join(Charts(r)[0].caption, " ")
	for _, want := range []string{r.Env.CPU, "2 CPUs", r.Env.Go, "2026-01-02", r.Env.Fingerprint(), "partial run", "Median of 7 slices", "Hollow"} {
		if !strings.Contains(caption, want) {
			t.Errorf("no %q in the caption %q", want, caption)
		}
	}
	for threads, hollow := range map[int]bool{2: false, 4: true} { // by the sampled slice, not by the others
		if c := Charts(sampleRun(threads))[1]; strings.Contains(c.caption[0], "slice that they were sampled in") != hollow {
			t.Errorf("%d threads: caption %q of %s", threads, c.caption[0], c.Name)
		}
	}
	if cost := Charts(r)[3]; !strings.Contains(cost.caption[0], "0 has no place") || strings.Contains(cost.caption[0], "Hollow") {
		t.Errorf("caption %q of %s", cost.caption[0], cost.Name)
	}
}

func TestRareCallsAreNamed(t *testing.T) {
	r := sampleRun(1, 2)
	few := func(row *result.Row, calls ...int) {
		for _, i := range calls {
			row.Latencies[i].Quantiles = row.Latencies[i].Quantiles[:2]
		}
	}
	for i := range r.Rows {
		if len(r.Rows[i].Latencies) > 0 {
			few(&r.Rows[i], 0, 2)
		}
	}
	c := Charts(r)[1]
	if len(c.panels) != 1 || c.panels[0].title != "snapshot" || !strings.Contains(c.caption[0], "Sampled too rarely: begin, commit.") {
		t.Errorf("%d panels, caption %q", len(c.panels), c.caption[0])
	}
	if !strings.Contains(c.title+c.subtitle, "snapshot") {
		t.Errorf("the only panel's call is not named: %q, %q", c.title, c.subtitle)
	}
	for i := range r.Rows {
		if len(r.Rows[i].Latencies) > 0 {
			few(&r.Rows[i], 1)
		}
	}
	if charts := Charts(r); len(charts) != 3 {
		t.Errorf("%d charts, want none of latencies", len(charts))
	}
}

func TestCaptionFitsTheSlices(t *testing.T) {
	for _, c := range []struct {
		slices [2]int // of the first row, of the others
		want   string
	}{
		{[2]int{3, 3}, "Median of 3 slices; whiskers: their range."},
		{[2]int{3, 7}, "Median of 3 to 7 slices; whiskers: its 95 % interval, or the range of fewer than 6."},
		{[2]int{7, 7}, "Median of 7 slices; whiskers: its 95 % interval."},
	} {
		r := sampleRun(1)
		first := true
		for i := range r.Rows {
			if row := &r.Rows[i]; row.Workload == "short-transactions" {
				n := c.slices[1]
				if first {
					n, first = c.slices[0], false
				}
				row.Slices = row.Slices[:n]
				row.Latencies[0].Quantiles[0].Nanoseconds = 0.4
			}
		}
		charts := Charts(r)
		if got := charts[0].caption[0]; got != c.want {
			t.Errorf("%v slices: %q, want %q", c.slices, got, c.want)
		}
		if got := charts[1].caption[0]; !strings.Contains(got, "1 ns stands for") {
			t.Errorf("no word of what was too short: %q", got)
		}
	}
}

func TestLooksStayWithTheVariant(t *testing.T) {
	of := map[string]look{}
	for _, c := range Charts(sampleRun(1, 2)) {
		for _, p := range c.panels {
			for _, l := range p.lines {
				if was, ok := of[l.name]; ok && was.color != l.look.color {
					t.Errorf("%s changes its colour in %s", l.name, c.Name)
				}
				of[l.name] = l.look
			}
		}
	}
	if len(of) != 3 {
		t.Errorf("%d variants", len(of))
	}
}

// TestLooksDiffer: of any two variants, colours or dashes and markers differ,
// and in greyscale neighbours differ by lightness beside dash and marker.
func TestLooksDiffer(t *testing.T) {
	same := func(a, b look) (color, dash, marker bool) {
		return a.color == b.color, slices.Equal(a.dashes, b.dashes), slices.Equal(a.marker, b.marker)
	}
	for i := range 49 {
		for j := range i {
			color, dash, marker := same(lookOf(i), lookOf(j))
			if color && (dash || marker) {
				t.Errorf("variants %d and %d look alike", i, j)
			}
			if i < len(looks) && (color || dash || marker) {
				t.Errorf("variants %d and %d share a colour, dash or marker", i, j)
			}
		}
	}
	grey := func(l look) float64 {
		return 0.2126*math.Pow(float64(l.color.R)/255, 2.2) + 0.7152*math.Pow(float64(l.color.G)/255, 2.2) + 0.0722*math.Pow(float64(l.color.B)/255, 2.2)
	}
	for i := 1; i < len(looks); i++ {
		if d := math.Abs(grey(looks[i]) - grey(looks[i-1])); d < 0.05 {
			t.Errorf("variants %d and %d differ in lightness by %.3f only", i-1, i, d)
		}
	}
}

func TestEncode(t *testing.T) {
	for i, c := range Charts(sampleRun(1, 2)) {
		svg, err := c.Encode("svg")
		if err != nil {
			t.Fatal(err)
		}
		text := svgText(t, svg)
		for _, want := range []string{c.title, "rwmutex", "sharded", "epoch-ordered", c.yLabel, c.xLabel} {
			if !slices.Contains(text, want) {
				t.Errorf("%s: no text %q in %q", c.Name, want, text)
			}
		}
		again, err := c.Encode("svg")
		if err != nil || !bytes.Equal(svg, again) {
			t.Errorf("%s: drawn twice, it differs (%v)", c.Name, err)
		}
		if i > 0 {
			continue // rendering is slow under the race detector
		}
		raw, err := c.Encode("png")
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if size := img.Bounds().Size(); size.X < 900 || size.Y < 500 || size.X > 2500 {
			t.Errorf("%s: %v pixels", c.Name, size)
		}
	}
	if _, err := Charts(sampleRun(1))[0].Encode("gif"); err == nil || !strings.Contains(err.Error(), "svg and png") {
		t.Errorf("gif: %v", err)
	}
}

// svgText returns the texts of a drawing, and fails unless it is XML.
func svgText(t *testing.T, svg []byte) (texts []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	inText := false
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			inText = tok.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				texts = append(texts, string(tok))
			}
		}
	}
}

// TestSmallRuns draws what there is of runs with hardly anything in them.
func TestSmallRuns(t *testing.T) {
	if charts := Charts(&result.Run{}); len(charts) != 0 {
		t.Errorf("%d charts of nothing", len(charts))
	}
	r := sampleRun(1)
	for i := range r.Rows {
		r.Rows[i].Slices = r.Rows[i].Slices[:1]
		r.Rows[i].Unit, r.Rows[i].GC = "", ""
	}
	charts := Charts(r)
	if len(charts) != 4 {
		t.Fatalf("%d charts", len(charts))
	}
	for _, c := range charts {
		svg, err := c.Encode("svg")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s has coordinates that are no numbers", c.Name)
		}
	}
	if got := charts[0].xTicks; len(got) != 1 || got[0].Label != "1" {
		t.Errorf("ticks %v", got)
	}
}

func TestManyThreads(t *testing.T) {
	c := Charts(sampleRun(1, 2, 3, 4, 6, 8, 12, 16, 24, 32))[0]
	if !c.xLog {
		t.Error("1 to 32 threads on a linear axis")
	}
	labels := 0
	for _, tick := range c.xTicks {
		if tick.Label != "" {
			labels++
		}
	}
	if len(c.xTicks) != 10 || labels < 5 || c.xTicks[0].Label != "1" {
		t.Errorf("%d ticks, %d labels", len(c.xTicks), labels)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		name   string
		wish   []float64
		lo, hi float64
		want   []float64
	}{
		{"far apart: unmoved", []float64{10, 50, 30}, 0, 100, []float64{10, 50, 30}},
		{"equal: around their place", []float64{50, 50}, 0, 100, []float64{45, 55}},
		{"three close ones", []float64{52, 50, 48}, 0, 100, []float64{60, 50, 40}},
		{"at the bottom", []float64{0, 1}, 0, 100, []float64{0, 10}},
		{"at the top", []float64{100, 99}, 0, 100, []float64{100, 90}},
		{"one", []float64{7}, 0, 100, []float64{7}},
		{"none", nil, 0, 100, []float64{}},
	} {
		got := spread(c.wish, 10, c.lo, c.hi)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// FuzzSpread: labels never overlap, never leave the panel while there is room,
// and keep the order of their lines.
func FuzzSpread(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Add([]byte{0, 0, 255, 255, 128})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 20 {
			raw = raw[:20]
		}
		wish := make([]float64, len(raw))
		for i, b := range raw {
			wish[i] = float64(b)
		}
		const gap, lo, hi = 10, 0, 255
		at := spread(wish, gap, lo, hi)
		for i := range at {
			if at[i] < lo-1e-9 || at[i] > hi+1e-9 {
				t.Errorf("%v: label %d is at %v", wish, i, at[i])
			}
			for j := range i {
				if d := math.Abs(at[i] - at[j]); d < gap-1e-9 {
					t.Errorf("%v: labels %d and %d are %v apart", wish, i, j, d)
				}
				if (wish[i]-wish[j])*(at[i]-at[j]) < 0 {
					t.Errorf("%v: labels %d and %d have changed places", wish, i, j)
				}
			}
		}
	})
}

func TestTicks(t *testing.T) {
	labels := func(ticks []gonum.Tick) string {
		var out []string
		for _, tick := range ticks {
			if tick.Label != "" {
				out = append(out, tick.Label)
			}
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		ticker gonum.Ticker
		lo, hi float64
		want   string
	}{
		{linearTicks{}, 0, 13, "0 2 4 6 8 10 12"},
		{linearTicks{}, 0, 0.7, "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7"},
		{linearTicks{}, 0, 0, "0"},
		{timeTicks{}, 40, 900, "50 ns 100 ns 200 ns 500 ns"},
		{timeTicks{}, 40, 2e6, "100 ns 1 µs 10 µs 100 µs 1 ms"},
	} {
		if got := labels(c.ticker.Ticks(c.lo, c.hi)); got != c.want {
			t.Errorf("%T from %v to %v: %q, want %q", c.ticker, c.lo, c.hi, got, c.want)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	r := sampleRun(1, 2)
	r.Rows = slices.DeleteFunc(r.Rows, func(row result.Row) bool { return row.Workload == "idle-active" })
	paths, err := Write(r, filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"run-throughput-short-transactions.svg", "run-throughput-short-transactions.png"}
	if len(paths) != 4 || filepath.Base(paths[0]) != want[0] || filepath.Base(paths[1]) != want[1] {
		t.Errorf("wrote %v", paths)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Write(r, filepath.Join(dir, "none", "run")); err == nil || !strings.Contains(err.Error(), "write ") {
		t.Errorf("into a folder that is not there: %v", err)
	}
	if got := fileName("trace: a/b.trace"); got != "trace--a-b.trace" {
		t.Errorf("file name %q", got)
	}
}
