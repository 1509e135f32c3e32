package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"causeway.internal/deploy/chaos/internal/stack"
)

// scenario is one kind of trouble. Another one is a file with a run function and a line in scenarios; load, auditor and
// report stay as they are.
type scenario struct {
	name  string
	about string
	run   func(ctx context.Context, f *field) error // makes trouble until ctx ends; what it leaves down is started again
}

// scenarios in the order in which they run.
var scenarios = []scenario{
	{"kills", "kill -9 of every process of the product in turn", kills},
}

// field is what a scenario plays on.
type field struct {
	stack  *stack.Stack
	random *rand.Rand
	say    func(format string, args ...any)

	mu     sync.Mutex
	counts map[string]int
}

// count notes one act of trouble for the report.
func (f *field) count(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[what]++
}

// pause waits between from and to, or until ctx ends; false means that it ended.
func (f *field) pause(ctx context.Context, from, to time.Duration) bool {
	wait := from + time.Duration(f.random.Int64N(int64(to-from)+1))
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

// choose finds the named scenario, or all for "".
func choose(name string) ([]scenario, error) {
	if name == "" {
		return scenarios, nil
	}
	for _, s := range scenarios {
		if s.name == name {
			return []scenario{s}, nil
		}
	}
	return nil, fmt.Errorf("no scenario %q", name)
}
