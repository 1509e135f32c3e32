package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// linesPerSecond is how many lines of one kind Sparing lets through in a second.
const linesPerSecond = 10

// Sparing is a logger for lines that every request of an outage may write. It passes ten of a kind in a second, and the
// first line of a later second has the number that was dropped. A metric counts all of them, not the log.
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

// Log writes a line, or counts it as dropped. Kinds must be a closed set, such as the codes of faults, because each is
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
