package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"xidlab/harness/history"
)

// TestCases: each file of testdata/cases is a history, and ends with the verdict:
// "ok", or the numbers of the operations that prove the violation, and the text.
func TestCases(t *testing.T) {
	names, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(names) < 60 {
		t.Fatalf("%d cases, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(data)), "\n")
			want, ok := strings.CutPrefix(lines[len(lines)-1], "# verdict: ")
			if !ok {
				t.Fatal("the last line is not the verdict to expect")
			}
			h, err := history.Read(name, bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if got := verdict(Check(h)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func verdict(v *Verdict) string {
	if v.Undecided > 0 {
		return fmt.Sprintf("%d undecided", v.Undecided)
	}
	if v.Violation == nil {
		return "ok"
	}
	var ops []string
	for _, o := range v.Violation.Ops {
		ops = append(ops, fmt.Sprint(o.Index))
	}
	return strings.Join(ops, " ") + ": " + v.Violation.Text
}

// TestReports: a violation as JSON and as a page says the same, and the page
// needs nothing else.
func TestReports(t *testing.T) {
	h, err := history.ReadFile("testdata/cases/hung-commit-undone.txt")
	if err != nil {
		t.Fatal(err)
	}
	h.Manager = "a <manager> & more"
	v := Check(h).Violation
	var b bytes.Buffer
	if err := v.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var again Violation
	if err := json.Unmarshal(b.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	if again.Text != v.Text || len(again.Ops) != len(v.Ops) || len(again.Because) != len(v.Because) || again.Manager != h.Manager {
		t.Errorf("JSON: got %+v, want %+v", again, v)
	}
	b.Reset()
	if err := v.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"a &lt;manager&gt; &amp; more", "worker 0", "worker 1", "hides {1}", "never", "class=\"box proof"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "http:", "https:", "ZgotmplZ", "<no value>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}

// TestClipped: boxes of one lane do not overlap where stamps are widened.
func TestClipped(t *testing.T) {
	end := func(t int64) *int64 { return &t }
	v := &Violation{Clock: "ns", Ops: []Operation{
		{Index: 4, Worker: 1, Call: 0, Return: end(30)}, {Index: 7, Worker: 1, Call: 20, Return: end(50)},
		{Index: 5, Worker: 2, Call: 10, Return: end(60)}, {Index: 8, Worker: 1, Call: 40},
	}}
	lanes := map[int][]pageBox{}
	p := v.page()
	for _, i := range p.fromBelow() {
		b := p.Boxes[i]
		if below := lanes[b.Column]; len(below) > 0 && b.To > below[len(below)-1].From || b.To <= b.From {
			t.Errorf("box %+v above %+v", b, below)
		}
		lanes[b.Column] = append(lanes[b.Column], b)
	}
	if len(lanes) != 2 {
		t.Errorf("%d lanes", len(lanes))
	}
}
