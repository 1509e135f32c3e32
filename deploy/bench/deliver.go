package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	burstEvents  = 20_000 // of one side of full length
	burstClients = 64     // of the bare loop
	fullLength   = 6 * time.Second
	dispatcher   = "callback-dispatcher-work"
	hangFor      = 10 * time.Second
	pacedPerSec  = 150
	hungLonger   = 5 // a side takes so many times as long as others: at 4 s the p99 is that of the sixth worst delivery

	recordedWithin = time.Minute
)

// deliver measures callback-dispatcher: events are published to the broker, as payments' relay does it, and must
// arrive, signed, at the sink.
type deliver struct {
	bench  *bench
	sink   *sink
	broker *broker
	own    *pgx.Conn // dispatcher's database
	sent   int64     // requests of both sides that the sink must have seen
}

func newDeliver(ctx context.Context, b *bench, endpoints, hung int) (d *deliver, err error) {
	d = &deliver{bench: b}
	url, err := b.stack.Setting("payments-work", "AMQP_URL")
	if err != nil {
		return nil, err
	}
	if d.sink, err = newSink(b, endpoints, hung); err != nil {
		return nil, err
	}
	key, err := b.stack.Setting("payments-work", "MESSAGE_KEY")
	if err == nil {
		d.broker, err = newBroker(url, key)
	}
	if err != nil {
		return nil, errors.Join(err, d.close(ctx))
	}
	if d.own, err = pgx.Connect(ctx, b.stack.Databases["callback-dispatcher"]); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the dispatcher's database: %w", err), d.close(ctx))
	}
	return d, nil
}

func (d *deliver) close(ctx context.Context) error {
	failures := []error{d.sink.close()}
	if d.broker != nil {
		failures = append(failures, d.broker.close())
	}
	if d.own != nil {
		failures = append(failures, d.own.Close(ctx))
	}
	return errors.Join(failures...)
}

// event is a status message as payments writes it.
type event struct {
	EventID     string    `json:"eventId"`
	Type        string    `json:"type"`
	MerchantID  string    `json:"merchantId"`
	Mode        string    `json:"mode"`
	ObjectID    string    `json:"objectId"`
	Sequence    int64     `json:"sequence"`
	CallbackURL string    `json:"callbackUrl"`
	OccurredAt  time.Time `json:"occurredAt"`
	Body        []byte    `json:"body"`
}

// name is sortable by time, as the product's ids are: 26 digits of which the first ten are milliseconds.
func name() string {
	var b [16]byte
	_, _ = rand.Read(b[5:])
	return fmt.Sprintf("%010x", time.Now().UnixMilli()&(1<<40-1)) + hex.EncodeToString(b[5:13])
}

// hookBody is as long as an ordinary payment's.
func hookBody(eventID string) []byte {
	return fmt.Appendf(nil, `{"id":%q,"type":"payment.pending","createdAt":"2026-04-01T13:30:00.000Z","mode":"test","data":{"payment":{"reference":%q,"sequence":1,"note":%q}}}`,
		eventID, eventID, strings.Repeat("x", 390))
}

// batch is a number of encoded and signed events.
type batch struct {
	ids, signatures []string
	bodies          [][]byte
}

// part is the events from one number to before another.
func (b batch) part(from, to int) batch {
	return batch{b.ids[from:to], b.signatures[from:to], b.bodies[from:to]}
}

// encode makes so many events, spread over the endpoints, for a merchant of this run.
func (d *deliver) encode(merchant string, from, events int) (made batch, err error) {
	made = batch{make([]string, events), make([]string, events), make([][]byte, events)}
	for n := range events {
		id := "evt_" + name()
		raw, err := json.Marshal(event{
			EventID: id, Type: "payment.pending", MerchantID: merchant, Mode: "test", ObjectID: "pay_" + name(), Sequence: 1,
			CallbackURL: d.sink.urls[(from+n)%len(d.sink.urls)], OccurredAt: time.Now(), Body: hookBody(id),
		})
		if err != nil {
			return made, fmt.Errorf("encoding an event: %w", err)
		}
		made.ids[n], made.signatures[n], made.bodies[n] = id, d.broker.sign(id, raw), raw
	}
	return made, nil
}

// send publishes events, as many at a time as the relay does.
func (d *deliver) send(ctx context.Context, events batch) error {
	for from := 0; from < len(events.ids); from += relayBatch {
		if err := d.broker.publish(ctx, events.part(from, min(from+relayBatch, len(events.ids)))); err != nil {
			return err
		}
	}
	return nil
}

// burst is a row of as many deliveries as go; with processor its sides are deliveries per second of processor time.
func burst(endpoints int, processor bool) func(context.Context, *bench) (measure, error) {
	return func(ctx context.Context, b *bench) (measure, error) {
		d, err := newDeliver(ctx, b, endpoints, 0)
		if err != nil {
			return measure{}, err
		}
		return measure{
			ours:      func(ctx context.Context, length time.Duration) (side, error) { return d.burst(ctx, length, processor) },
			yardstick: func(ctx context.Context, length time.Duration) (side, error) { return d.loop(ctx, length, processor) },
			close:     d.close,
		}, nil
	}
}

func eventsOf(length time.Duration) int {
	return max(1000, int(burstEvents*min(length, fullLength)/fullLength))
}

// burst begins the clock with the first publish and ends it with the last arrival.
func (d *deliver) burst(ctx context.Context, length time.Duration, processor bool) (side, error) {
	events, merchant := eventsOf(length), "bench-"+name()
	d.sent += int64(events)
	made, err := d.encode(merchant, 0, events)
	if err != nil {
		return side{}, err
	}
	before, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	began := time.Now()
	if err := d.send(ctx, made); err != nil {
		return side{}, err
	}
	if _, err := d.sink.count(ctx, d.sent, false); err != nil {
		return side{}, err
	}
	took := time.Since(began)
	if err := d.until(ctx, recordedWithin, func() (bool, error) { // what is yet to be written belongs to its cost
		over, err := d.number(ctx, d.own, `SELECT count(*) FROM delivery_done WHERE merchant_id = $1 AND mode = 'test'`, merchant)
		return over == events, err
	}); err != nil {
		return side{}, fmt.Errorf("waiting until all deliveries are recorded: %w", err)
	}
	return d.ended(ctx, took, before, events, dispatcher, processor)
}

// ended counts the cost and makes sure that every event has arrived.
func (d *deliver) ended(ctx context.Context, took time.Duration, before map[string]float64, events int, process string, processor bool) (side, error) {
	after, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	out := side{PerSec: float64(events) / took.Seconds(), CPU: costs(before, after, events)}
	if processor {
		out.PerSec = float64(events) / max(after[process]-before[process], 0.01)
	}
	return out, d.sink.checked(ctx, d.sent)
}

// loop is the yardstick: the least that a sender of signed webhooks does. It signs each body and posts it over kept
// connections with the dispatcher's time limits, reads the answer and wants a 2xx.
func (d *deliver) loop(ctx context.Context, length time.Duration, processor bool) (side, error) {
	events := eventsOf(length)
	d.sent += int64(events)
	ids, bodies := make([]string, events), make([][]byte, events) // made before the clock starts, as ours are
	for n := range events {
		ids[n] = "evt_" + name()
		bodies[n] = hookBody(ids[n])
	}
	before, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	dialer := &net.Dialer{Timeout: 3 * time.Second}
	transport := &http.Transport{
		DialContext: dialer.DialContext, ResponseHeaderTimeout: 12 * time.Second, MaxIdleConnsPerHost: burstClients, MaxIdleConns: 4096,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 15 * time.Second}
	var next, failed atomic.Int64
	var wait sync.WaitGroup
	key := sha256.Sum256([]byte("key"))
	began := time.Now()
	for range burstClients {
		wait.Go(func() {
			for n := int(next.Add(1)) - 1; n < events && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				if err := postSigned(ctx, client, d.sink.urls[n%len(d.sink.urls)], ids[n], bodies[n], key[:]); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	wait.Wait()
	took := time.Since(began)
	if failed.Load() > 0 {
		return side{}, fmt.Errorf("%d of %d bare posts failed", failed.Load(), events)
	}
	return d.ended(ctx, took, before, events, "client", processor)
}

func postSigned(ctx context.Context, client *http.Client, to, id string, body, key []byte) error {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "webhook-id": {id}, "webhook-timestamp": {at},
		"webhook-signature": {"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err = io.Copy(io.Discard, response.Body); err == nil && response.StatusCode/100 != 2 {
		err = errors.New(response.Status)
	}
	return err
}

// isolation is a row of paced events to 100 endpoints of which some hang for 10 s. Its sides are one over the p99 of
// the healthy ones, with and without the hung ones, from intake to answer by the dispatcher's own log.
func isolation(hung int) func(context.Context, *bench) (measure, error) {
	return func(ctx context.Context, b *bench) (measure, error) {
		const endpoints = 100
		d, err := newDeliver(ctx, b, endpoints, hung)
		if err != nil {
			return measure{}, err
		}
		well, err := newDeliver(ctx, b, endpoints, 0)
		if err != nil {
			return measure{}, errors.Join(err, d.close(ctx))
		}
		return measure{
			ours: func(ctx context.Context, length time.Duration) (side, error) { return d.paced(ctx, hungLonger*length) },
			yardstick: func(ctx context.Context, length time.Duration) (side, error) {
				return well.paced(ctx, hungLonger*length)
			},
			close: func(ctx context.Context) error { return errors.Join(d.close(ctx), well.close(ctx)) },
		}, nil
	}
}

func (d *deliver) paced(ctx context.Context, length time.Duration) (side, error) {
	merchant, events, healthy := "bench-"+name(), 0, int64(0)
	before, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	const every = 20 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for until := time.Now().Add(length); time.Now().Before(until); <-tick.C {
		const some = pacedPerSec * int(every/time.Millisecond) / 1000
		for n := range some {
			if (events+n)%len(d.sink.urls) >= d.sink.hung {
				healthy++
			}
		}
		made, err := d.encode(merchant, events, some)
		if err == nil {
			err = d.send(ctx, made)
		}
		if err != nil {
			return side{}, err
		}
		events += some
	}
	d.sent += healthy
	if _, err := d.sink.count(ctx, d.sent, false); err != nil {
		return side{}, err
	}
	after, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	out := side{CPU: costs(before, after, events)}
	if out.P50, out.P99, err = d.latencies(ctx, merchant, healthy); err != nil {
		return side{}, err
	}
	out.PerSec = 1000 / max(out.P99, 0.1)
	return out, nil
}

// latencies waits until every answer is in the log, too.
func (d *deliver) latencies(ctx context.Context, merchant string, healthy int64) (p50, p99 float64, err error) {
	ports := make([]string, 0, len(d.sink.urls))
	for _, raw := range d.sink.urls[d.sink.hung:] {
		u, err := url.Parse(raw)
		if err != nil {
			return 0, 0, fmt.Errorf("reading an endpoint's URL: %w", err)
		}
		ports = append(ports, u.String())
	}
	for range 100 {
		var found int64
		err := d.own.QueryRow(ctx, `SELECT count(*), coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), 0), coalesce(percentile_cont(0.99) WITHIN GROUP (ORDER BY ms), 0)
FROM (SELECT 1000 * extract(epoch FROM coalesce(a.at, d.first_attempt_at) + coalesce(a.total_us, d.total_us) * interval '1 microsecond'
		- e.received_at)::float8 AS ms
	FROM delivery_done d JOIN event e ON e.id = d.event_id AND e.slot = d.slot LEFT JOIN attempt a ON a.delivery_id = d.id
	WHERE d.merchant_id = $1 AND d.url = ANY($2::text[])) x`, merchant, ports).Scan(&found, &p50, &p99)
		if err != nil {
			return 0, 0, fmt.Errorf("reading the log of attempts: %w", err)
		}
		if found >= healthy {
			return p50, p99, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
	return 0, 0, errors.New("the log of attempts is not complete after ten seconds")
}
