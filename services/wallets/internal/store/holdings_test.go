//go:build integration

package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"testing"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/holdings"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweep"
)

// A reading waits for a transaction that nodes have until a round has looked for it in the blocks of the reading, and
// then for the booking of one that they hold. A refund that is blocked after its last block holds no reading up.
func TestSendHoldings_waits(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	if err := base.Begin(ctx, liveLease, scanner.Cursor{Header: header(0, "h0", "")}); err != nil {
		t.Fatal(err)
	}
	final(t, base, pool)
	if err := base.TakeRefund(ctx, approved("rfd_1", tenant.Live)); err != nil {
		t.Fatal(err)
	}
	idle, err := s.Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 1 {
		t.Fatalf("list the refunds that wait: got %+v, %v, want one", idle, err)
	}
	if err := s.Plan(ctx, plannedRefund("out_1", idle[0], 0)); err != nil {
		t.Fatal(err)
	}
	underway := func() sweep.Outgoing {
		t.Helper()
		list, err := s.Underway(ctx, "ethereum", 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("list what is under way: got %+v, %v, want one", list, err)
		}
		return list[0]
	}
	if err := s.Signed(ctx, underway(), []byte("raw"), "0xhash"); err != nil {
		t.Fatal(err)
	}
	if err := s.Sent(ctx, underway(), true); err != nil {
		t.Fatal(err)
	}
	tell := func(what string, height int64, wantWaits string, wantSent int) {
		t.Helper()
		now, err := s.Time(ctx)
		if err != nil {
			t.Fatal(err)
		}
		account := holdings.Account{Place: holdings.RefundStation, Address: "0xstation", Asset: "USDT", Contract: "0xusdt"}
		waits, err := s.SendHoldings(ctx, holdings.Reading{
			Network: "ethereum", At: now, Through: height, Assets: []string{"USDT"}, Balances: []holdings.Balance{{Account: account, Amount: big.NewInt(0), Height: height}},
		})
		sent := len(drain[wire.HoldingsRead](t, pool, wire.HoldingsReadV1))
		if err != nil || waits != wantWaits || sent != wantSent {
			t.Errorf("%s: got %d messages and a wait for %q, %v, want %d and %q", what, sent, waits, err, wantSent, wantWaits)
		}
	}
	tell("read block 2 before a round", 2, "out_1", 0)
	if err := base.Sweeps().Looked(ctx, "ethereum", 2); err != nil {
		t.Fatal(err)
	}
	tell("read block 2 after a round of sweeps alone", 2, "out_1", 0)
	if err := s.Looked(ctx, "ethereum", 1); err != nil {
		t.Fatal(err)
	}
	tell("read block 2 after a round at block 1", 2, "out_1", 0)
	tell("read block 1 after a round at block 1", 1, "", 1)
	if err := s.Looked(ctx, "ethereum", 2); err != nil {
		t.Fatal(err)
	}
	tell("read block 2 after a round at block 2", 2, "", 1)
	if err := s.Mined(ctx, underway(), sweep.Receipt{TxHash: "0xhash", Height: 2, Block: "h2", OK: true, Fee: big.NewInt(7)}); err != nil {
		t.Fatal(err)
	}
	tell("read block 2 while its transaction is not booked", 2, "out_1", 0)
	tell("read block 1 while a transaction of block 2 is not booked", 1, "", 1)
	if err := s.Block(ctx, underway().Sweep, "its log shows no such transfer"); err != nil {
		t.Fatal(err)
	}
	tell("read block 2 while its refund is blocked", 2, "", 1)
}

// After a restore the refunds of tron are held. One whose form a block has by then is booked soon, so a reading of that
// block waits. The hold stays until the block is final: one node alone may have shown the block.
func TestSendHoldings_held(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]bool{"signed": false, "sent": true} {
		base, pool := open(t)
		s, ctx := base.Refunds(), t.Context()
		follows(t, base, pool)
		if err := base.TakeRefund(ctx, approved("rfd_1", tenant.Live)); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(ctx, `UPDATE refunds SET family = 'tron'`); err != nil {
			t.Fatal(err)
		}
		idle, err := s.Idle(ctx, "ethereum", 10)
		if err != nil || len(idle) != 1 {
			t.Fatalf("list the refunds that wait: got %+v, %v, want one", idle, err)
		}
		underway := func() sweep.Outgoing {
			t.Helper()
			list, err := s.Underway(ctx, "ethereum", 10)
			if err != nil || len(list) != 1 {
				t.Fatalf("list what is under way: got %+v, %v, want one", list, err)
			}
			return list[0]
		}
		if err := s.Plan(ctx, plannedRefund("out_1", idle[0], 0)); err != nil {
			t.Fatal(err)
		}
		if may, err := s.Ask(ctx, underway()); err != nil || !may {
			t.Fatalf("ask for the signature: got %t, %v, want true", may, err)
		}
		if err := s.Signed(ctx, underway(), []byte("raw"), "0x1"); err != nil {
			t.Fatal(err)
		}
		if sent {
			if err := s.Sent(ctx, underway(), true); err != nil {
				t.Fatal(err)
			}
		}
		if err := base.Recover(ctx, 10); err != nil {
			t.Fatal(err)
		}
		if err := s.Mined(ctx, underway(), sweep.Receipt{TxHash: "0x1", Height: 2, Block: "h2", OK: true, Fee: big.NewInt(7)}); err != nil {
			t.Fatal(err)
		}
		if !underway().Sweep.Blocked {
			t.Errorf("see a refund in a block that was %s before the restore: got it open, want it held", name)
		}
		now, err := s.Time(ctx)
		if err != nil {
			t.Fatal(err)
		}
		read := holdings.Reading{Network: "ethereum", At: now, Through: 2, Balances: []holdings.Balance{{
			Account: holdings.Account{Place: holdings.RefundStation, Address: "0xstation", Asset: "USDT", Contract: "0xusdt"}, Amount: new(big.Int), Height: 2,
		}}}
		if waits, err := s.SendHoldings(ctx, read); err != nil || waits != "out_1" {
			t.Errorf("read the block of a held refund that was %s: got a wait for %q, %v, want one for out_1", name, waits, err)
		}
		if err := s.Block(ctx, underway().Sweep, "its log shows no such transfer"); err != nil {
			t.Fatal(err)
		}
		if waits, err := s.SendHoldings(ctx, read); err != nil || waits != "" {
			t.Errorf("read the block of a refund that an operator decides: got a wait for %q, %v, want none", waits, err)
		}
	}
}

// Deposits that the books have beyond the chain, as after a theft from addresses that were swept, are sent as they are.
func TestSendHoldings_negative(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	if _, err := pool.Exec(ctx, `INSERT INTO holdings (network, address, asset, balance, expected, height, read_at)
VALUES ('ethereum', '0xpayer', 'USDT', 0, 5, 1, now())`); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `INSERT INTO sweeps (id, mode, network, family, account, idx, asset, contract, address, wallet_id, treasury, amount, state)
VALUES ('swp_1', 'live', 'ethereum', $1, 0, 0, 'USDT', '0xusdt', '0xpayer', 'wal_1', '0xtreasury', 5, 'open')`, money.EVM); err != nil {
		t.Fatal(err)
	}
	now, err := s.Time(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if waits, err := s.SendHoldings(ctx, holdings.Reading{Network: "ethereum", At: now, Assets: []string{"USDT"}}); err != nil || waits != "" {
		t.Fatalf("send a reading: got a wait for %q, %v, want none", waits, err)
	}
	told := drain[wire.HoldingsRead](t, pool, wire.HoldingsReadV1)
	if len(told) != 1 || len(told[0].Holdings) != 1 || told[0].Holdings[0].Deposits != "-5" || told[0].Holdings[0].Unread != 0 {
		t.Errorf("read the message: got %+v, want -5 on deposit addresses and nothing unread", told)
	}
}

// branch is a chain whose blocks have hashes that begin with it.
type branch string

// Balances implements holdings.Chain.
func (b branch) Balances(_ context.Context, of []holdings.Account, height int64) (out []holdings.Balance, err error) {
	for _, a := range of {
		out = append(out, holdings.Balance{Account: a, Amount: big.NewInt(5), Height: height, Block: fmt.Sprint(string(b), height)})
	}
	return out, nil
}

// A reading of a block that the scan has another one for is dropped: the books follow the chain, and would differ.
func TestReader_otherBlock(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	if err := base.Begin(ctx, liveLease, scanner.Cursor{Header: header(0, "h0", "")}); err != nil {
		t.Fatal(err)
	}
	final(t, base, pool)
	listed, _ := money.NetworkOf("ethereum")
	for name, want := range map[branch]int{"h": 1, "other": 0} {
		r := holdings.NewReader(holdings.Network{
			Listed: listed, Chain: name, Addresses: func(context.Context) (map[holdings.Place]string, map[holdings.Place]bool) {
				return map[holdings.Place]string{holdings.Treasury: "0xtreasury"}, map[holdings.Place]bool{}
			},
		}, time.Minute, s, slog.New(slog.DiscardHandler))
		if err := r.Step(ctx); err != nil {
			t.Errorf("read block %s2: got %v, want no error", name, err)
		}
		if sent := len(drain[wire.HoldingsRead](t, pool, wire.HoldingsReadV1)); sent != want {
			t.Errorf("read block %s2, where h2 was scanned: got %d messages, want %d", name, sent, want)
		}
	}
}
