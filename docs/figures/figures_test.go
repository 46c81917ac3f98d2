package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCurrent: what is in docs is what the command draws, is XML, and is shown.
func TestCurrent(t *testing.T) {
	page, err := os.ReadFile("../epoch.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range draw() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || string(got) != want {
			t.Errorf("docs/%s is not what go run ./docs/figures draws (%v)", name, err)
		}
		if err := xml.Unmarshal([]byte(want), new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(string(page), "]("+name+")") {
			t.Errorf("docs/epoch.md does not show %s", name)
		}
	}
}
