//go:build integration

package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

// solApprover is custody of solana with a refund station, and payments, which approves refunds.
type solApprover struct {
	*solCustody
	payments *approver
	station  soltx.Account
	nonceAt  soltx.Account // of refunds
}

// newSolApprover starts the processes. coins are the lamports of the station, which then has tokens, too.
func newSolApprover(t *testing.T, coins uint64, change ...func(policy string, environ map[string]string) string) *solApprover {
	t.Helper()
	public := func(k ed25519.PrivateKey) string {
		return base64.StdEncoding.EncodeToString(k.Public().(ed25519.PublicKey))
	}
	d := &solApprover{nonceAt: soltx.Account{77, 5}}
	d.solCustody = newSolCustody(t, func(policy string, environ map[string]string) string {
		policy = strings.NewReplacer(
			`"indexBelow"`, fmt.Sprintf(`"refundAccount":2,"orders":{"automatic":"%s","operator":"%s"},"indexBelow"`, public(automaticKey), public(operatorKey)),
			`"nonces"`, fmt.Sprintf(`"refundNonces":["%s"],"rentPerHour":"100000000","nonces"`, d.nonceAt),
			`"SOL":{"perHour"`, `"SOL":{"refundPerHour":"100000000000","automaticPerHour":"100000000000","perHour"`,
			`,"perHour":"1000000000000"`, `,"perHour":"1000000000000","refundPerHour":"1000000000000","automaticPerHour":"1000000000000"`).Replace(policy)
		for _, f := range change {
			policy = f(policy, environ)
		}
		return policy
	})
	stations, err := d.client.Stations(t.Context())
	if err == nil {
		d.station, err = soltx.ParseAccount(stations.Refunds[money.Solana])
	}
	if err != nil {
		t.Fatalf("read the refund station: %v", err)
	}
	d.setRefundNonce(t, soltx.Account{77, 6})
	if coins > 0 {
		d.fill(t, coins)
	}
	d.payments = &approver{custody: d.custody, changes: map[string]map[int64]wire.RefundChanged{}}
	d.payments.open(t)
	return d
}

// fill gives the station coins and tokens.
func (d *solApprover) fill(t *testing.T, coins uint64) {
	t.Helper()
	d.set(t, d.station, map[string]any{"lamports": coins})
	d.call(t, "surfnet_setTokenAccount", d.station.String(), d.Tokens["USDC"], map[string]any{"amount": 1_000_000_000})
}

// setRefundNonce writes the nonce account of the refund station.
func (d *solApprover) setRefundNonce(t *testing.T, value soltx.Account) {
	t.Helper()
	data := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 1), 1)
	data = append(append(data, d.station[:]...), value[:]...)
	data = binary.LittleEndian.AppendUint64(data, soltx.FeePerSignature)
	d.set(t, d.nonceAt, map[string]any{"lamports": 1_447_680, "data": hex.EncodeToString(data), "owner": soltx.Account{}.String()})
}

// order makes an order to a payer of its own, whose address is new on the chain.
func (d *solApprover) order(asset, amount string) order.Order {
	d.payments.orders++
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(d.payments.orders)}, ed25519.SeedSize))
	return order.Order{
		Kind: order.Refund, ID: fmt.Sprint("rfd_", d.payments.orders), Mode: tenant.Live, Network: "solana", Asset: asset, Contract: d.Tokens[asset],
		Amount: amount, To: soltx.Account(key.Public().(ed25519.PublicKey)).String(), Approval: order.Automatic,
	}
}

// paid checks the end of a refund: the payer has the money once, the books have the fee and the rent, and payments
// received each state.
func (d *solApprover) paid(t *testing.T, o order.Order) {
	t.Helper()
	d.await(t, "refund "+o.ID+" is confirmed", func() bool { return d.payments.state(o) == string(wire.RefundConfirmed) })
	states, last := d.payments.progress(o)
	if want := []string{"signing", "sent", "confirmed"}; !slices.Equal(slices.Compact(states), want) {
		t.Errorf("follow %s: got the states %v, want %v", o.ID, states, want)
	}
	has := fmt.Sprint(d.tokens(t, o.To))
	if o.Contract == "" {
		has = fmt.Sprint(d.lamports(t, mustAccount(t, o.To)))
	}
	if has != o.Amount || last.Fee == "0" || last.TxHash == "" {
		t.Errorf("read the end of %s: got %s at the payer and %+v, want %s once, with fee and hash", o.ID, has, last, o.Amount)
	}
	if n := d.count(t, `SELECT count(*) FROM outgoing_attempts a JOIN outgoing_tx o ON o.id = a.outgoing WHERE o.refund = $1`, o.ID); n != 1 {
		t.Errorf("count the forms of %s: got %d, want 1", o.ID, n)
	}
}

// agreed compares the books with the chain: the coins that left the station are fees, rent and refunds of SOL.
func (d *solApprover) agreed(t *testing.T, coins uint64) {
	t.Helper()
	if got, want := int64(coins)+d.total(t, "refund_station", "SOL"), d.lamports(t, d.station); got < 0 || uint64(got) != want {
		t.Errorf("compare the refund station: got %d lamports in the books, want the chain's %d", got, want)
	}
	if n := d.count(t, `SELECT count(*) FROM (SELECT asset FROM custody_entries GROUP BY asset HAVING sum(debit) <> sum(credit)) AS a`); n != 0 {
		t.Errorf("add up the books: got %d assets with a remainder, want none", n)
	}
}

// TestRefundSolana_kill9 kills wallets, or the signer, at every step of a refund, and starts it again. The payer gets
// the money once.
func TestRefundSolana_kill9(t *testing.T) {
	t.Parallel()
	d := newSolApprover(t, solFunds)
	d.flow()
	d.installSteps(t)
	dies := func(name string, at func(t *testing.T) stop, side string) {
		t.Run(name, func(t *testing.T) {
			o := d.order("USDC", fmt.Sprint(1_000_001+d.payments.orders))
			place := at(t)
			d.payments.approve(t, o)
			d.killAt(t, place, side)
			d.paid(t, o)
		})
	}
	for _, answered := range refundAnswers {
		for _, side := range refundSides {
			dies(fmt.Sprintf("signing, answered %v, %s dies", answered, side), d.door("sign", intent.Refund, answered), side)
		}
		dies(fmt.Sprintf("sending, answered %v", answered), d.door("send", intent.Sweep, answered), "wallets")
	}
	for _, state := range refundRows([]string{"planned", "signed", "broadcast", "mined", "final"}) {
		dies("writing "+state, d.row("refund "+state), "wallets")
	}
	d.agreed(t, solFunds)
	d.logHolds(t)
}
