//go:build integration && long

package main

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
)

// drawing is a chain on which acme withdraws an asset from its wallets.
type drawing struct {
	*approver
	network, asset string
	has            int64 // balance at the start, enough for every withdrawal of the test
	next           func(amount string) order.Order
	arrived        func(t *testing.T, o order.Order) // the merchant has the amount once
}

// newDrawing starts the processes of a chain. allowed gives the policy the members that withdrawals need.
func newDrawing(t *testing.T, network, asset string, allowed bool) *drawing {
	t.Helper()
	change := func(policy string, _ map[string]string) string {
		if !allowed {
			return policy
		}
		return strings.ReplaceAll(policy, `"refundPerHour":"`,
			`"withdrawPerHour":"1000000000000","automaticWithdrawPerHour":"1000000000000","refundPerHour":"`)
	}
	d := &drawing{network: network, asset: asset, has: 900_000_000}
	switch network {
	case "tron":
		c := newTronApprover(t, trx, change)
		d.approver, d.arrived = c.approver, c.paid
		d.next = func(amount string) order.Order { return withdrawn(c.order(asset, amount)) }
	case "solana":
		c := newSolApprover(t, solFunds, change)
		c.flow()
		d.approver, d.arrived = c.payments, c.paid
		d.next = func(amount string) order.Order { return withdrawn(c.order(asset, amount)) }
	case "bitcoin":
		c := newBTCApprover(t, slices.Repeat([]int{12_000_000}, 25), change)
		c.btc.mines()
		d.approver, d.arrived = c.approver, c.refunded
		d.next = func(amount string) order.Order {
			sats, err := intent.Units(amount)
			if err != nil {
				t.Fatal(err)
			}
			return withdrawn(c.order(t, int(sats.Int64())))
		}
	}
	d.credit(t, network, asset, d.has)
	return d
}

// balanced compares the accounts of acme with what was withdrawn: amounts and charges left the balance once, and
// nothing is under way.
func (d *drawing) balanced(t *testing.T, what string, paid []order.Order) {
	t.Helper()
	left := big.NewInt(d.has - int64(len(paid))*charged)
	for _, o := range paid {
		amount, err := intent.Units(o.Amount)
		if err != nil {
			t.Fatal(err)
		}
		left.Sub(left, amount)
	}
	earned := fmt.Sprint(int64(len(paid)) * charged)
	for account, want := range map[string]string{"merchant": left.String(), "withdrawals": "0", "withdrawal_fees": earned} {
		if got := d.account(t, d.asset, account); got != want {
			t.Errorf("%s: got %s in the account %s, want %s", what, got, account, want)
		}
	}
}

// feesBooked compares what the network took, on solana with the rent of new accounts, with what payments heard: it is
// booked beside the charge, and not taken from it.
func (d *drawing) feesBooked(t *testing.T, paid []order.Order) {
	t.Helper()
	told := new(big.Int)
	for _, o := range paid {
		_, last := d.progress(o)
		fee, err := intent.Units(last.Fee)
		if err != nil {
			t.Fatal(err)
		}
		told.Add(told, fee)
	}
	coin := map[string]string{"tron": "TRX", "solana": "SOL", "bitcoin": "BTC"}[d.network]
	booked := new(big.Int)
	for _, account := range []string{"fees", "rent"} {
		sum, _ := new(big.Int).SetString(d.account(t, coin, account), 10)
		booked.Sub(booked, sum)
	}
	if booked.Cmp(told) != 0 || booked.Sign() <= 0 {
		t.Errorf("read the fees of %d withdrawals: got %s in the books, want those that payments heard, %s", len(paid), booked, told)
	}
}

// testWithdrawKill9 withdraws over the own software of a chain: wallets, or the signer, is killed at every step,
// each order comes again, and the merchant's address gets the money once. The balance pays amount and charge once.
func testWithdrawKill9(t *testing.T, network, asset string) {
	t.Parallel()
	d := newDrawing(t, network, asset, true)
	d.installSteps(t)
	d.installTaking(t)
	var paid []order.Order
	dies := func(name string, at func(t *testing.T) stop, side string) {
		t.Run(name, func(t *testing.T) {
			o := d.next(fmt.Sprint(10_000_001 + d.orders))
			place := at(t)
			d.withdraw(t, o)
			d.killAt(t, place, side)
			d.withdraw(t, o) // the broker may deliver it again
			d.arrived(t, o)
			paid = append(paid, o)
			d.balanced(t, "die while "+name, paid)
		})
	}
	for _, answered := range []bool{false, true} {
		for _, side := range []string{"wallets", "signer"} {
			dies(fmt.Sprintf("signing, answered %v, %s dies", answered, side), d.door("sign", intent.Refund, answered), side)
		}
		dies(fmt.Sprintf("sending, answered %v", answered), d.door("send", intent.Sweep, answered), "wallets")
	}
	for _, step := range refundSteps {
		dies("writing "+step, d.row(step), "wallets")
	}
	d.feesBooked(t, paid)

	much := d.next(d.account(t, d.asset, "merchant"))
	d.withdraw(t, much)
	d.await(t, "a withdrawal above the balance fails", func() bool { return d.state(much) == string(wire.RefundFailed) })
	if _, last := d.progress(much); last.Reason != wire.RefundBalance {
		t.Errorf("read why a withdrawal above the balance failed: got %q, want insufficient_balance", last.Reason)
	}
	d.balanced(t, "withdraw more than the balance", paid)
	d.logHolds(t)
}

func TestWithdrawTron_kill9(t *testing.T)    { testWithdrawKill9(t, "tron", "USDT") }
func TestWithdrawSolana_kill9(t *testing.T)  { testWithdrawKill9(t, "solana", "USDC") }
func TestWithdrawBitcoin_kill9(t *testing.T) { testWithdrawKill9(t, "bitcoin", "BTC") }

// testWithdrawRefused withdraws against the policy: a signer without the member for withdrawals carries none out on any
// chain, and no order of another kind. Both fail, and the money is in the balance again.
func testWithdrawRefused(t *testing.T, network, asset string) {
	t.Parallel()
	d := newDrawing(t, network, asset, false)
	o := d.next("10000000")
	d.withdraw(t, o)
	d.await(t, "the withdrawal fails", func() bool { return d.state(o) == string(wire.RefundFailed) })
	if _, last := d.progress(o); last.Reason != wire.RefundAssetRefused {
		t.Errorf("read why the withdrawal failed: got %q, want asset_refused", last.Reason)
	}
	changed := d.next("10000000").Approve(automaticKey, time.Now())
	changed.Kind = order.Refund
	d.send(t, wire.RefundApproved{Approved: changed})
	d.await(t, "the order of another kind fails", func() bool { return d.state(changed.Order) == string(wire.RefundFailed) })
	if _, last := d.progress(changed.Order); last.Reason != wire.RefundOrderRefused {
		t.Errorf("read why the changed order failed: got %q, want order_refused", last.Reason)
	}
	d.balanced(t, "withdraw against the policy", nil)
	if n := d.count(t, `SELECT count(*) FROM outgoing_attempts WHERE raw IS NOT NULL`); n != 0 {
		t.Errorf("count the signed transactions: got %d, want none", n)
	}
}

func TestWithdrawTron_refused(t *testing.T)    { testWithdrawRefused(t, "tron", "USDT") }
func TestWithdrawSolana_refused(t *testing.T)  { testWithdrawRefused(t, "solana", "USDC") }
func TestWithdrawBitcoin_refused(t *testing.T) { testWithdrawRefused(t, "bitcoin", "BTC") }

// testWithdrawCoin withdraws the coin of a network as its tokens: its fee is not taken from the amount.
func testWithdrawCoin(t *testing.T, network, asset string) {
	t.Parallel()
	d := newDrawing(t, network, asset, true)
	var paid []order.Order
	for i := range 2 {
		paid = append(paid, d.next(fmt.Sprint(20_000_001+i)))
		d.withdraw(t, paid[i])
	}
	for _, o := range paid {
		d.arrived(t, o)
	}
	d.balanced(t, "withdraw "+asset+" twice", paid)
}

func TestWithdrawTron_coin(t *testing.T)   { testWithdrawCoin(t, "tron", "TRX") }
func TestWithdrawSolana_coin(t *testing.T) { testWithdrawCoin(t, "solana", "SOL") }
