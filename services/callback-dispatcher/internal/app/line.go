package app

import (
	"sync"

	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

const linesMost = 10_000

func lineOf(d delivery.Delivery) Line { return Line{Target: d.Target, ObjectID: d.ObjectID} }

// lines are those in which something may wait that can go on, each once. There are linesMost at most: Sweep sees to the
// others.
type lines struct {
	some chan struct{} // capacity 1: there are some

	mu  sync.Mutex
	all map[Line]struct{}
}

func newLines() *lines { return &lines{some: make(chan struct{}, 1), all: map[Line]struct{}{}} }

func (l *lines) add(some []Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range some {
		if len(l.all) < linesMost {
			l.all[line] = struct{}{}
		}
	}
	kick(l.some)
}

func (l *lines) take() (all []Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range l.all {
		all = append(all, line)
	}
	clear(l.all)
	return all
}
