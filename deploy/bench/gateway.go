package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"causeway.internal/deploy/bench/internal/drive"
	"causeway.internal/deploy/bench/internal/stack"
)

// allowance is the processor time that the gateway may use for a request beyond a plain reverse proxy, in seconds.
const allowance = 0.30e-3

// door measures what a warm request costs the gateway: reads of one payment by its key, against the same bytes through
// a reverse proxy of the standard library that asks nothing. Both sides are counted in requests per second of the
// proxy's own processor time, and the yardstick is given the allowance on top, so that 1 is the bound itself.
type door struct {
	bench    *bench
	path     string
	upstream *httptest.Server
	plain    *stack.Own
	base     string
}

const doorClients = 8

func gatewayCPU(ctx context.Context, b *bench) (measure, error) {
	d := &door{bench: b}
	m := measure{ours: d.ours, yardstick: d.yardstick, close: d.close}
	if err := d.prepare(ctx); err != nil {
		return m, errors.Join(err, d.close(context.WithoutCancel(ctx)))
	}
	return m, nil
}

// prepare makes a payment, keeps the answer that its reads get, and starts the plain proxy before a server that gives
// it.
func (d *door) prepare(ctx context.Context) error {
	made, err := d.call(ctx, http.MethodPost, "/v1/payments", transfer(""))
	if err != nil {
		return err
	}
	var created struct{ Payment struct{ Reference string } }
	if err := json.Unmarshal(made, &created); err != nil || created.Payment.Reference == "" {
		return fmt.Errorf("creating a payment: %s: %w", made, err)
	}
	d.path = "/v1/payments/" + created.Payment.Reference
	answer, err := d.call(ctx, http.MethodGet, d.path, "")
	if err != nil {
		return err
	}
	d.upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(answer)
	}))
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.Command(self, plainVerb, d.upstream.URL) //nolint:noctx // it is ended by End, politely
	cmd.Env = append(os.Environ(), "GOGC=800")           // as the services
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting the plain proxy: %w", err)
	}
	if d.plain, err = d.bench.stack.Beside("plain proxy", cmd); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	d.base = "http://" + strings.TrimSpace(line)
	return err
}

func (d *door) call(ctx context.Context, method, path, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, d.bench.stack.BaseURL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+d.bench.stack.APIKey)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(raw))
	}
	return raw, err
}

func (d *door) ours(ctx context.Context, length time.Duration) (side, error) {
	return d.drive(ctx, d.bench.stack.BaseURL, "gateway", 0, length)
}

func (d *door) yardstick(ctx context.Context, length time.Duration) (side, error) {
	return d.drive(ctx, d.base, "plain proxy", allowance, length)
}

// drive counts the requests that a second of a process's time serves, each made dearer by extra.
func (d *door) drive(ctx context.Context, base, process string, extra float64, length time.Duration) (side, error) {
	header := "Authorization: Bearer " + d.bench.stack.APIKey + "\r\nAccept: application/json\r\n"
	before, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	got := drive.Run(ctx, base, doorClients, length, func(int) drive.Request {
		return drive.Request{Method: http.MethodGet, Path: d.path, Header: header}
	})
	after, err := d.bench.stack.CPU()
	if err != nil {
		return side{}, err
	}
	if got.Failed > 0 || got.Done == 0 {
		return side{}, fmt.Errorf("%d of %d reads failed: %s", got.Failed, got.Failed+got.Done, got.Failure)
	}
	used := after[process] - before[process]
	if used <= 0 {
		return side{}, fmt.Errorf("the time of %s is not known", process)
	}
	return side{
		PerSec: 1 / (used/float64(got.Done) + extra), P50: milliseconds(got.Quantile(0.5)), P99: milliseconds(got.Quantile(0.99)),
		CPU: costs(before, after, got.Done),
	}, ctx.Err()
}

func (d *door) close(context.Context) error {
	var err error
	if d.plain != nil {
		err = d.plain.End()
	}
	if d.upstream != nil {
		d.upstream.Close()
	}
	return err
}

// plainVerb makes this program the plain proxy: `bench plain-proxy http://upstream`.
const plainVerb = "plain-proxy"

// servePlain is the least that a reverse proxy does. It says where it listens and serves until ctx ends.
func servePlain(ctx context.Context, upstream string, out io.Writer) error {
	to, err := url.Parse(upstream)
	if err != nil {
		return fmt.Errorf("reading the upstream's URL: %w", err)
	}
	return serveUntil(ctx, &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
	}, out)
}
