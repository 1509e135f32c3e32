package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/livenet"
	"causeway.internal/deploy/chaos/internal/load"
)

// strayPairs are what money of test mode goes astray in.
var strayPairs = []load.Pair{{Crypto: "USDT", Network: "tron"}}

// strayPatience is longer than any outage we make.
const (
	strayPatience = 5 * time.Minute
	strayEvery    = 200 * time.Millisecond
)

const (
	// The newest addresses of the stock are leased last.
	takeAddress = `DELETE FROM address_stock WHERE id = (SELECT id FROM address_stock
		WHERE mode = $1 AND family = $2 AND lease_owner IS NULL ORDER BY id DESC LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING address`

	// The sandbox pays to payments and wallets alone, so the simulated chain is asked as the sandbox asks it.
	simulateStray = `INSERT INTO outbox (name, message_id, headers, body)
		VALUES ('payments.simulate_deposit.v1', $1, '{}', convert_to(json_build_object('requestId', $1::text, 'address', $2::text,
			'network', $3::text, 'asset', $4::text, 'amount', $5::text, 'confirmations', 100)::text, 'UTF8'))`
)

// strays sends money of a mode to addresses that no payment has or gets.
func (f *field) strays(mode string) func(ctx context.Context, key string, pair load.Pair, amount string) (string, error) {
	return func(ctx context.Context, key string, pair load.Pair, amount string) (address string, err error) {
		family := pair.Network
		if mode == "live" {
			i := slices.IndexFunc(f.networks.Chains, func(c livenet.Chain) bool { return c.Network == pair.Network })
			family = f.networks.Chains[i].Family
		}
		err = f.inPayments(ctx, func(ctx context.Context, db *pgx.Conn) error {
			return db.QueryRow(ctx, takeAddress, mode, family).Scan(&address)
		})
		if err != nil {
			return "", fmt.Errorf("taking an address: %w", err)
		}
		if mode == "live" {
			return address, f.transfer(ctx, pair, address, amount)
		}
		units, err := livenet.Asset{Symbol: pair.Crypto, Digits: simulatedDigits}.Units(amount)
		if err != nil {
			return "", err
		}
		return address, f.inPayments(ctx, func(ctx context.Context, db *pgx.Conn) error {
			_, err := db.Exec(ctx, simulateStray, "stray-"+key, address, pair.Network, pair.Crypto, units.String())
			return err
		})
	}
}

// simulatedDigits are those of the tokens in strayPairs.
const simulatedDigits = 6

// inPayments does something in payments' database, as soon as it is there. It may be done more than once.
func (f *field) inPayments(ctx context.Context, do func(ctx context.Context, db *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, strayPatience)
	defer cancel()
	once := func() error {
		db, err := pgx.Connect(ctx, f.stack.Superuser["payments"])
		if err != nil {
			return err
		}
		defer db.Close(context.WithoutCancel(ctx)) //nolint:errcheck // what was done is committed
		return do(ctx, db)
	}
	for {
		err := once()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(strayEvery):
		}
	}
}

// twoOperators are the tokens of two people, who send stray money back.
func (f *field) twoOperators(ctx context.Context, mode string) ([]string, error) {
	var made struct {
		Operator struct {
			Token string `json:"token"`
		} `json:"operator"`
	}
	body := map[string]any{"name": "chaos." + mode, "days": 1}
	err := f.ask(ctx, http.MethodPost, "/v1/admin/operators", f.stack.AdminToken, body, &made)
	return []string{f.stack.AdminToken, made.Operator.Token}, err
}
