package app

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/tenant"
)

// ReplaysMax bounds the replays of a merchant and mode that are not finished.
const ReplaysMax = 10

// ReplayPrefix begins the id of a replay.
const ReplayPrefix = "rpl_"

// The states of a replay.
const (
	ReplayRunning  = "running"
	ReplayPaused   = "paused"
	ReplayFinished = "finished"
)

// Replay sends deliveries of a range of time again that have ended: those to one endpoint, or to callbackUrls.
type Replay struct {
	ID, MerchantID       string
	Mode                 tenant.Mode
	EndpointID           string // "" for the deliveries to callbackUrls
	From, To             time.Time
	States               []string // exhausted, delivered or both
	Types                []string // none means all
	State                string
	Total, Sent          int64
	CreatedAt, UpdatedAt time.Time
}

// ReplayBound is an id that sorts before every delivery made at a time or later.
func ReplayBound(t time.Time) string {
	made := id.New(id.Delivery, t)
	const timePart = 9 // characters of an id that hold nothing but its time
	return made[:len(id.Delivery)+timePart] + strings.Repeat("0", len(made)-len(id.Delivery)-timePart)
}

// Replays keeps replays.
type Replays interface {
	CountReplay(ctx context.Context, r Replay) (int64, error)
	AddReplay(ctx context.Context, r Replay, most int, k idempotency.Key, body []byte) (idempotency.Answer, error)
	ReplayOf(ctx context.Context, o tenant.Owner, id string) (Replay, error)
	TurnReplay(ctx context.Context, o tenant.Owner, id, state string) (Replay, error)
}

// Feeder brings back what the next running replay after a given one may have under way. last is "" after the last.
type Feeder interface {
	Feed(ctx context.Context, after string, perReplay, inAll int) (last string, moved int, err error)
}

const (
	feedEvery = 200 * time.Millisecond
	perReplay = 32
)

// FeedPace makes the pace of Feed.
func FeedPace() *lifecycle.Pace { return lifecycle.NewPace(feedEvery) }

// Feed keeps running replays fed until ctx ends: each has a few deliveries in the table at a time, all together as many
// as the share of one process, so that neither the table nor another merchant feels a replay, however long its range.
func Feed(ctx context.Context, f Feeder, limits Limits, pace *lifecycle.Pace, log *slog.Logger) error {
	inAll := max(1, limits.Process/replayShare)
	for fed := false; pace.Wait(ctx, fed); {
		fed = false
		for last := ""; ; {
			next, _, err := f.Feed(ctx, last, min(perReplay, inAll), inAll)
			if err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "replays not fed", "err", err)
			}
			if err != nil || next == "" {
				break
			}
			last, fed = next, true
		}
	}
	return nil
}
