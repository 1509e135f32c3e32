package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/deploy/bench/internal/drive"
	"causeway.internal/deploy/bench/internal/stack"
)

// read measures GET of one payment, or of a page, through the gateway, against a bare handler over the same database in
// a process of its own: net/http, pgx and one indexed SELECT, which asks nobody who is calling.
type read struct {
	bench    *bench
	page     bool
	refs     []string
	merchant string
	bare     *stack.Own
	base     string
}

const (
	readClients  = 16
	readPayments = 2000 // made for the row, of which each read takes another
	pageLength   = 50
)

func reads(page bool) func(context.Context, *bench) (measure, error) {
	return func(ctx context.Context, b *bench) (measure, error) {
		r := &read{bench: b, page: page}
		m := measure{
			ours: func(ctx context.Context, length time.Duration) (side, error) {
				return r.drive(ctx, b.stack.BaseURL, "/v1/payments", length)
			},
			yardstick: func(ctx context.Context, length time.Duration) (side, error) {
				return r.drive(ctx, r.base, "/payments/"+r.merchant, length)
			},
			close: func(context.Context) error { return r.close() },
		}
		if err := r.prepare(ctx); err != nil {
			return m, errors.Join(err, r.close())
		}
		return m, nil
	}
}

// prepare makes payments that tell nobody, and starts the bare handler.
func (r *read) prepare(ctx context.Context) error {
	var mu sync.Mutex
	header := "Authorization: Bearer " + r.bench.stack.APIKey + "\r\nContent-Type: application/json\r\n"
	got := drive.Run(ctx, r.bench.stack.BaseURL, readClients, time.Minute, func(n int) drive.Request {
		if n >= readPayments {
			return drive.Request{}
		}
		return drive.Request{Method: http.MethodPost, Path: "/v1/payments", Header: header, Body: transfer(""), Took: func(body []byte) {
			mu.Lock()
			defer mu.Unlock()
			r.refs = append(r.refs, reference(body))
		}}
	})
	if got.Failed > 0 || len(r.refs) == 0 {
		return fmt.Errorf("%d of %d creates failed: %s", got.Failed, got.Failed+got.Done, got.Failure)
	}
	if err := r.bench.within(ctx, r.bench.stack.Databases["payments"], func(ctx context.Context, conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, `SELECT merchant_id FROM payments WHERE reference = $1`, r.refs[0]).Scan(&r.merchant); err != nil {
			return fmt.Errorf("finding the merchant: %w", err)
		}
		return execute(ctx, conn, `VACUUM ANALYZE payments`)
	}); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.Command(self, bareVerb, r.bench.stack.Databases["payments"]) //nolint:noctx // it is ended by End, politely
	cmd.Env = append(os.Environ(), "GOGC=800")                               // as the services
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting the bare handler: %w", err)
	}
	if r.bare, err = r.bench.stack.Beside(bareName, cmd); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	r.base = "http://" + strings.TrimSpace(line)
	return err
}

func (r *read) drive(ctx context.Context, base, list string, length time.Duration) (side, error) {
	header := "Authorization: Bearer " + r.bench.stack.APIKey + "\r\nAccept: application/json\r\n"
	return r.bench.get(ctx, base, readClients, length, func(n int) drive.Request {
		path := fmt.Sprintf("%s?limit=%d", list, pageLength)
		if !r.page {
			path = "/v1/payments/" + r.refs[n%len(r.refs)]
		}
		return drive.Request{Method: http.MethodGet, Path: path, Header: header}
	})
}

func (r *read) close() error {
	if r.bare == nil {
		return nil
	}
	return r.bare.End()
}

// get measures requests of which none may fail.
func (b *bench) get(ctx context.Context, base string, clients int, length time.Duration, next func(n int) drive.Request) (side, error) {
	before, err := b.stack.CPU()
	if err != nil {
		return side{}, err
	}
	got := drive.Run(ctx, base, clients, length, next)
	after, err := b.stack.CPU()
	if err != nil {
		return side{}, err
	}
	if got.Failed > 0 {
		return side{}, fmt.Errorf("%d of %d requests failed: %s", got.Failed, got.Failed+got.Done, got.Failure)
	}
	return side{
		PerSec: float64(got.Done) / got.Seconds, P50: milliseconds(got.Quantile(0.5)), P99: milliseconds(got.Quantile(0.99)),
		CPU: costs(before, after, got.Done), RSS: b.memory(),
	}, ctx.Err()
}

// bareVerb makes this program the bare handler: `bench bare-handler postgres://…`.
const (
	bareVerb = "bare-handler"
	bareName = "bare handler"
)

// bareColumns are what a GET shows that one row holds.
const bareColumns = `SELECT reference, type, status, address, crypto_amount::text, crypto, network_name, fiat_amount::text, fiat_currency,
	transaction_usd::text, rate::text, charge_fiat::text, charge_crypto::text, charge_usd::text, expires_at, received::text, confirmed_at, settled_at,
	payout_amount::text, created_at, metadata FROM payments `

// barePayment is a payment as a program shows it that knows no more of it than its row.
type barePayment struct {
	Reference      string          `json:"reference"`
	Type           string          `json:"type"`
	Status         string          `json:"status"`
	DepositAddress *string         `json:"depositAddress"`
	CryptoAmount   json.Number     `json:"cryptoAmount"`
	Crypto         string          `json:"crypto"`
	Network        string          `json:"network"`
	FiatAmount     json.Number     `json:"fiatAmount"`
	FiatCurrency   string          `json:"fiatCurrency"`
	TransactionUSD json.Number     `json:"transactionUsd"`
	Rate           json.Number     `json:"rate"`
	ChargeFiat     json.Number     `json:"chargeFiat"`
	ChargeCrypto   json.Number     `json:"chargeCrypto"`
	ChargeUSD      json.Number     `json:"chargeUsd"`
	ExpiresAt      time.Time       `json:"expiresAt"`
	ReceivedAmount json.Number     `json:"receivedAmount"`
	ConfirmedAt    *time.Time      `json:"confirmedAt"`
	SettledAt      *time.Time      `json:"settledAt"`
	PayoutAmount   json.Number     `json:"payoutAmount"`
	CreatedAt      time.Time       `json:"createdAt"`
	Metadata       json.RawMessage `json:"metadata"`
}

// serveBare says where it listens and serves until ctx ends.
func serveBare(ctx context.Context, database string, out io.Writer) error {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	defer pool.Close()
	answer := func(w http.ResponseWriter, r *http.Request, sql string, args ...any) {
		rows, err := pool.Query(r.Context(), bareColumns+sql, args...)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[barePayment])
		if err != nil || len(found) == 0 {
			http.Error(w, fmt.Sprintf("%d found: %v", len(found), err), http.StatusNotFound)
			return
		}
		body, err := json.Marshal(found)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/payments/{reference}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, `WHERE reference = $1`, r.PathValue("reference"))
	})
	mux.HandleFunc("GET /payments/{merchant}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, `WHERE status = 'pending' AND type = 'transfer' AND mode = 'test' AND merchant_id = $1 ORDER BY id COLLATE "C" DESC LIMIT 50`, r.PathValue("merchant"))
	})
	return serveUntil(ctx, mux, out)
}

// serveUntil listens on a free port, says where, and serves until ctx ends.
func serveUntil(ctx context.Context, handler http.Handler, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: handler}
	fmt.Fprintln(out, listener.Addr())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
