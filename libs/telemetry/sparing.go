package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// linesPerSecond is how many lines of one kind Sparing lets through in a second.
const linesPerSecond = 10

// Sparing is a logger for lines that a whole outage's worth of requests may write. It lets ten of a kind through in a
// second, and the first of a later second says how many were left out. What counts them all is a metric, not the log.
type Sparing struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	kinds map[string]*spared
}

type spared struct {
	second  time.Time
	written int
	left    int
}

// NewSparing makes one over a logger.
func NewSparing(log *slog.Logger, now func() time.Time) *Sparing {
	return &Sparing{log: log, now: now, kinds: map[string]*spared{}}
}

// Log writes a line, or counts it as left out. Kinds are of a closed set, such as the codes of faults: each is
// remembered.
func (s *Sparing) Log(ctx context.Context, level slog.Level, kind, message string, args ...any) {
	left, write := s.take(kind)
	if !write {
		return
	}
	if left > 0 {
		args = append(args, "left_out", left)
	}
	s.log.Log(ctx, level, message, args...)
}

func (s *Sparing) take(kind string) (left int, write bool) {
	second := s.now().Truncate(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[kind]
	if k == nil {
		k = &spared{}
		s.kinds[kind] = k
	}
	if !k.second.Equal(second) {
		left = k.left
		*k = spared{second: second}
	}
	if k.written == linesPerSecond {
		k.left++
		return 0, false
	}
	k.written++
	return left, true
}
