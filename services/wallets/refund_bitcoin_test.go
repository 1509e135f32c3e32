//go:build integration

package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	btcwire "github.com/btcsuite/btcd/wire/v2"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/intent"
)

// btcApprover is a custody of bitcoin with a refund station, and payments beside it.
type btcApprover struct {
	*approver
	btc *btc
}

// newBTCApprover starts the processes. Each of fill is an output of the refund station, which the search for the
// station has found: a refund that finds the station short waits for a minute.
func newBTCApprover(t *testing.T, fill []int, change func(policy string, environ map[string]string) string) *btcApprover {
	t.Helper()
	c := newBTC(t, func(policy string, environ map[string]string) string {
		environ["BITCOIN_REFUND_FROM"] = "100"
		policy = strings.NewReplacer(`"indexBelow"`, orderKeys()+`,"indexBelow"`,
			`"BTC":{"perHour"`, `"BTC":{"refundPerHour":"100000000","automaticPerHour":"50000000","perHour"`).Replace(policy)
		if change != nil {
			policy = change(policy, environ)
		}
		return policy
	})
	d := &btcApprover{approver: &approver{custody: c.custody, changes: map[string]map[int64]wire.RefundChanged{}}, btc: c}
	stations, err := c.client.Stations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.station = stations.Refunds[money.Bitcoin]
	for _, sats := range fill {
		d.btc.pay(d.station, sats)
	}
	d.Mine(6)
	d.await(t, "wallets has found the money of the refund station", func() bool {
		return d.count(t, `SELECT count(*) FROM station_outputs`) == int64(len(fill))
	})
	d.open(t)
	return d
}

// order makes an order to a payer of its own, whose address has any of the usual forms.
func (d *btcApprover) order(t *testing.T, sats int) order.Order {
	t.Helper()
	d.orders++
	key := bytes.Repeat([]byte{byte(d.orders)}, 32)
	scripts := [][]byte{
		slices.Concat([]byte{0, 20}, key[:20]), slices.Concat([]byte{0, 32}, key), slices.Concat([]byte{0x51, 32}, key),
		slices.Concat([]byte{0x76, 0xa9, 20}, key[:20], []byte{0x88, 0xac}), slices.Concat([]byte{0xa9, 20}, key[:20], []byte{0x87}),
	}
	to, ok := address.OfScript(address.Regtest, scripts[d.orders%len(scripts)])
	if !ok {
		t.Fatal("write the address of a payer: got none")
	}
	return order.Order{
		Kind: order.Refund, ID: fmt.Sprint("rfd_", d.orders), Mode: tenant.Live, Network: "bitcoin", Asset: "BTC", Amount: fmt.Sprint(sats),
		To: to, Approval: order.Automatic,
	}
}

// received are the values of all outputs of the chain that pay an address.
func (d *btcApprover) received(t *testing.T, to string) (values []int64) {
	t.Helper()
	script, err := btctx.Payee(address.Regtest, to)
	if err != nil {
		t.Fatal(err)
	}
	var head int64
	if err := json.Unmarshal(d.call(t, "getblockcount"), &head); err != nil {
		t.Fatal(err)
	}
	for height := int64(108); height <= head; height++ {
		var hash, text string
		if err := json.Unmarshal(d.call(t, "getblockhash", height), &hash); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(d.call(t, "getblock", hash, 0), &text); err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		var b btcwire.MsgBlock
		if err := b.Deserialize(bytes.NewReader(raw)); err != nil {
			t.Fatal(err)
		}
		for _, tx := range b.Transactions {
			for _, out := range tx.TxOut {
				if bytes.Equal(out.PkScript, script) {
					values = append(values, out.Value)
				}
			}
		}
	}
	return values
}

// refunded checks the end of a refund: the chain paid its amount once, payments received each state with the fee, and
// the books have both.
func (d *btcApprover) refunded(t *testing.T, o order.Order) {
	t.Helper()
	d.await(t, "refund "+o.ID+" is confirmed", func() bool { return d.state(o) == string(wire.RefundConfirmed) })
	states, last := d.progress(o)
	if want := []string{"signing", "sent", "confirmed"}; !slices.Equal(slices.Compact(states), want) {
		t.Errorf("follow %s: got the states %v, want %v", o.ID, states, want)
	}
	if last.Amount != o.Amount || last.Fee == "0" || last.TxHash == "" || last.Reason != "" {
		t.Errorf("read the end of %s: got %+v, want its amount, fee and hash", o.ID, last)
	}
	d.once(t, o)
	if fee := d.count(t, `SELECT sum(credit - debit)::bigint - $2::bigint FROM custody_entries e JOIN custody_journals j ON j.key = e.journal
WHERE e.account = 'refund_station' AND j.deposit = $1`, o.ID, o.Amount); fmt.Sprint(fee) != last.Fee {
		t.Errorf("read the books of %s: got a fee of %d, want %s", o.ID, fee, last.Fee)
	}
}

// once checks that the chain paid a refund's amount once.
func (d *btcApprover) once(t *testing.T, o order.Order) {
	t.Helper()
	if got := d.received(t, o.To); len(got) != 1 || fmt.Sprint(got[0]) != o.Amount {
		t.Errorf("read the chain's outputs for %s: got %v, want %s once", o.ID, got, o.Amount)
	}
}

// TestRefundBitcoin_kill9 kills wallets, or the signer, at every step of a refund, and starts it again. The payer gets
// the money once.
func TestRefundBitcoin_kill9(t *testing.T) {
	t.Parallel()
	d := newBTCApprover(t, slices.Repeat([]int{1_000_000}, 15), nil)
	d.btc.mines()
	d.installSteps(t)
	d.installTaking(t)
	die := func(name string, at func(t *testing.T) stop, side string) {
		t.Run(name, func(t *testing.T) {
			o := d.order(t, 100_001+d.orders)
			place := at(t)
			d.approve(t, o)
			d.killAt(t, place, side)
			d.refunded(t, o)
		})
	}
	for _, answered := range refundAnswers {
		for _, side := range refundSides {
			die(fmt.Sprintf("signing, answered %v, %s dies", answered, side), d.door("sign", intent.Refund, answered), side)
		}
		die(fmt.Sprintf("sending, answered %v", answered), d.door("send", intent.Sweep, answered), "wallets")
	}
	for _, state := range refundRows(refundSteps) {
		die("writing "+state, d.row(state), "wallets")
	}
}

func mustSlot(t *testing.T, r intent.Request) string {
	t.Helper()
	tx, err := r.Collection()
	if err != nil {
		t.Fatal(err)
	}
	return tx.Slot()
}

// spend is an output that a statement reads.
func (d *btcApprover) spend(t *testing.T, sql string) (out intent.Output) {
	t.Helper()
	if err := d.pool.QueryRow(t.Context(), sql).Scan(&out.TxID, &out.Vout, &out.Value); err != nil {
		t.Fatal(err)
	}
	return out
}

// prove gives a request its PSBT.
func (d *btcApprover) prove(t *testing.T, r *intent.Request) {
	t.Helper()
	tx, err := r.Collection()
	if err != nil {
		t.Fatal(err)
	}
	previous := map[chainhash.Hash]*btcwire.MsgTx{}
	for _, in := range r.Bitcoin.Inputs {
		var text string
		if err := json.Unmarshal(d.call(t, "getrawtransaction", in.TxID, 0), &text); err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		from, err := btctx.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(previous, map[chainhash.Hash]*btcwire.MsgTx{from.TxHash(): from})
	}
	if r.Bitcoin.PSBT, err = tx.PSBT(previous); err != nil {
		t.Fatal(err)
	}
}
