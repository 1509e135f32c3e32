//go:build integration

package main

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
)

// charged is the fee of every withdrawal of these tests, in base units.
const charged = 5_000_000

// withdrawals allow withdrawals of USDT in the policy.
func withdrawals(policy string, _ map[string]string) string {
	return strings.Replace(policy, `,"refundPerHour":"1000000000000"`,
		`,"withdrawPerHour":"1000000000000","automaticWithdrawPerHour":"1000000000000","refundPerHour":"1000000000000"`, 1)
}

// credit books a deposit on a wallet of acme.
func (d *approver) credit(t *testing.T, network, asset string, amount int64) {
	t.Helper()
	if _, err := d.pool.Exec(t.Context(), `WITH j AS (INSERT INTO custody_journals (key, event, mode, merchant_id, wallet_id, deposit)
VALUES ($1, 'deposit_confirmed', 'live', 'acme', 'wal_1', $1) RETURNING key)
INSERT INTO custody_entries (journal, line, mode, merchant_id, account, network, asset, debit, credit)
SELECT key, line, 'live', 'acme', account, $2, $3, debit, credit
FROM j, (VALUES (1, 'custody', $4::numeric, 0::numeric), (2, 'merchant', 0, $4)) AS l (line, account, debit, credit)`,
		"dep of "+asset, network, asset, amount); err != nil {
		t.Fatalf("book a deposit: got %v, want no error", err)
	}
}

// withdrawal makes an order of acme.
func (d *approver) withdrawal(amount string) order.Order {
	return withdrawn(d.order("USDT", amount))
}

// withdrawn makes a withdrawal of a refund.
func withdrawn(o order.Order) order.Order {
	o.Kind, o.ID = order.Withdrawal, strings.Replace(o.ID, "rfd_", "wwd_", 1)
	return o
}

// withdraw sends an order of acme, approved by payments.
func (d *approver) withdraw(t *testing.T, o order.Order) {
	t.Helper()
	d.send(t, wire.RefundApproved{Approved: o.Approve(automaticKey, time.Now()), MerchantID: "acme", Charge: fmt.Sprint(charged)})
}

// account is the sum of an account of acme in an asset, as credit less debit.
func (d *approver) account(t *testing.T, asset, name string) string {
	t.Helper()
	var sum string
	if err := d.pool.QueryRow(t.Context(), `SELECT coalesce(sum(credit - debit), 0)::text FROM custody_entries
WHERE mode = 'live' AND merchant_id = 'acme' AND asset = $1 AND account = $2`, asset, name).Scan(&sum); err != nil {
		t.Fatalf("read the account %s: got %v, want no error", name, err)
	}
	return sum
}

// TestWithdraw_kill9 kills wallets, or the signer, at steps of a withdrawal, and starts it again. The merchant's
// address gets the money once, and the balance pays amount and charge once. A withdrawal above the balance takes
// nothing.
func TestWithdraw_kill9(t *testing.T) {
	t.Parallel()
	d := newApprover(t, ether, withdrawals)
	d.Do("/block-time", map[string]string{"every": blockTime})
	d.installSteps(t)
	d.installTaking(t)
	const has = 500_000_000
	d.credit(t, "ethereum", "USDT", has)
	left, earned := big.NewInt(has), new(big.Int)
	d.points(withdrawalKills, func(name string, at func(t *testing.T) stop, side string) {
		t.Run(name, func(t *testing.T) {
			o := d.withdrawal(fmt.Sprint(10_000_001 + d.orders))
			place := at(t)
			d.withdraw(t, o)
			d.killAt(t, place, side)
			d.withdraw(t, o) // the broker may deliver it again
			d.paid(t, o)
			amount, _ := intent.Units(o.Amount)
			left.Sub(left, amount).Sub(left, big.NewInt(charged))
			earned.Add(earned, big.NewInt(charged))
			for account, want := range map[string]string{"merchant": left.String(), "withdrawals": "0", "withdrawal_fees": earned.String()} {
				if got := d.account(t, "USDT", account); got != want {
					t.Errorf("read the account %s after %s: got %s, want %s", account, o.ID, got, want)
				}
			}
		})
	})
	much := d.withdrawal(left.String())
	d.withdraw(t, much)
	d.await(t, "a withdrawal above the balance fails", func() bool { return d.state(much) == string(wire.RefundFailed) })
	if _, last := d.progress(much); last.Reason != wire.RefundBalance {
		t.Errorf("read why a withdrawal above the balance failed: got %q, want insufficient_balance", last.Reason)
	}
	if got := d.account(t, "USDT", "merchant"); got != left.String() {
		t.Errorf("read the balance after a withdrawal that failed: got %s, want %s", got, left)
	}
}

// refusesWithdrawals: without the member of its policy the signer carries out no withdrawal, however it was approved:
// it fails, and the money is in the balance again. An order whose kind wallets has changed is no order of payments.
func (d *approver) refusesWithdrawals(t *testing.T) {
	t.Helper()
	d.credit(t, "ethereum", "USDT", 500_000_000)
	o := d.withdrawal("10000000")
	d.withdraw(t, o)
	d.await(t, "the withdrawal fails", func() bool { return d.state(o) == string(wire.RefundFailed) })
	if _, last := d.progress(o); last.Reason != wire.RefundAssetRefused {
		t.Errorf("read why the withdrawal failed: got %q, want asset_refused", last.Reason)
	}
	changed := d.withdrawal("10000000").Approve(automaticKey, time.Now())
	changed.Kind = order.Refund
	d.send(t, wire.RefundApproved{Approved: changed})
	d.await(t, "the order of another kind fails", func() bool { return d.state(changed.Order) == string(wire.RefundFailed) })
	if _, last := d.progress(changed.Order); last.Reason != wire.RefundOrderRefused {
		t.Errorf("read why the changed order failed: got %q, want order_refused", last.Reason)
	}
	if got := d.account(t, "USDT", "merchant"); got != "500000000" {
		t.Errorf("read the balance after both: got %s, want 500000000", got)
	}
	if got := d.moved(t, d.station, o.To); len(got) != 0 {
		t.Errorf("read the transfers to the merchant: got %v, want none", got)
	}
}
