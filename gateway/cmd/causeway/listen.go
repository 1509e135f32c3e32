package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"causeway.internal/libs/timestamp"
)

// listener follows a merchant's events.
type listener struct {
	*cli
	forward  string
	kind     string
	since    time.Duration
	count    int // the number of events after which it ends; 0 means never
	every    time.Duration
	endpoint string // whose secret signs; "" is the merchant's
	signer   secret
	seen     int
}

// lookEvery is the pause between two reads of the list of events.
const lookEvery = time.Second

func (c *cli) listenCommand() *cobra.Command {
	l := &listener{cli: c, every: lookEvery}
	var receive string
	cmd := &cobra.Command{
		Use: "listen", Short: "print webhooks as they happen, and forward them to a program on this machine", Args: words(),
		Long: `Prints the events of the key's merchant and mode, from now on or from --since ago. With --forward it posts each
event to a program on this machine, byte for byte and signed with the newest secret, as the real delivery is, so that
the program can verify it. The machine needs no address that is reachable from outside. The command posts an event once
and prints the program's answer.

With --receive the command is a webhook endpoint itself. It verifies the signature of each delivery before it prints and
forwards it, and answers 401 to a delivery that does not verify. Name its address as callbackUrl; or register it as an
endpoint, and name that with --endpoint, since each registered endpoint has a secret of its own.

The key needs the permission webhook:manage.`,
		Example: `  causeway listen
  causeway listen --forward http://localhost:3000/hook
  causeway listen --type payment.settled --since 1h --json
  causeway listen --receive 127.0.0.1:4000 --forward http://localhost:3000/hook
  causeway listen --receive 127.0.0.1:4000 --endpoint whe_06gzxbfvjmsasj8kyqcm9986pr`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := l.listen(cmd.Context(), receive)
			if cmd.Context().Err() != nil {
				return nil // an interruption is how it ends
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&l.forward, "forward", "", "URL to which each event is posted")
	f.StringVar(&receive, "receive", "", "address on which to serve as a webhook endpoint, such as 127.0.0.1:4000")
	f.StringVar(&l.endpoint, "endpoint", "", "registered endpoint (whe_…) whose secret signs, instead of the merchant's")
	f.StringVar(&l.kind, "type", "", "only events of this type, such as payment.settled")
	f.DurationVar(&l.since, "since", 0, "how far back to begin, such as 10m")
	f.IntVar(&l.count, "count", 0, "number of events after which to end; 0 never ends")
	return cmd
}

func (l *listener) listen(ctx context.Context, receive string) error {
	if l.forward != "" {
		if u, err := url.Parse(l.forward); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return misused("--forward %q is no http URL", l.forward)
		}
	}
	if err := l.learn(ctx); err != nil {
		return err
	}
	if receive != "" {
		return l.receive(ctx, receive)
	}
	return l.follow(ctx)
}

// learn reads the secret that signs the webhooks. While earlier ones are valid too, each delivery carries a signature
// of every one.
func (l *listener) learn(ctx context.Context) error {
	path := "/v1/webhooks/secret"
	if l.endpoint != "" {
		path = "/v1/webhooks/endpoints/" + url.PathEscape(l.endpoint) + "/secret"
	}
	var answer struct {
		Secret string `json:"secret"`
	}
	if _, err := l.call(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return err
	}
	var err error
	l.signer, err = readSecret(answer.Secret)
	return err
}

// event holds the fields of an event that the tool reads; the rest passes unchanged.
type event struct {
	ID        string                     `json:"id"`
	Type      string                     `json:"type"`
	CreatedAt time.Time                  `json:"createdAt"`
	Mode      string                     `json:"mode"`
	Data      map[string]json.RawMessage `json:"data"`
}

// follow reads the list of events from its start and then waits for new ones. It repeats a read that fails; the cursor
// keeps its place.
func (l *listener) follow(ctx context.Context) error {
	query, err := l.start(ctx)
	if err != nil {
		return err
	}
	l.say("waiting for events (ctrl-C ends)")
	for {
		var page struct {
			Events     []json.RawMessage `json:"events"`
			Pagination struct {
				NextCursor *string `json:"nextCursor"`
				HasMore    bool    `json:"hasMore"`
			} `json:"pagination"`
		}
		if _, err := l.call(ctx, http.MethodGet, "/v1/events?"+query.Encode(), nil, &page); err != nil {
			if err := l.lost(ctx, err); err != nil {
				return err
			}
			continue
		}
		for _, raw := range page.Events {
			if err := l.handle(ctx, raw); err != nil {
				return err
			}
			if l.seen++; l.count > 0 && l.seen >= l.count {
				return nil
			}
		}
		if page.Pagination.NextCursor != nil {
			query.Set("cursor", *page.Pagination.NextCursor)
			query.Del("from")
		}
		if !page.Pagination.HasMore {
			if err := pause(ctx, l.every); err != nil {
				return err
			}
		}
	}
}

// start is the first query, from now by the server's clock or from a time before.
func (l *listener) start(ctx context.Context) (url.Values, error) {
	var me json.RawMessage
	header, err := l.call(ctx, http.MethodGet, "/v1/me", nil, &me)
	if err != nil {
		return nil, err
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = l.now()
	}
	query := url.Values{"limit": {"100"}, "from": {timestamp.Text(now.Add(-l.since))}}
	if l.kind != "" {
		query.Set("type", l.kind)
	}
	return query, nil
}

// lost waits after a read that failed for a passing reason; any other failure ends the listener.
func (l *listener) lost(ctx context.Context, err error) error {
	if r, ok := errors.AsType[*refusal](err); ok && r.Status < http.StatusInternalServerError && r.Status != http.StatusTooManyRequests {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.say("%v; trying again", err)
	return pause(ctx, 3*l.every)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// handle prints an event of the list and forwards it, signed at the present time as a real delivery is.
func (l *listener) handle(ctx context.Context, raw []byte) error {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("read an event: %w", err)
	}
	h := http.Header{}
	l.signer.sign(h, e.ID, l.now(), raw)
	l.show(e, raw, l.pass(ctx, h, raw))
	return nil
}

// pass posts a body with its signature to the program and prints the program's answer.
func (l *listener) pass(ctx context.Context, h http.Header, raw []byte) string {
	if l.forward == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second) // the timeout of a real delivery
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.forward, bytes.NewReader(raw))
	if err != nil {
		return err.Error()
	}
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		r.Header.Set(name, h.Get(name))
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Causeway-Webhooks/1")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 1<<16) // so that the connection can be reused
	return strconv.Itoa(res.StatusCode)
}

// show prints an event unchanged under --json, else its main fields in one line.
func (l *listener) show(e event, raw []byte, answer string) {
	if l.json {
		line := map[string]any{"event": json.RawMessage(raw)}
		if answer != "" {
			line["forwarded"] = answer
		}
		l.printJSON(line)
		return
	}
	name, state := "", ""
	for _, object := range e.Data {
		var o struct {
			Reference, ID, ReportID, Status string
			Exception                       *string
		}
		if json.Unmarshal(object, &o) == nil {
			for _, candidate := range []string{o.Reference, o.ReportID, o.ID} {
				if name == "" {
					name = candidate
				}
			}
			if o.Exception != nil {
				state = " (" + *o.Exception + ")"
			}
		}
	}
	line := fmt.Sprintf("%s  %-22s %s%s", e.CreatedAt.Local().Format("15:04:05"), e.Type, name, state)
	if answer != "" {
		line += "  -> " + answer
	}
	l.line("%s", line)
}

// webhookMax is far above the 20 kB that a body may have.
const webhookMax = 1 << 20

// receive is a webhook endpoint until it is interrupted.
func (l *listener) receive(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	arrivals := make(chan arrival)
	server := &http.Server{ReadHeaderTimeout: callTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, webhookMax))
		if err != nil {
			http.Error(w, "unreadable", http.StatusBadRequest)
			return
		}
		a := arrival{r.Header.Clone(), body, make(chan int, 1)}
		select {
		case arrivals <- a:
			w.WriteHeader(<-a.answer)
		case <-ctx.Done():
			w.WriteHeader(http.StatusServiceUnavailable) // so that the sender tries again
		}
	})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()                       //nolint:errcheck // the program ends
	l.say("an endpoint is at http://%s (ctrl-C ends)", listener.Addr())
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a := <-arrivals:
			a.answer <- l.arrived(ctx, a)
			if l.seen++; l.count > 0 && l.seen >= l.count {
				stopped, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
				defer cancel()
				return server.Shutdown(stopped)
			}
		}
	}
}

// arrival is one delivery; its status is sent to answer.
type arrival struct {
	header http.Header
	body   []byte
	answer chan int
}

// arrived verifies, prints and forwards a delivery. It passes the program's refusal on, so that the sender retries.
func (l *listener) arrived(ctx context.Context, a arrival) int {
	if err := l.signer.verify(a.header, l.now(), a.body); err != nil {
		l.say("refused a webhook that does not verify: %v", err)
		return http.StatusUnauthorized
	}
	var e event
	if err := json.Unmarshal(a.body, &e); err != nil {
		l.say("refused a webhook that is no event: %v", err)
		return http.StatusBadRequest
	}
	if l.kind != "" && l.kind != e.Type {
		return http.StatusNoContent
	}
	answer := l.pass(ctx, a.header, a.body)
	l.show(e, a.body, strings.TrimSpace("signature ok "+answer))
	if l.forward == "" {
		return http.StatusNoContent
	}
	if status, err := strconv.Atoi(answer); err == nil {
		return status
	}
	return http.StatusBadGateway
}
