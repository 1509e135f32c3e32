package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/load"
)

// Of the pulse. A create that takes longer than its patience counts as one that failed.
const (
	pulseEvery    = 100 * time.Millisecond
	pulsePatience = 2 * time.Second
	pulseMost     = 8 // creates at a time
)

// sign is what a product does that is in service.
type sign string

const (
	creates sign = "creates" // a new payment is answered with success
	changes sign = "changes" // payments under way change: workers, and the broker between them, do their work
)

var signs = []sign{creates, changes}

// pulse notes when each sign was seen.
type pulse struct {
	mu   sync.Mutex
	seen map[sign][]time.Time
}

func (p *pulse) note(s sign) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[s] = append(p.seen[s], time.Now())
}

// since says whether every sign was seen after a moment.
func (p *pulse) since(at time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range signs {
		if n := len(p.seen[s]); n == 0 || p.seen[s][n-1].Before(at) {
			return false
		}
	}
	return true
}

// longest is the longest time without a sign from one moment to another. An answer that was on its way at a kill still
// comes, so the first sign proves no service.
func (p *pulse) longest(s sign, from, to time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return longest(p.seen[s], from, to)
}

func longest(seen []time.Time, from, to time.Time) (most time.Duration) {
	last := from
	for _, at := range append(slices.Clone(seen), to) {
		if at.Before(from) || at.After(to) {
			continue
		}
		most, last = max(most, at.Sub(last)), at
	}
	return most
}

// feel starts a pulse, which beats until ctx ends.
func (f *field) feel(ctx context.Context) (*pulse, error) {
	// The auditor finds a fault in every payment of the load's merchant that the load did not ask for.
	prober, err := load.NewMerchant(ctx, f.stack.BaseURL, f.stack.AdminToken, "test", fmt.Sprintf("pulse-%x", time.Now().UnixNano()))
	if err != nil {
		return nil, err
	}
	p := &pulse{seen: map[sign][]time.Time{}}
	go p.creates(ctx, f, prober)
	go p.changes(ctx, f)
	return p, nil
}

// creates makes a payment at every beat, each at the next gateway. A request for money needs no address and ends with
// nothing.
func (p *pulse) creates(ctx context.Context, f *field, prober load.Merchant) {
	body := map[string]any{
		"type": "request", "fiatAmount": 5000, "fiatCurrency": "NGN",
		"receiver": map[string]string{"bankCode": "058", "accountNumber": "0123456789"},
	}
	slots := make(chan struct{}, pulseMost)
	for n := 0; f.pause(ctx, pulseEvery, pulseEvery); n++ {
		select {
		case slots <- struct{}{}:
		default:
			continue
		}
		gateway := f.stack.Gateways[n%len(f.stack.Gateways)]
		go func() {
			defer func() { <-slots }()
			patient, cancel := context.WithTimeout(ctx, pulsePatience)
			defer cancel()
			if status, err := load.Ask(patient, http.MethodPost, gateway+"/v1/payments", prober.APIKey, body, nil); err == nil && status/100 == 2 {
				p.note(creates)
			}
		}()
	}
}

// changes counts the changes of the load's payments beyond their creation.
func (p *pulse) changes(ctx context.Context, f *field) {
	const count = `SELECT coalesce(sum(sequence), 0)::bigint FROM payments WHERE merchant_id = $1 AND sequence > 1`
	var conn *pgx.Conn
	var before int64
	look := func(ctx context.Context) (now int64, err error) {
		ctx, cancel := context.WithTimeout(ctx, pulsePatience)
		defer cancel()
		if conn == nil {
			if conn, err = pgx.Connect(ctx, f.stack.Superuser["payments"]); err != nil {
				conn = nil
				return 0, err
			}
		}
		if err = conn.QueryRow(ctx, count, f.merchant.ID).Scan(&now); err != nil {
			conn.Close(context.WithoutCancel(ctx))
			conn = nil
		}
		return now, err
	}
	for f.pause(ctx, pulseEvery, pulseEvery) {
		if now, err := look(ctx); err == nil && now != before {
			before = now
			p.note(changes)
		}
	}
	if conn != nil {
		conn.Close(context.WithoutCancel(ctx))
	}
}
