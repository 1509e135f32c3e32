package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// started is a row of how often a process could start one time after the other: from its first instruction until it
// says that it is ready. The yardstick is the bare handler until it has answered from the database. A side has the
// memory, too.
func started(process string) func(context.Context, *bench) (measure, error) {
	return func(ctx context.Context, b *bench) (measure, error) {
		m := measure{
			ours:      func(ctx context.Context, _ time.Duration) (side, error) { return b.start(ctx, process) },
			yardstick: func(ctx context.Context, _ time.Duration) (side, error) { return b.startBare(ctx) },
			close:     func(ctx context.Context) error { return b.stack.Start(ctx, process) },
		}
		return m, b.stack.Stop(ctx, process)
	}
}

func (b *bench) start(ctx context.Context, process string) (side, error) {
	began := time.Now()
	own, err := b.stack.Replace(ctx, process, nil)
	if err != nil {
		return side{}, err
	}
	return b.ready(process, began), own.End()
}

// ready is the side of a process that began then and is ready now.
func (b *bench) ready(process string, began time.Time) side {
	took := time.Since(began)
	return side{PerSec: 1 / took.Seconds(), P50: milliseconds(took), RSS: map[string]float64{process: b.memory()[process]}}
}

func (b *bench) startBare(ctx context.Context) (s side, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.Command(self, bareVerb, b.stack.Databases["payments"]) //nolint:noctx // it is ended by End, politely
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, fmt.Errorf("starting the bare handler: %w", err)
	}
	began := time.Now()
	own, err := b.stack.Beside(bareName, cmd)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, own.End()) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return s, fmt.Errorf("starting the bare handler: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+strings.TrimSpace(line)+"/payments/nobody", http.NoBody)
	if err != nil {
		return s, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return s, fmt.Errorf("asking the bare handler: %w", err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusNotFound {
		return s, fmt.Errorf("the bare handler answered %s: %.200s", response.Status, text)
	}
	return b.ready(bareName, began), nil
}
