package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/bench/internal/drive"
)

// reportMost is what a report may cost all processes, in seconds of processor time.
const reportMost = 0.0012

// reportCreate measures the filing of reports, until callback-dispatcher has the event of each.
func reportCreate(ctx context.Context, b *bench) (measure, error) {
	if err := b.keepUp(ctx); err != nil { // ten million reports were written for the rows before this one
		return measure{}, err
	}
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	sent := 0
	ours := func(ctx context.Context, length time.Duration) (side, error) {
		sent++
		header := "Authorization: Bearer " + b.stack.APIKey + "\r\nContent-Type: application/json\r\nIdempotency-Key: " + run + "-" + strconv.Itoa(sent) + "-"
		before, err := b.stack.CPU()
		if err != nil {
			return side{}, err
		}
		got := drive.Run(ctx, b.stack.BaseURL, 16, length, func(n int) drive.Request {
			return drive.Request{
				Method: http.MethodPost, Path: "/v1/reports", Header: header + strconv.Itoa(n) + "\r\n",
				Body: `{"complaintType":"fraud","name":"Ada Obi","phoneNumber":"` + strconv.Itoa(2_347_000_000_000+sent*1_000_000+n) + `"}`,
			}
		})
		if err := b.relayed(ctx, "reports"); err != nil {
			return side{}, err
		}
		after, err := b.stack.CPU()
		if err != nil {
			return side{}, err
		}
		if got.Failed > 0 {
			return side{}, fmt.Errorf("%d of %d reports failed: %s", got.Failed, got.Failed+got.Done, got.Failure)
		}
		s := side{P50: milliseconds(got.Quantile(0.5)), P99: milliseconds(got.Quantile(0.99)), CPU: costs(before, after, got.Done)}
		spent := 0.0
		for process, ms := range s.CPU {
			if process != "client" {
				spent += ms / 1000
			}
		}
		s.PerSec = 1 / spent
		return s, ctx.Err()
	}
	bar := func(context.Context, time.Duration) (side, error) { return side{PerSec: 1 / reportMost}, nil }
	return measure{ours: ours, yardstick: bar, close: func(context.Context) error { return nil }}, nil
}

// relayed waits until no message of a service is on its way.
func (b *bench) relayed(ctx context.Context, service string) error {
	conn, err := pgx.Connect(ctx, b.stack.Databases[service])
	if err != nil {
		return fmt.Errorf("opening the database of %s: %w", service, err)
	}
	defer conn.Close(ctx)
	for some := true; some; {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM outbox)`).Scan(&some); err != nil {
			return fmt.Errorf("looking for messages of %s: %w", service, err)
		}
	}
	return nil
}
