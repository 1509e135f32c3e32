package merchant

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/shard"
)

// Notice is a merchant's standing and terms as payments gets them (docs/architecture.md#merchants). payments ignores
// a version that is not newer than the one it has.
type Notice struct {
	Shards      []shard.Code `json:"-"` // of the merchant: payments of each gets the notice
	MerchantID  string       `json:"merchantId"`
	Version     int64        `json:"version"`
	Suspended   bool         `json:"suspended"`
	Reason      string       `json:"reason"`
	Operator    string       `json:"operator"`
	Currencies  []string     `json:"currencies"`
	Networks    []string     `json:"networks"`
	Types       []string     `json:"types"`
	Limits      Limits       `json:"limits"` // amounts as texts
	DailyLimits Limits       `json:"dailyLimits"`
}

// NoticeOf is the notice of a merchant as it is now.
func NoticeOf(m Merchant, version int64, shards []shard.Code) Notice {
	return Notice{
		Shards: shards, MerchantID: m.ID, Version: version, Suspended: m.Status == Suspended, Reason: m.Reason, Operator: m.SuspendedBy,
		Currencies: m.Terms.Currencies, Networks: m.Terms.Networks, Types: m.Terms.Types,
		Limits: m.Terms.Limits, DailyLimits: m.Terms.DailyLimits,
	}
}

// Untold keeps the changes that payments has not acknowledged.
type Untold interface {
	// Untold takes due changes for TellAgain, so that two gateways do not send the same one.
	Untold(ctx context.Context, most int) ([]Notice, error)
	Told(ctx context.Context, merchantID string, version int64) error
	// Waiting counts the changes that have waited for an acknowledgement for longer than that.
	Waiting(ctx context.Context, longer time.Duration) (int, error)
}

// TellAgain is the wait before a change is sent again, after a failure or the death of the gateway that sent it.
const TellAgain = 5 * time.Second

const (
	tellBatch = 20
	waitsLong = time.Minute // before a change counts as waiting
)

// Teller sends each change to payments until payments acknowledges it, also after a crash of either. A suspension takes
// effect in the gateway itself within a second; the teller stops what payments does by itself.
type Teller struct {
	changes Untold
	send    func(ctx context.Context, n Notice) error
	log     *slog.Logger
	wake    chan struct{}
	waiting prometheus.Gauge
}

// NewTeller makes a teller. It implements prometheus.Collector.
func NewTeller(changes Untold, send func(ctx context.Context, n Notice) error, log *slog.Logger) *Teller {
	return &Teller{changes: changes, send: send, log: log, wake: make(chan struct{}, 1), waiting: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "gateway_merchants_untold", Help: "Merchants whose suspension or terms payments has not acknowledged for a minute.",
	})}
}

// Describe implements prometheus.Collector.
func (t *Teller) Describe(to chan<- *prometheus.Desc) { t.waiting.Describe(to) }

// Collect implements prometheus.Collector.
func (t *Teller) Collect(to chan<- prometheus.Metric) { t.waiting.Collect(to) }

// Wake makes Run look for changes at once. It never blocks.
func (t *Teller) Wake() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Run tells until ctx ends.
func (t *Teller) Run(ctx context.Context) error {
	tick := time.NewTicker(TellAgain)
	defer tick.Stop()
	for {
		if err := t.tell(ctx); err != nil && ctx.Err() == nil {
			t.log.WarnContext(ctx, "changes of merchants not sent", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-t.wake:
		}
	}
}

func (t *Teller) tell(ctx context.Context) error {
	for {
		found, err := t.changes.Untold(ctx, tellBatch)
		if err != nil {
			return err
		}
		for _, n := range found {
			if err := t.send(ctx, n); err != nil {
				t.log.WarnContext(ctx, "merchant's change not sent to payments", "merchant", n.MerchantID, "err", err)
				continue
			}
			if err := t.changes.Told(ctx, n.MerchantID, n.Version); err != nil {
				return fmt.Errorf("note that payments knows merchant %s: %w", n.MerchantID, err)
			}
		}
		if len(found) < tellBatch {
			break
		}
	}
	n, err := t.changes.Waiting(ctx, waitsLong)
	if err == nil {
		t.waiting.Set(float64(n))
	}
	return err
}
