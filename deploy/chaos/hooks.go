package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/load"
)

// Of the scenario hooks.
const (
	sender = "callback-dispatcher"
	// batch is how many results one commit of the dispatcher holds at most: what a kill may repeat beside what is in
	// flight.
	batch = 200
	// firstWithin is how soon something is delivered after a restart on any machine, however busy: leases end with their
	// process, so nothing waits the five minutes that a lease lasts.
	firstWithin = time.Minute
	hookEvery   = 100 * time.Millisecond
	hookSome    = 3 // objects each time, of a few events each, to one URL and to the registered endpoint
	hookOf      = 2
	drained     = 3 * time.Minute
)

// hookSettings shorten the waits between attempts, so that what was treated badly comes again within the run.
var hookSettings = []string{"SCHEDULE_TEST=1s,1s,2s,2s,5s,5s,5s,10s,10s,10s,30s,30s", "BREAKER_WAIT=2s"}

// hooks kills every replica of callback-dispatcher at random moments while it delivers to endpoints that hang, drip,
// never end, reset, redirect and refuse. In the end each event was accepted by each of its targets, and no more of them
// twice than were in flight at a kill, and one batch.
func hooks(ctx context.Context, f *field) error {
	merchant, err := load.NewMerchant(ctx, f.stack.BaseURL, f.stack.AdminToken, "test", fmt.Sprintf("hooks-%x", time.Now().UnixNano()))
	if err != nil {
		return err
	}
	receiver, err := load.ListenHostile(merchant.WebhookSecret, f.random.Uint64())
	if err != nil {
		return err
	}
	defer receiver.Close() //nolint:errcheck // the run has ended
	h := &hookRun{f: f, merchant: merchant, receiver: receiver}
	if err := h.register(ctx); err != nil {
		return err
	}
	feeding, stop := context.WithCancel(ctx)
	defer stop()
	fed := make(chan error, 1)
	go func() { fed <- h.feed(feeding) }()
	err = h.kills(ctx)
	stop()
	if err = errors.Join(err, <-fed); err != nil {
		return err
	}
	return h.judge(context.WithoutCancel(ctx))
}

// hookRun is one run of the scenario.
type hookRun struct {
	f        *field
	merchant load.Merchant
	receiver *load.Hostile
	endpoint string // id of the registered one
	slots    []string
	bound    int             // how many may come twice
	firsts   []time.Duration // from each restart to the first delivery
}

func (h *hookRun) register(ctx context.Context) error {
	var made struct {
		Endpoint struct {
			ID string `json:"id"`
		} `json:"endpoint"`
	}
	err := h.f.ask(ctx, http.MethodPost, "/v1/webhooks/endpoints", h.merchant.APIKey, map[string]any{"url": h.receiver.URLs()[load.Gone], "types": []string{}}, &made)
	if err != nil {
		return err
	}
	h.endpoint = made.Endpoint.ID
	var secret struct {
		Secret string `json:"secret"`
	}
	err = h.f.ask(ctx, http.MethodGet, "/v1/webhooks/endpoints/"+h.endpoint+"/secret", h.merchant.APIKey, nil, &secret)
	h.receiver.Trust(load.Gone, secret.Secret)
	return err
}

// enable undoes what a 410 has done: what was held meanwhile is sent.
func (h *hookRun) enable(ctx context.Context) error {
	return h.f.ask(ctx, http.MethodPatch, "/v1/webhooks/endpoints/"+h.endpoint, h.merchant.APIKey, map[string]any{"enabled": true}, nil)
}

// feed writes events into the outbox of payments until ctx ends.
func (h *hookRun) feed(ctx context.Context) error {
	always := context.WithoutCancel(ctx)
	db, err := pgx.Connect(always, h.f.stack.Superuser["payments"])
	if err != nil {
		return fmt.Errorf("opening the outbox: %w", err)
	}
	defer db.Close(always)
	tick := time.NewTicker(hookEvery)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		var ids []string
		var bodies [][]byte
		for i := range hookSome {
			place := 1 + (n*hookSome+i)%(len(h.receiver.URLs())-1)
			object := "pay_" + random()
			for sequence := 1; sequence <= hookOf; sequence++ {
				id := "evt_" + random()
				body, err := h.event(id, object, sequence, place)
				if err != nil {
					return err
				}
				ids, bodies = append(ids, id), append(bodies, body)
				h.slots = append(h.slots, load.Slot(place, id), load.Slot(load.Gone, id))
			}
		}
		if _, err := db.Exec(always, `INSERT INTO outbox (name, message_id, headers, body)
SELECT 'payments.status_changed.v1', i, '{}', b FROM unnest($1::text[], $2::bytea[]) AS m(i, b)`, ids, bodies); err != nil {
			return fmt.Errorf("writing events: %w", err)
		}
		<-tick.C
	}
	return nil
}

func (h *hookRun) event(id, object string, sequence, place int) ([]byte, error) {
	now := time.Now()
	body := fmt.Sprintf(`{"id":%q,"type":"payment.pending","createdAt":%q,"mode":"test","data":{"payment":{"reference":%q,"sequence":%d}}}`,
		id, now.UTC().Format("2006-01-02T15:04:05.000Z"), object, sequence)
	return json.Marshal(map[string]any{
		"eventId": id, "type": "payment.pending", "merchantId": h.merchant.ID, "mode": "test", "objectId": object, "sequence": sequence,
		"callbackUrl": h.receiver.URLs()[place], "occurredAt": now, "body": []byte(body),
	})
}

func random() string {
	var b [13]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// kills ends all replicas at once and starts them again, at random moments, until ctx ends.
func (h *hookRun) kills(ctx context.Context) error {
	names := h.f.stack.Replicas(sender + "-work")
	if len(names) == 0 { // the roles share a process
		names = h.f.stack.Replicas(sender)
	}
	for {
		shoot, err := h.f.stack.Shots(names...)
		if err != nil {
			return err
		}
		if !h.f.pause(ctx, 0, 1500*time.Millisecond) {
			return nil
		}
		open := h.receiver.Open()
		h.bound += open + batch*len(names)
		if err := shoot(); err != nil {
			return err
		}
		h.f.count("kill -9 of every " + names[0])
		h.f.pause(ctx, 50*time.Millisecond, 500*time.Millisecond)
		if err := h.restart(context.WithoutCancel(ctx), names, open); err != nil {
			return err
		}
		if err := h.enable(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
}

// restart starts the replicas and takes the time to the first delivery, with the start of the process in it.
func (h *hookRun) restart(ctx context.Context, names []string, open int) error {
	select {
	case <-h.receiver.Arrived: // sent before the kill
	default:
	}
	began, first := time.Now(), make(chan time.Duration, 1)
	go func() {
		select {
		case <-h.receiver.Arrived:
			first <- time.Since(began)
		case <-time.After(firstWithin):
			first <- firstWithin
		}
	}()
	for _, name := range names {
		if err := h.f.stack.Start(ctx, name, hookSettings...); err != nil {
			return err
		}
	}
	took := <-first
	h.firsts = append(h.firsts, took)
	h.f.say("kill -9 %-28s first delivery %s after its restart, %d under way at the kill", names[0], took.Round(10*time.Millisecond), open)
	return nil
}

// judge waits until every target has accepted its events and counts what came twice.
func (h *hookRun) judge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drained)
	defer cancel()
	for len(h.receiver.Missing(h.slots)) > 0 && h.f.pause(ctx, time.Second, time.Second) {
		if err := h.enable(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	seen := h.receiver.Seen()
	lost := h.receiver.Missing(h.slots)
	if n := len(lost); n > 0 {
		h.f.fault("hooks: %d of %d deliveries were never accepted, the first of them (place of the endpoint, event): %v", n, len(h.slots), lost[:min(n, 3)])
	}
	if seen.Repeated > h.bound {
		h.f.fault("hooks: %d deliveries came again after they were accepted, at most %d may", seen.Repeated, h.bound)
	}
	for _, problem := range seen.Problems {
		h.f.fault("hooks: %s", problem)
	}
	slices.Sort(h.firsts)
	median, worst := time.Duration(0), time.Duration(0)
	if n := len(h.firsts); n > 0 {
		median, worst = h.firsts[n/2], h.firsts[n-1]
	}
	if worst >= firstWithin {
		h.f.fault("hooks: nothing was delivered within %s of a restart", firstWithin)
	}
	h.f.say("hooks   %d deliveries accepted, %d lost, %d came again (at most %d may), after %d kills; first delivery %s after a restart, at worst %s; treated badly: %v",
		seen.Accepted, len(lost), seen.Repeated, h.bound, len(h.firsts), median.Round(10*time.Millisecond), worst.Round(10*time.Millisecond), seen.Treated)
	return nil
}
