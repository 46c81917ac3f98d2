// Command figures draws the figures of docs/epoch.md, one idea each:
//
//	go run ./docs/figures
//
// writes them into docs. A test compares them with what is there.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// figures lists them by file name.
var figures = map[string]func(*canvas){
	"epoch-push.svg":   push,
	"epoch-clock.svg":  clock,
	"epoch-blocks.svg": blocks,
	"epoch-log.svg":    log,
	"epoch-reuse.svg":  reuse,
	"epoch-guard.svg":  guard,
	"epoch-group.svg":  group,
}

func main() {
	for name, text := range draw() {
		if err := os.WriteFile(filepath.Join("docs", name), []byte(text), 0o666); err != nil {
			fmt.Fprintln(os.Stderr, "figures:", err, "(run it in the root of the repository)")
			os.Exit(1)
		}
	}
}

func draw() map[string]string {
	texts := map[string]string{}
	for name, f := range figures {
		var c canvas
		f(&c)
		texts[name] = c.svg()
	}
	return texts
}
