package delivery

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Schedule holds the waits between attempts: one attempt more than waits.
type Schedule []time.Duration

// Standard is the schedule of docs/api-contract.md#webhooks: 13 attempts in 72 hours.
var Standard = Schedule{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
	4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	attemptsMax   = 32
	waitMax       = 24 * time.Hour
	windowMax     = 7 * waitMax
	retrySlack    = 15 * time.Minute // how far beyond twice its own wait an endpoint may push an attempt
	statusTooMany = 429
	statusBusy    = 503
)

// ParseSchedule reads comma separated waits such as "5s,30s,2m"; "" is Standard. Waits are 1 ms to 24 h, at most 31.
func ParseSchedule(text string) (Schedule, error) {
	if strings.TrimSpace(text) == "" {
		return slices.Clone(Standard), nil
	}
	var s Schedule
	var sum time.Duration
	for part := range strings.SplitSeq(text, ",") {
		wait, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("read the schedule: %w", err)
		}
		if wait < time.Millisecond || wait > waitMax {
			return nil, fmt.Errorf("read the schedule: %v is not between 1ms and 24h", wait)
		}
		s, sum = append(s, wait), sum+wait
	}
	if len(s) >= attemptsMax || sum > windowMax {
		return nil, errors.New("read the schedule: more than 31 waits or 7 days")
	}
	return s, nil
}

// Attempts is how many attempts the schedule makes.
func (s Schedule) Attempts() int { return len(s) + 1 }

// Next returns the wait after the made-th attempt with ±20 % jitter, or false when that was the last. A Retry-After
// that came with 429 or 503 is honoured between this wait and twice the unjittered wait plus 15 minutes, at most 24 h.
func (s Schedule) Next(made int, o Outcome, jitter func(n int64) int64) (time.Duration, bool) {
	if made < 1 || made > len(s) {
		return 0, false
	}
	base := s[made-1]
	fifth := int64(base / 5)
	wait := base - time.Duration(fifth) + time.Duration(jitter(2*fifth+1))
	if (o.Status == statusTooMany || o.Status == statusBusy) && o.RetryAfter > wait {
		wait = max(wait, min(o.RetryAfter, 2*base+retrySlack, waitMax))
	}
	return wait, true
}
