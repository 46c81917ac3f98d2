package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"xidlab/core"
)

const (
	maxThreads = 8  // of the engine
	maxOps     = 64 // in threads, of the engine
)

// parse reads a program's text; see Program.
func parse(text string) (*script, error) {
	parts := strings.Split(text, ";")
	var setup, threads, end string
	switch len(parts) {
	case 1:
		threads = parts[0]
	case 2:
		if setup, threads = parts[0], parts[1]; strings.Contains(setup, "||") {
			setup, threads, end = "", parts[0], parts[1]
		}
	case 3:
		setup, threads, end = parts[0], parts[1], parts[2]
	default:
		return nil, fmt.Errorf("program %q has %d semicolons: want setup; thread || thread ...; end", text, len(parts)-1)
	}
	if strings.Contains(setup+end, "||") {
		return nil, fmt.Errorf("program %q has threads in two parts: want setup; thread || thread ...; end", text)
	}
	p := &parser{script: new(script), scope: map[string]int{}}
	var err error
	if p.setup, err = p.sequence(setup, "the setup"); err != nil {
		return nil, err
	}
	outer := p.scope
	all := map[string]int{}
	ops := 0
	for i, t := range strings.Split(threads, "||") {
		p.scope = map[string]int{}
		for name, v := range outer {
			p.scope[name] = v
		}
		steps, err := p.sequence(t, fmt.Sprintf("thread %d", i+1))
		if err != nil {
			return nil, err
		}
		if len(steps) == 0 {
			return nil, fmt.Errorf("thread %d of program %q has no operation", i+1, text)
		}
		p.threads = append(p.threads, steps)
		for name, v := range p.scope {
			all[name] = v
		}
		ops += len(steps)
	}
	if len(p.threads) > maxThreads || ops > maxOps {
		return nil, fmt.Errorf("program %q has %d threads and %d operations in them; at most %d and %d can be explored", text, len(p.threads), ops, maxThreads, maxOps)
	}
	p.scope = all
	if p.end, err = p.sequence(end, "the end"); err != nil {
		return nil, err
	}
	return p.script, nil
}

type parser struct {
	*script
	scope map[string]int // the variables that may be used here
}

// sequence reads operations until the text ends.
func (p *parser) sequence(text, where string) ([]step, error) {
	var steps []step
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		n := strings.IndexAny(rest, " \t\n(")
		word := rest
		if n >= 0 {
			word, rest = rest[:n], rest[n:]
		} else {
			rest = ""
		}
		var args []string
		if after := strings.TrimSpace(rest); strings.HasPrefix(after, "(") {
			inside, tail, ok := strings.Cut(after[1:], ")")
			if !ok {
				return nil, fmt.Errorf("%s: %s( is not closed", where, word)
			}
			rest = tail
			for _, a := range strings.Split(inside, ",") {
				if a = strings.TrimSpace(a); a != "" {
					args = append(args, a)
				} else if strings.TrimSpace(inside) != "" {
					return nil, fmt.Errorf("%s: %s(%s) has an empty argument", where, word, inside)
				}
			}
		}
		st, err := p.step(word, args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		steps = append(steps, st)
	}
	return steps, nil
}

func (p *parser) step(word string, args []string) (step, error) {
	name, opName, named := strings.Cut(word, "=")
	if !named {
		name, opName = "", word
	}
	i := slices.IndexFunc(operations[:], func(o operation) bool { return o.name == opName })
	if i < 0 {
		return step{}, fmt.Errorf("%q is no operation; the operations are %s", opName, operationNames())
	}
	o := &operations[i]
	st := step{op: opcode(i), dst: -1}
	if least, most := o.arity(); len(args) < least || len(args) > most {
		return step{}, fmt.Errorf("%s has %d arguments, want %s", o.name, len(args), amount(least, most))
	}
	for i, text := range args {
		a, err := p.arg(text, o.takes(i))
		if err != nil {
			return step{}, fmt.Errorf("argument %d of %s: %w", i+1, o.name, err)
		}
		st.args = append(st.args, a)
	}
	p.needs |= o.needs
	switch {
	case named && o.gives == 0:
		return step{}, fmt.Errorf("the answer of %s gets no name: write %s, not %s", o.name, opName, word)
	case named && !isName(name):
		return step{}, fmt.Errorf("%q is no name: want a letter, then letters and digits", name)
	case named && slices.ContainsFunc(p.vars, func(v variable) bool { return v.name == name }):
		return step{}, fmt.Errorf("%q is the name of two answers", name)
	case o.gives != 0:
		st.dst = len(p.vars)
		p.vars = append(p.vars, variable{name, o.gives, p.owner(&st)})
		if named {
			p.scope[name] = st.dst
		}
	}
	return st, nil
}

// owner returns the owner of the snapshot that st gives.
func (p *parser) owner(st *step) arg {
	switch {
	case st.op == opWithOwner:
		return st.args[1]
	case st.op == opRetainSnapshot:
		return p.vars[st.args[0].v].owner
	case (st.op == opSnapshot || st.op == opRetain) && len(st.args) > 0:
		return st.args[0]
	}
	return arg{v: -1}
}

func (p *parser) arg(text string, want sort) (arg, error) {
	if want == key {
		if !isName(text) {
			return arg{}, fmt.Errorf("%q is no key: want a letter, then letters and digits", text)
		}
		i := slices.Index(p.keys, text)
		if i < 0 {
			i = len(p.keys)
			p.keys = append(p.keys, text)
		}
		return arg{v: i}, nil
	}
	if v, ok := p.scope[text]; ok {
		if got := p.vars[v].sort; got != want && !(got == guard && want == snapshot) {
			return arg{}, fmt.Errorf("%s is a %v, want a %v", text, got, want)
		}
		return arg{v: v}, nil
	}
	if want == xid && text == "None" {
		return arg{v: -1}, nil
	}
	if offset, ok := strings.CutPrefix(text, "MaxXid"); want == xid && ok {
		n, err := strconv.ParseUint(strings.TrimPrefix("0"+offset, "0+"), 10, 32)
		if err != nil {
			return arg{}, fmt.Errorf("transaction %q: want MaxXid, or MaxXid+1 and the like", text)
		}
		return arg{v: -1, x: core.MaxXid + core.Xid(n)}, nil
	}
	if want == xid && text != "" && text[0] >= '0' && text[0] <= '9' {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return arg{}, fmt.Errorf("transaction %q: %w", text, err)
		}
		return arg{v: -1, x: core.Xid(n)}, nil
	}
	if slices.ContainsFunc(p.vars, func(v variable) bool { return v.name == text }) {
		return arg{}, fmt.Errorf("%s is another thread's: a thread may use the names of the setup and its own", text)
	}
	return arg{}, fmt.Errorf("%q is no %v that is known here", text, want)
}

func isName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && s != "None" && !strings.HasPrefix(s, "MaxXid")
}

func amount(least, most int) string {
	switch {
	case least == most:
		return fmt.Sprint(least)
	case most == maxArgs:
		return fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Sprintf("%d or %d", least, most)
}

func operationNames() string {
	var names []string
	for _, o := range operations {
		names = append(names, o.name)
	}
	return strings.Join(names, ", ")
}
