// Package progress prints what the launcher does, step by step, with the time each step took. It holds no logic.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Printer writes progress for a person.
type Printer struct {
	mu  sync.Mutex
	out io.Writer
}

// New makes a printer that writes to out.
func New(out io.Writer) *Printer { return &Printer{out: out} }

// Print writes one line.
func (c *Printer) Print(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.out, format+"\n", args...)
}

// Step runs one step and prints what it was, how it ended and how long it took.
func (c *Printer) Step(what string, do func() error) error {
	c.Print("  ... %s", what)
	began := time.Now()
	err := do()
	took := Took(time.Since(began))
	if err != nil {
		c.Print("  !!! %s (after %s)", what, took)
		return fmt.Errorf("%s: %w", what, err)
	}
	c.Print("  ok  %s (%s)", what, took)
	return nil
}

// Quote prints text from elsewhere, such as a log, set off by a margin.
func (c *Printer) Quote(title, text string) {
	if strings.TrimSpace(text) == "" {
		text = "(nothing)"
	}
	c.Print("  --- %s", title)
	for line := range strings.SplitSeq(text, "\n") {
		c.Print("  |   %s", line)
	}
}

// Took renders a duration for a person: 12ms, 3.4s, 2m05s.
func Took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
