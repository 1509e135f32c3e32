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
)

// sink is a number of endpoints, each a listener of its own, some of which hang.
type sink struct {
	urls    []string
	servers []*http.Server
	hung    int
	arrived atomic.Int64
	wake    chan struct{}
}

func newSink(endpoints, hung int) (*sink, error) {
	s := &sink{hung: hung, wake: make(chan struct{}, 1)}
	for n := range endpoints {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening an endpoint: %w", err), s.close())
		}
		server := &http.Server{Handler: s.handler(n < hung), ReadHeaderTimeout: time.Minute}
		s.urls, s.servers = append(s.urls, "http://"+listener.Addr().String()+"/hook"), append(s.servers, server)
		go func() { _ = server.Serve(listener) }() // it ends by close
	}
	return s, nil
}

func (s *sink) handler(hangs bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if hangs {
			select {
			case <-time.After(hangFor):
			case <-r.Context().Done():
			}
			return
		}
		_, _ = w.Write([]byte(`{"ok":true}`))
		s.arrived.Add(1)
		select {
		case s.wake <- struct{}{}:
		default:
		}
	})
}

// await waits until so many events have arrived at endpoints that do not hang.
func (s *sink) await(ctx context.Context, events int64) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for s.arrived.Load() < events {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d events arrived: %w", s.arrived.Load(), events, ctx.Err())
		}
	}
	return nil
}

func (s *sink) close() error {
	var failures []error
	for _, server := range s.servers {
		failures = append(failures, server.Close())
	}
	return errors.Join(failures...)
}

// deliver measures callback-dispatcher: events go into payments' outbox and must arrive, signed, at the sink.
type deliver struct {
	bench   *bench
	sink    *sink
	outbox  *pgx.Conn
	own     *pgx.Conn // dispatcher's database
	sinkCPU float64   // seconds of our own processor time per arrival
}

func newDeliver(ctx context.Context, b *bench, endpoints, hung int) (d *deliver, err error) {
	d = &deliver{bench: b}
	if d.sink, err = newSink(endpoints, hung); err != nil {
		return nil, err
	}
	if d.outbox, err = pgx.Connect(ctx, b.stack.Databases["payments"]); err == nil {
		d.own, err = pgx.Connect(ctx, b.stack.Databases["callback-dispatcher"])
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening a database: %w", err), d.close(ctx))
	}
	return d, nil
}

func (d *deliver) close(ctx context.Context) error {
	failures := []error{d.sink.close()}
	for _, conn := range []*pgx.Conn{d.outbox, d.own} {
		if conn != nil {
			failures = append(failures, conn.Close(ctx))
		}
	}
	return errors.Join(failures...)
}

// message is a status message as payments writes it.
type message struct {
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

func name() string {
	var b [13]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// hookBody is as long as an ordinary payment's.
func hookBody(eventID string) []byte {
	return fmt.Appendf(nil, `{"id":%q,"type":"payment.pending","createdAt":"2026-04-01T13:30:00.000Z","mode":"test","data":{"payment":{"sequence":1,"note":%q}}}`,
		eventID, strings.Repeat("x", 420))
}

// send writes so many events, spread over the endpoints, for a merchant of this run.
func (d *deliver) send(ctx context.Context, merchant string, from, events int) error {
	names, ids, bodies := make([]string, events), make([]string, events), make([][]byte, events)
	for n := range events {
		id := "evt_" + name()
		raw, err := json.Marshal(message{
			EventID: id, Type: "payment.pending", MerchantID: merchant, Mode: "test", ObjectID: "pay_" + name(), Sequence: 1,
			CallbackURL: d.sink.urls[(from+n)%len(d.sink.urls)], OccurredAt: time.Now(), Body: hookBody(id),
		})
		if err != nil {
			return fmt.Errorf("encoding an event: %w", err)
		}
		names[n], ids[n], bodies[n] = "payments.status_changed.v1", id, raw
	}
	if _, err := d.outbox.Exec(ctx, `INSERT INTO outbox (name, message_id, headers, body)
SELECT n, i, '{}', b FROM unnest($1::text[], $2::text[], $3::bytea[]) AS m(n, i, b)`, names, ids, bodies); err != nil {
		return fmt.Errorf("writing events: %w", err)
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

func (d *deliver) burst(ctx context.Context, length time.Duration, processor bool) (side, error) {
	events, merchant := eventsOf(length), "bench-"+name()
	target := d.sink.arrived.Load() + int64(events)
	before, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	began := time.Now()
	const chunk = 1000
	for from := 0; from < events; from += chunk {
		if err := d.send(ctx, merchant, from, min(chunk, events-from)); err != nil {
			return side{}, err
		}
	}
	sent, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	arrived := d.sink.arrived.Load() - (target - int64(events))
	if err := d.sink.await(ctx, target); err != nil {
		return side{}, err
	}
	took := time.Since(began)
	after, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	if rest := int64(events) - arrived; rest > int64(events)/4 { // what our own process did after the last was sent is the sink's work
		d.sinkCPU = (after["client"] - sent["client"]) / float64(rest)
	}
	out := side{PerSec: float64(events) / took.Seconds(), CPU: costs(before, after, events)}
	if processor {
		out.PerSec = float64(events) / max(after[dispatcher]-before[dispatcher], 0.01)
	}
	return out, nil
}

// loop is the yardstick: the least that a sender of signed webhooks could do.
func (d *deliver) loop(ctx context.Context, length time.Duration, processor bool) (side, error) {
	events := eventsOf(length)
	before, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: burstClients, MaxIdleConns: 4096}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 15 * time.Second}
	var next, failed atomic.Int64
	var wait sync.WaitGroup
	key := sha256.Sum256([]byte("key"))
	began := time.Now()
	for range burstClients {
		wait.Go(func() {
			for n := int(next.Add(1)) - 1; n < events && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				if err := postSigned(ctx, client, d.sink.urls[n%len(d.sink.urls)], key[:]); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	wait.Wait()
	took := time.Since(began)
	after, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	if failed.Load() > 0 {
		return side{}, fmt.Errorf("%d of %d bare posts failed", failed.Load(), events)
	}
	out := side{PerSec: float64(events) / took.Seconds(), CPU: costs(before, after, events)}
	if processor {
		out.PerSec = float64(events) / max(after["client"]-before["client"]-d.sinkCPU*float64(events), 0.01)
	}
	return out, nil
}

func postSigned(ctx context.Context, client *http.Client, to string, key []byte) error {
	id, at := "evt_"+name(), strconv.FormatInt(time.Now().Unix(), 10)
	body := hookBody(id)
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
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// isolation is a row of paced events to 100 endpoints of which some hang for 10 s. Its sides are one over the p99 of the
// healthy ones, with and without the hung ones, from intake to answer by the dispatcher's own log.
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
			ours: d.paced, yardstick: well.paced,
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
	start := d.sink.arrived.Load()
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
		if err := d.send(ctx, merchant, events, some); err != nil {
			return side{}, err
		}
		events += some
	}
	if err := d.sink.await(ctx, start+healthy); err != nil {
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
FROM (SELECT 1000 * extract(epoch FROM a.at + a.total_us * interval '1 microsecond' - e.received_at)::float8 AS ms
	FROM delivery_done d JOIN event e ON e.id = d.event_id AND e.slot = d.slot JOIN attempt a ON a.delivery_id = d.id
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
