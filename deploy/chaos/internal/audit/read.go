package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/load"
)

// Amounts are compared as the text of their canonical decimal, which the database makes (trim_scale).
type paymentRow struct {
	ID, Reference, Status, Exception, Address, Currency string
	CryptoAmount, Received, PayoutAmount, FiatAmount    string
	Sequence                                            int64
}

type payoutRow struct{ PaymentID, State, Amount string }

// refundRow is a refund as payments has it; Sent is its state in wallets.
type refundRow struct{ ID, PaymentID, State, Amount, Address, Sent string }

type railRow struct{ Reference, Outcome, Amount, Currency, Account string }

type accountRow struct{ PaymentID, Kind, Balance string }

type depositRow struct {
	Owner    string // the payment's id in payments, the address in wallets and of money in suspense
	TxHash   string
	Reverted bool
	Amount   string // in payments only, as the next one
	Booked   string
}

const selectPayments = `SELECT id, reference, status, exception, coalesce(address, ''), fiat_currency,
	trim_scale(crypto_amount)::text, trim_scale(received)::text, trim_scale(payout_amount)::text,
	trim_scale(fiat_amount)::text, sequence
FROM payments WHERE merchant_id = ANY($1)`

func readPayments(ctx context.Context, db *pgx.Conn, merchants []string) ([]paymentRow, error) {
	return list[paymentRow](ctx, db, "payments", selectPayments, merchants)
}

// attach reads the rows around the payments and puts each into its dossier.
func attach(ctx context.Context, payments, wallets *pgx.Conn, byID, byReference, byAddress map[string]*dossier) error {
	payouts, err := list[payoutRow](ctx, payments, "payouts", `SELECT payment_id, state, trim_scale(amount)::text FROM payouts ORDER BY reference`)
	if err != nil {
		return err
	}
	for _, row := range payouts {
		if f := byID[row.PaymentID]; f != nil {
			f.payouts = append(f.payouts, row)
		}
	}
	if err := attachRefunds(ctx, payments, wallets, byID); err != nil {
		return err
	}
	// The rail knows a payout by its reference only: the payment's in lower case, and the attempt.
	rail, err := list[railRow](ctx, payments, "the rail", `SELECT ref, outcome, trim_scale(amount)::text, currency, account_number
		FROM sim_transfers ORDER BY ref`)
	if err != nil {
		return err
	}
	for _, row := range rail {
		reference := strings.ToUpper(row.Reference)
		if cut := strings.LastIndexByte(reference, '-'); cut > 0 {
			if f := byReference[reference[:cut]]; f != nil {
				f.rail = append(f.rail, row)
			}
		}
	}
	booked, err := list[depositRow](ctx, payments, "booked deposits", `SELECT coalesce(payment_id, address), tx_hash, reverted,
			trim_scale(booked_amount)::text, booked FROM deposits
		WHERE payment_id IS NOT NULL OR booked = 'suspense'`)
	if err != nil {
		return err
	}
	for _, row := range booked {
		f := byID[row.Owner]
		if f == nil {
			f = byAddress[row.Owner]
		}
		if f != nil {
			f.deposits = append(f.deposits, row)
		}
	}
	accounts, err := list[accountRow](ctx, payments, "the ledger's accounts", `SELECT payment_id,
			split_part(regexp_replace(code, '^test:', ''), ':', 1), trim_scale(balance)::text
		FROM ledger_accounts WHERE payment_id IS NOT NULL AND balance IS NOT NULL`)
	if err != nil {
		return err
	}
	for _, row := range accounts {
		if f := byID[row.PaymentID]; f != nil {
			f.accountsLeft = append(f.accountsLeft, row)
		}
	}
	seen, err := list[depositRow](ctx, wallets, "seen deposits", `SELECT address, tx_hash, state = 'reverted', '', '' FROM deposits`)
	if err != nil {
		return err
	}
	for _, row := range seen {
		if f := byAddress[row.Owner]; f != nil {
			f.seen = append(f.seen, row)
		}
	}
	return nil
}

// attachRefunds puts refunds into their dossiers.
func attachRefunds(ctx context.Context, payments, wallets *pgx.Conn, byID map[string]*dossier) error {
	refunds, err := list[refundRow](ctx, payments, "refunds", `SELECT id, payment_id, state, trim_scale(amount)::text, address, '' FROM refunds`)
	if err != nil {
		return err
	}
	states, err := list[struct{ ID, State string }](ctx, wallets, "refunds that wallets carries out", `SELECT id, state FROM refunds`)
	if err != nil {
		return err
	}
	sent := map[string]string{}
	for _, row := range states {
		sent[row.ID] = row.State
	}
	for _, row := range refunds {
		if f := byID[row.PaymentID]; f != nil {
			row.Sent = sent[row.ID]
			f.refunds = append(f.refunds, row)
		}
	}
	return nil
}

func list[T any](ctx context.Context, db *pgx.Conn, what, query string, args ...any) ([]T, error) {
	rows, err := db.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	return all, nil
}

// queuesNotEmpty looks at the dead queues and at unrouted: after a run of infrastructure faults alone they are empty.
func queuesNotEmpty(ctx context.Context, e Evidence) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(e.AMQPAPI, "/")+"/api/queues", nil)
	if err != nil {
		return nil, fmt.Errorf("looking at the queues: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("looking at the queues: %w", err)
	}
	defer response.Body.Close()
	var queues []struct {
		Name     string `json:"name"`
		Vhost    string `json:"vhost"`
		Messages int    `json:"messages"`
	}
	if err := json.NewDecoder(response.Body).Decode(&queues); err != nil {
		return nil, fmt.Errorf("looking at the queues: %s: %w", response.Status, err)
	}
	var faults []string
	for _, q := range queues {
		if q.Vhost == e.Vhost && q.Messages > 0 && (q.Name == "unrouted" || strings.HasSuffix(q.Name, ".dead")) {
			faults = append(faults, fmt.Sprintf("broker: %d messages in %s: %s", q.Messages, q.Name, whatLies(ctx, e, q.Name)))
		}
	}
	return faults, nil
}

// whatLies says of the first messages of a queue what they are and why they lie there, and puts them back.
func whatLies(ctx context.Context, e Evidence, queue string) string {
	const ask = `{"count":3,"ackmode":"ack_requeue_true","encoding":"auto","truncate":0}`
	address := strings.TrimRight(e.AMQPAPI, "/") + "/api/queues/" + url.PathEscape(e.Vhost) + "/" + url.PathEscape(queue) + "/get"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(ask))
	if err != nil {
		return "they cannot be read"
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "they cannot be read" // the error would show the address
	}
	defer response.Body.Close()
	var messages []struct {
		RoutingKey string `json:"routing_key"`
		Properties struct {
			MessageID string         `json:"message_id"`
			Type      string         `json:"type"`
			Headers   map[string]any `json:"headers"`
		} `json:"properties"`
	}
	if err := json.NewDecoder(response.Body).Decode(&messages); err != nil {
		return response.Status
	}
	var told []string
	for _, m := range messages {
		headers, err := json.Marshal(m.Properties.Headers)
		if err != nil {
			headers = []byte("no headers")
		}
		told = append(told, fmt.Sprintf("%s %s by %s %s", m.Properties.Type, m.Properties.MessageID, m.RoutingKey, headers))
	}
	return strings.Join(told, "; ")
}

// unfinished says what the run still waits for, "" when nothing.
func unfinished(ctx context.Context, e Evidence, received []load.Delivery) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	db, err := pgx.Connect(ctx, e.Databases["payments"])
	if err != nil {
		return "payments' database", err
	}
	defer db.Close(ctx)
	rows, err := readPayments(ctx, db, e.Merchants)
	if err != nil {
		return "payments' database", err
	}
	accepted := map[string]map[int64]bool{}
	for _, d := range received {
		if d.Accepted {
			if accepted[d.Reference] == nil {
				accepted[d.Reference] = map[int64]bool{}
			}
			accepted[d.Reference][d.Sequence] = true
		}
	}
	untold, err := lostEvents(ctx, e, db)
	if err != nil {
		return "payments' database", err
	}
	wanted := map[string]outcome{}
	for _, p := range e.Asked {
		wanted[p.Reference] = outcomes[p.Shape]
	}
	open, events := 0, 0
	for _, row := range rows {
		if want := wanted[row.Reference]; row.Status != want.status || row.Exception != want.exception {
			open++
		}
		for n := int64(1); n <= row.Sequence; n++ {
			if !accepted[row.Reference][n] && !untold[row.ID][n] {
				events++
			}
		}
	}
	var shallow int
	err = db.QueryRow(ctx, `SELECT count(*) FROM deposits d JOIN payments p ON p.id = d.payment_id
		WHERE p.merchant_id = ANY($1) AND d.booked = '' AND NOT d.reverted`, e.Merchants).Scan(&shallow)
	if err != nil {
		return "payments' database", fmt.Errorf("looking for deposits not booked: %w", err)
	}
	if open == 0 && events == 0 && shallow == 0 {
		if unsent, err := unsent(ctx, e); unsent != "" || err != nil {
			return unsent, err
		}
		if out, err := moving(ctx, db, e.Merchants, e.Outgoing); out != "" || err != nil || e.Live == nil {
			return out, err
		}
		return unswept(ctx, e)
	}
	return fmt.Sprintf("%d payments not ended, %d callbacks not received, %d deposits not booked", open, events, shallow), nil
}

// unsent says which outboxes still hold messages. An event whose acknowledgement was lost in a crash is sent again
// after a minute, though its merchant has it.
func unsent(ctx context.Context, e Evidence) (string, error) {
	for _, l := range laws {
		if l.what != leftInOutbox {
			continue
		}
		db, err := pgx.Connect(ctx, e.Databases[l.service])
		if err != nil {
			return l.service + "' database", err
		}
		found, err := l.broken(ctx, db)
		_ = db.Close(ctx) // it was read only
		if len(found) > 0 || err != nil {
			return fmt.Sprintf("%d lines about the outbox of %s", len(found), l.service), err
		}
	}
	return "", nil
}
