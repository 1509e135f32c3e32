//go:build integration

package draws_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/draw"
	"causeway.internal/services/payments/internal/draws"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/rate"
	"causeway.internal/services/payments/internal/rate/fixed"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/refunds"
)

const payee = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"

var (
	sandbox = tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: tenant.Test}
	live    = tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: tenant.Live}
	other   = tenant.Owner{MerchantID: "other", KeyID: 8, Mode: tenant.Live}
)

func signing() refunds.Keys {
	return refunds.Keys{refund.Automatic: ed25519.NewKeyFromSeed(make([]byte, 32)), refund.ByOperator: ed25519.NewKeyFromSeed([]byte("another seed with 32 bytes......"))}
}

// open makes withdrawals of both modes possible: without a hold, automatic up to 100 dollars a day, and up to 1000 at
// all.
func open(t *testing.T, edit ...func(*draws.Rules)) *fixture.Payments {
	t.Helper()
	w := fixture.New(t)
	fees, err := draw.ParseFees("")
	if err != nil {
		t.Fatal(err)
	}
	rules := draws.Rules{
		Fees: fees, Networks: []string{"ethereum"}, Limits: draw.Limits{Everyone: decimal.NewFromInt(1000)}, Above: decimal.NewFromInt(100),
	}
	for _, f := range edit {
		f(&rules)
	}
	w.With(func(d *fixture.Deps) {
		d.API.Draws, d.Signing = rules, signing()
		d.Providers = map[tenant.Mode]provider.Set{tenant.Test: d.Providers[tenant.Test], tenant.Live: {Rates: fixed.New(time.Now)}}
	})
	return w
}

func add(t *testing.T, w *fixture.Payments, o tenant.Owner, network, address string) (string, error) {
	t.Helper()
	a, err := w.Draws.Add(t.Context(), o, draws.NewEntry{Network: network, Address: address, Label: "treasury"}, &fault.Problems{}, idempotency.Key{})
	return text(t, a.Body, "address", "id"), err
}

// text is a field of an object of an answer, "" without one.
func text(t *testing.T, body []byte, object, field string) string {
	t.Helper()
	var got map[string]any
	if len(body) == 0 {
		return ""
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("read the answer %s: got %v, want no error", body, err)
	}
	inner, _ := got[object].(map[string]any)
	s, _ := inner[field].(string)
	return s
}

func request(t *testing.T, w *fixture.Payments, o tenant.Owner, entry, amount string) (id, status string, err error) {
	t.Helper()
	d := draws.Order{Crypto: "USDT", Network: "erc20", EntryID: entry, Amount: decimal.RequireFromString(amount), Given: true}
	a, err := w.Draws.Request(t.Context(), o, d, &fault.Problems{}, idempotency.Key{})
	return text(t, a.Body, "withdrawal", "id"), text(t, a.Body, "withdrawal", "status"), err
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return fault.As(err).Code
}

func is(t *testing.T, what string, err error, want string) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("%s: got the refusal %q (%v), want %q", what, got, err, want)
	}
}

// sent are the payloads of a message in the outbox.
func sent[T any](t *testing.T, w *fixture.Payments, name wire.Name) (out []T) {
	t.Helper()
	rows, err := w.Pool.Query(t.Context(), `SELECT body FROM outbox WHERE name = $1 ORDER BY id`, string(name))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var body []byte
		var m T
		if err := rows.Scan(&body); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// events are the types of the events about an object, in order.
func events(t *testing.T, w *fixture.Payments, id string) (out []string) {
	t.Helper()
	for _, m := range sent[wire.StatusChanged](t, w, wire.PaymentStatusChangedV1) {
		if m.ObjectID != id {
			continue
		}
		if int(m.Sequence) != len(out)+1 || m.MerchantID != "acme" || !wire.PaymentStatusChangedV1.MayTell(m.Type, m.ObjectID) || !wire.IsEventType(m.Type) {
			t.Errorf("read event %d of %s: got %+v, want the next one of acme", len(out)+1, id, m)
		}
		out = append(out, strings.TrimPrefix(m.Type, "wallet."))
	}
	return out
}

// An order names the listed contract of its token, or in live mode that of the settings.
func TestRequest_contract(t *testing.T) {
	const own = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
	usdt := quote.Pair{Network: "ethereum", Crypto: "USDT"}
	w := open(t, func(r *draws.Rules) { r.Contracts = draw.Contracts{usdt: own} })
	n, _ := money.NetworkOf(usdt.Network)
	for _, test := range []struct {
		owner tenant.Owner
		want  string
	}{{live, own}, {sandbox, n.Contracts()[usdt.Crypto]}} {
		entry, err := add(t, w, test.owner, usdt.Network, payee)
		if err != nil {
			t.Fatalf("add an address in %s mode: got %v, want no error", test.owner.Mode, err)
		}
		id, _, err := request(t, w, test.owner, entry, "10")
		if err != nil {
			t.Fatalf("withdraw in %s mode: got %v, want no error", test.owner.Mode, err)
		}
		for _, m := range sent[wire.RefundApproved](t, w, wire.RefundApprovedV1) {
			if m.Approved.ID == id && m.Approved.Contract != test.want {
				t.Errorf("withdraw USDT in %s mode: got an order with the contract %s, want %s", test.owner.Mode, m.Approved.Contract, test.want)
			}
		}
	}
}

// The book holds an address once, none of this service, and belongs to one merchant in one mode.
func TestAddressBook(t *testing.T) {
	t.Parallel()
	w := open(t, func(r *draws.Rules) { r.Hold = 24 * time.Hour })
	first, err := add(t, w, live, "erc20", strings.ToLower(payee))
	if err != nil {
		t.Fatalf("add an address: got %v, want no error", err)
	}
	if got := events(t, w, first); !slices.Equal(got, []string{"address_added"}) {
		t.Errorf("read the events of a new address: got %q, want address_added", got)
	}
	_, err = add(t, w, live, "ethereum", payee)
	is(t, "add the address again in another spelling", err, "address_known")
	for network, address := range map[string]string{"tron": payee, "ethereum": "0x123", "mars": payee, "solana": "FcaAcjcy9kw63CHtTgKFtdesZ1zBXpPpSVTPqBj8ZeTf"} {
		_, err := add(t, w, live, network, address)
		is(t, "add "+address+" on "+network, err, "validation_failed")
	}
	w.SQL(`INSERT INTO own_addresses (mode, family, address) VALUES ('live', 'evm', '0x000000000000000000000000000000000000dEaD')`)
	_, err = add(t, w, live, "ethereum", "0x000000000000000000000000000000000000dead")
	is(t, "add an address of this service", err, "withdrawal_address_internal")

	for name, o := range map[string]tenant.Owner{"another merchant": other, "another mode": sandbox} {
		if body, err := w.Draws.Book(t.Context(), o, "", 10); err != nil || strings.Contains(string(body), first) {
			t.Errorf("list the book of %s: got %s, %v, want no address", name, body, err)
		}
		_, err := w.Draws.Remove(t.Context(), o, first)
		is(t, "remove the address as "+name, err, "address_not_found")
		_, _, err = request(t, w, o, first, "10")
		is(t, "withdraw to it as "+name, err, "address_not_found")
	}
	_, _, err = request(t, w, live, first, "10")
	is(t, "withdraw to a new address", err, "withdrawal_address_held")
	w.SQL(`UPDATE address_book SET usable_at = now()`)
	if _, status, err := request(t, w, live, first, "10"); err != nil || status != "approved" {
		t.Errorf("withdraw after the hold: got %s, %v, want approved", status, err)
	}
	if _, err := w.Draws.Remove(t.Context(), live, first); err != nil {
		t.Errorf("remove an address: got %v, want no error", err)
	}
	_, _, err = request(t, w, live, first, "10")
	is(t, "withdraw to a removed address", err, "address_not_found")
	again, err := add(t, w, live, "ethereum", payee)
	if err != nil || again == first {
		t.Errorf("add a removed address again: got %s, %v, want another entry, which is held anew", again, err)
	}
	_, _, err = request(t, w, live, again, "10")
	is(t, "withdraw to the address that was added again", err, "withdrawal_address_held")
}

// A withdrawal of test mode is approved at once, and reports of wallets move it on. Each state has one event.
func TestDraw_life(t *testing.T) {
	t.Parallel()
	w := open(t)
	entry, err := add(t, w, sandbox, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	id, status, err := request(t, w, sandbox, entry, "12.5")
	if err != nil || status != "approved" {
		t.Fatalf("withdraw in test mode: got %s, %v, want approved", status, err)
	}
	orders := sent[wire.RefundApproved](t, w, wire.RefundApprovedV1)
	if len(orders) != 1 || orders[0].Kind != order.Withdrawal || orders[0].ID != id || orders[0].Amount != "12500000" || orders[0].To != payee ||
		orders[0].MerchantID != "acme" || orders[0].Charge != "5000000" {
		t.Fatalf("read the orders: got %+v, want one of 12.5 with a charge of 5 by acme", orders)
	}
	report := func(version int64, state wire.RefundState, edit func(*wire.RefundChanged)) error {
		m := wire.RefundChanged{RefundID: id, Version: version, Mode: tenant.Test, Network: "ethereum", State: state, TxHash: "0x1", Amount: "12500000", Fee: "0"}
		if edit != nil {
			edit(&m)
		}
		return w.RefundChanged(t.Context(), fmt.Sprint(id, ":", version, state), m)
	}
	for name, edit := range map[string]func(*wire.RefundChanged){
		"another amount":  func(m *wire.RefundChanged) { m.Amount = "1" },
		"another network": func(m *wire.RefundChanged) { m.Network = "bsc" },
		"another mode":    func(m *wire.RefundChanged) { m.Mode = tenant.Live },
		"an unknown id":   func(m *wire.RefundChanged) { m.RefundID = "wwd_unknown" },
	} {
		if err := report(1, wire.RefundConfirmed, edit); !fault.IsPermanent(err) {
			t.Errorf("report %s: got %v, want a permanent fault", name, err)
		}
	}
	for i, state := range []wire.RefundState{wire.RefundSigning, wire.RefundSent, wire.RefundConfirmed} {
		for range 2 {
			if err := report(int64(i+1), state, nil); err != nil {
				t.Errorf("report %s: got %v, want no error", state, err)
			}
		}
	}
	if err := report(2, wire.RefundSent, nil); err != nil {
		t.Errorf("report an old state: got %v, want no error", err)
	}
	want := []string{"withdrawal_requested", "withdrawal_approved", "withdrawal_signing", "withdrawal_sent", "withdrawal_confirmed"}
	if got := events(t, w, id); !slices.Equal(got, want) {
		t.Errorf("read the events: got %q, want %q", got, want)
	}
	_, err = w.Draws.Cancel(t.Context(), sandbox, id, idempotency.Key{})
	is(t, "cancel a confirmed withdrawal", err, "withdrawal_not_cancellable")
	_, err = w.Draws.Show(t.Context(), live, id)
	is(t, "read it in the other mode", err, "withdrawal_not_found")
}

// Live mode refuses clearly what is not open, and needs two operators above the bound of a day.
func TestDraw_live(t *testing.T) {
	t.Parallel()
	w := open(t)
	eth, err := add(t, w, live, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	tron, err := add(t, w, live, "tron", "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(entry, crypto, network, amount string, fee *decimal.Decimal) error {
		d := draws.Order{Crypto: crypto, Network: network, EntryID: entry, Amount: decimal.RequireFromString(amount), Given: true, Fee: fee}
		_, err := w.Draws.Request(t.Context(), live, d, &fault.Problems{}, idempotency.Key{})
		return err
	}
	seen := decimal.NewFromInt(4)
	is(t, "withdraw on a network that is not open", ask(tron, "USDT", "tron", "50", nil), "withdrawals_closed")
	is(t, "withdraw to an address of another network", ask(eth, "USDT", "tron", "50", nil), "validation_failed")
	is(t, "withdraw less than the fee", ask(eth, "USDT", "ethereum", "4.9", nil), "amount_below_minimum")
	is(t, "withdraw at another fee", ask(eth, "USDT", "ethereum", "50", &seen), "fee_changed")
	is(t, "withdraw too many digits", ask(eth, "USDT", "ethereum", "5.1234567", nil), "validation_failed")
	is(t, "withdraw above the limit of a day", ask(eth, "USDT", "ethereum", "1100", nil), "daily_limit_exceeded")

	if _, status, err := request(t, w, live, eth, "50"); err != nil || status != "approved" {
		t.Errorf("withdraw within the bound: got %s, %v, want approved", status, err)
	}
	id, status, err := request(t, w, live, eth, "60")
	if err != nil || status != "requested" {
		t.Fatalf("withdraw beyond the bound of a day: got %s, %v, want requested", status, err)
	}
	approve := func(operator string) error {
		_, err := w.Draws.Approve(t.Context(), id, refunds.Decision{Operator: operator, Reason: "called"}, &fault.Problems{}, idempotency.Key{})
		return err
	}
	is(t, "approve as the first", approve("ada"), "")
	is(t, "approve again as the first", approve("Ada"), "second_operator_required")
	if _, err := w.Draws.Remove(t.Context(), live, eth); err != nil {
		t.Fatal(err)
	}
	is(t, "approve after the address was removed", approve("bob"), "withdrawal_address_removed")
	w.SQL(`UPDATE address_book SET removed_at = NULL`)
	is(t, "approve as the second", approve("bob"), "")
	is(t, "approve once more", approve("eve"), "withdrawal_decided")
	orders := sent[wire.RefundApproved](t, w, wire.RefundApprovedV1)
	if len(orders) != 2 {
		t.Fatalf("read the orders: got %d, want 2", len(orders))
	}
	for i, by := range []refund.Approval{refund.Automatic, refund.ByOperator} {
		if err := orders[i].Verify(signing()[by].Public().(ed25519.PublicKey)); err != nil || orders[i].Approval != order.Approval(by) {
			t.Errorf("verify order %d of %s: got %v, want no error", i, orders[i].Approval, err)
		}
	}
	for range 2 {
		if _, err := w.Draws.Cancel(t.Context(), live, id, idempotency.Key{}); err != nil {
			t.Errorf("cancel an approved withdrawal: got %v, want no error", err)
		}
	}
	gone := sent[wire.RefundWithdrawn](t, w, wire.RefundWithdrawnV1)
	if len(gone) != 2 || gone[0].Order != orders[1].Order {
		t.Errorf("read the cancellations: got %+v, want the order twice", gone)
	}
	waiting, err := w.Draws.Waiting(t.Context(), "", 10)
	if err != nil || !strings.Contains(string(waiting), id) {
		t.Errorf("list what waits: got %s, %v, want the cancellation", waiting, err)
	}
	second, status, err := request(t, w, live, eth, "60")
	if err != nil || status != "requested" {
		t.Fatalf("withdraw beyond the bound again: got %s, %v, want requested", status, err)
	}
	if _, err := w.Draws.Cancel(t.Context(), live, second, idempotency.Key{}); err != nil {
		t.Errorf("cancel a request: got %v, want no error", err)
	}
	if got := events(t, w, second); !slices.Equal(got, []string{"withdrawal_requested", "withdrawal_failed"}) {
		t.Errorf("read the events of a cancelled request: got %q, want requested and failed", got)
	}
}

// After a restore a live withdrawal that waits may have been approved and paid in the lost time: it can be approved, as
// it was, and neither refused nor cancelled. A cancellation of an approved one is wallets' to decide, as ever.
func TestDraw_restored(t *testing.T) {
	t.Parallel()
	w := open(t)
	entry, err := add(t, w, live, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	young, status, err := request(t, w, live, entry, "10")
	if err != nil || status != "approved" {
		t.Fatalf("withdraw within the bound: got %s, %v, want approved", status, err)
	}
	id, status, err := request(t, w, live, entry, "200")
	if err != nil || status != "requested" {
		t.Fatalf("withdraw beyond the bound: got %s, %v, want requested", status, err)
	}
	w.With(func(d *fixture.Deps) { d.Recovery = true })
	why := refunds.Decision{Operator: "ada", Reason: "asked"}
	_, _, err = request(t, w, live, entry, "10")
	is(t, "withdraw after a restore", err, "withdrawals_paused")
	_, err = w.Draws.Refuse(t.Context(), id, why, &fault.Problems{}, idempotency.Key{})
	is(t, "refuse after a restore", err, "withdrawals_paused")
	_, err = w.Draws.Stop(t.Context(), id, why, &fault.Problems{}, idempotency.Key{})
	is(t, "cancel as an operator after a restore", err, "withdrawals_paused")
	_, err = w.Draws.Cancel(t.Context(), live, id, idempotency.Key{})
	is(t, "cancel as the merchant after a restore", err, "withdrawals_paused")
	_, err = w.Draws.Cancel(t.Context(), live, young, idempotency.Key{})
	is(t, "cancel an approved one after a restore", err, "")
	if state := fixture.Ask[string](w, `SELECT state FROM draws WHERE id = $1`, id); state != "requested" {
		t.Errorf("read the withdrawal that waits: got %s, want requested", state)
	}
	is(t, "approve after a restore", approve(t, w, id, "ada"), "")
	is(t, "approve after a restore as the second", approve(t, w, id, "bob"), "")
	_, err = w.Draws.Refuse(t.Context(), id, why, &fault.Problems{}, idempotency.Key{})
	is(t, "refuse an approved one after a restore", err, "withdrawal_decided")
}

// Requests at once never pass the limit of a day together, and one key makes one withdrawal.
func TestDraw_parallel(t *testing.T) {
	t.Parallel()
	w := open(t)
	entry, err := add(t, w, live, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine the last ones wait for longer than a lock is waited for, and ask again.
	ask := func(o tenant.Owner, k idempotency.Key) (body string, err error) {
		d := draws.Order{Crypto: "USDT", Network: "ethereum", EntryID: entry, Amount: decimal.NewFromInt(95), Given: true}
		for {
			a, err := w.Draws.Request(t.Context(), o, d, &fault.Problems{}, k)
			if !postgres.Contended(err) {
				return string(a.Body), err
			}
		}
	}
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			_, err := ask(live, idempotency.Key{})
			if c := code(err); c != "" && c != "daily_limit_exceeded" {
				t.Errorf("withdraw 64 times at once: got %v, want success or the limit", err)
			}
		})
	}
	wg.Wait()
	sum := fixture.Ask[string](w, `SELECT sum(usd)::text FROM draws`)
	if usd := decimal.RequireFromString(sum); usd.GreaterThan(decimal.NewFromInt(1000)) || usd.LessThan(decimal.NewFromInt(900)) {
		t.Errorf("sum up 64 withdrawals of 100 dollars: got %s, want nearly the limit of 1000 and not more", usd)
	}
	if automatic := fixture.Ask[int](w, `SELECT count(*)::int FROM draws WHERE approval = 'automatic'`); automatic > 1 {
		t.Errorf("count the automatic approvals: got %d, want at most one within 100 dollars", automatic)
	}
	k := idempotency.Key{Scope: "acme", Key: "k1", Hash: [32]byte{1}}
	entry, err = add(t, w, sandbox, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	bodies := make([]string, 8)
	for i := range bodies {
		wg.Go(func() {
			var err error
			if bodies[i], err = ask(sandbox, k); err != nil {
				t.Errorf("withdraw under one key: got %v, want no error", err)
			}
		})
	}
	wg.Wait()
	if n := fixture.Ask[int](w, `SELECT count(*)::int FROM draws WHERE mode = 'test'`); n != 1 || len(slices.Compact(bodies)) != 1 {
		t.Errorf("withdraw eight times under one key: got %d withdrawals and the answers %q, want one", n, bodies)
	}
}

// Requests with one key at once have one effect and one answer, though each refuses the next by its state: the limit of
// the day is used up, the address is known, the withdrawal cannot be cancelled twice.
func TestDraw_oneKeyAtOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	const other = "0x2222222222222222222222222222222222222222"
	n := byte(0)
	atOnce := func(what string, act func(k idempotency.Key) (idempotency.Answer, error)) (body string) {
		t.Helper()
		n++
		k := idempotency.Key{Scope: "acme", Key: "k" + strconv.Itoa(int(n)), Hash: [32]byte{n}}
		bodies := make([]string, 8)
		var wg sync.WaitGroup
		for i := range bodies {
			wg.Go(func() {
				for {
					a, err := act(k)
					if postgres.Contended(err) {
						continue
					}
					if bodies[i] = string(a.Body); err != nil {
						t.Errorf("%s eight times under one key: got %v, want the answer of the first", what, err)
					}
					return
				}
			})
		}
		wg.Wait()
		if len(slices.Compact(slices.Clone(bodies))) != 1 {
			t.Errorf("%s eight times under one key: got the answers %q, want one", what, bodies)
		}
		return bodies[0]
	}
	added := atOnce("add an address", func(k idempotency.Key) (idempotency.Answer, error) {
		return w.Draws.Add(t.Context(), live, draws.NewEntry{Network: "ethereum", Address: other, Label: "spare"}, &fault.Problems{}, k)
	})
	if rows := fixture.Ask[int](w, `SELECT count(*)::int FROM address_book`); rows != 1 {
		t.Errorf("%d addresses in the book after %s, want one", rows, added)
	}
	entry, err := add(t, w, live, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	atOnce("withdraw the limit of a day", func(k idempotency.Key) (idempotency.Answer, error) {
		d := draws.Order{Crypto: "USDT", Network: "ethereum", EntryID: entry, Amount: decimal.NewFromInt(900), Given: true}
		return w.Draws.Request(t.Context(), live, d, &fault.Problems{}, k)
	})
	drawID := fixture.Ask[string](w, `SELECT id FROM draws`)
	atOnce("cancel", func(k idempotency.Key) (idempotency.Answer, error) {
		return w.Draws.Cancel(t.Context(), live, drawID, k)
	})
}

// A wallets whose database was restored gets the orders of all open withdrawals again. One that its merchant has
// cancelled says so, since that wallets may have lost the cancellation too, and so does one that was paid since the
// backup, whenever it was approved.
func TestDraw_ordersAgain(t *testing.T) {
	t.Parallel()
	w := open(t)
	entry, err := add(t, w, live, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	cancelled, paid := map[string]bool{}, ""
	for i := range 3 {
		id, status, err := request(t, w, live, entry, "10")
		if err != nil || status != "approved" {
			t.Fatalf("withdraw one of three: got %s, %v, want approved", status, err)
		}
		switch cancelled[id] = i == 1; i {
		case 1:
			if _, err := w.Draws.Cancel(t.Context(), live, id, idempotency.Key{}); err != nil {
				t.Fatal(err)
			}
		case 2:
			paid = id
			w.SQL(`UPDATE draws SET state = 'confirmed', tx_hash = '0xpaid', confirmed_at = now(), ended_at = now() WHERE id = $1`, id)
		}
	}
	old, _, err := request(t, w, live, entry, "10")
	if err != nil {
		t.Fatal(err)
	}
	w.SQL(`UPDATE draws SET state = 'confirmed', ended_at = now() - interval '2 hours' WHERE id = $1`, old) // in the backup
	w.SQL(`UPDATE draws SET approved_at = now() - interval '3 hours'`)                                      // and taken much later
	w.SQL(`DELETE FROM outbox`)
	told := 0
	if err := w.Store.SendDraws(t.Context(), time.Now().Add(-time.Hour), func(d draw.Draw) (change.Command, error) {
		return draws.Command(signing(), d, time.Now())
	}, func(_ draw.Draw, failed error) {
		if told++; failed != nil {
			t.Errorf("send the orders again: got %v, want no error", failed)
		}
	}); err != nil || told != 3 {
		t.Fatalf("send the orders again: got %v, and heard of %d, want no error and 3", err, told)
	}
	orders := sent[wire.RefundApproved](t, w, wire.RefundApprovedV1)
	if len(orders) != 3 {
		t.Fatalf("send the orders again: got %d, want 3", len(orders))
	}
	for _, o := range orders {
		if want := map[string]string{paid: "0xpaid"}[o.ID]; o.PaidBy != want {
			t.Errorf("read the order of %s: got paid by %q, want %q", o.ID, o.PaidBy, want)
		}
		if o.Cancelled != cancelled[o.ID] {
			t.Errorf("read the order of %s: got cancelled %t, want %t", o.ID, o.Cancelled, cancelled[o.ID])
		}
	}
}

// approve approves a withdrawal as an operator.
func approve(t *testing.T, w *fixture.Payments, id, operator string) error {
	t.Helper()
	_, err := w.Draws.Approve(t.Context(), id, refunds.Decision{Operator: operator, Reason: "called"}, &fault.Problems{}, idempotency.Key{})
	return err
}

// The limit of a day holds when operators approve: a request may have waited until the limit was used by others. Of
// approvals at once only those pass that are within it together.
func TestDraw_limitAtApproval(t *testing.T) {
	t.Parallel()
	w := open(t)
	entry, err := add(t, w, live, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	waits := func(amount string) string {
		t.Helper()
		id, status, err := request(t, w, live, entry, amount)
		if err != nil || status != "requested" {
			t.Fatalf("withdraw %s: got %s, %v, want requested", amount, status, err)
		}
		return id
	}
	old := waits("500")
	w.SQL(`UPDATE draws SET created_at = created_at - interval '25 hours'`)
	young := waits("600")
	is(t, "approve an old one beside a young one", approve(t, w, old, "ada"), "daily_limit_exceeded")
	is(t, "approve the young one", approve(t, w, young, "ada"), "")
	is(t, "approve the young one as the second", approve(t, w, young, "bob"), "")
	is(t, "approve the old one", approve(t, w, old, "ada"), "daily_limit_exceeded")
	w.SQL(`UPDATE draws SET approved_at = approved_at - interval '25 hours', created_at = created_at - interval '25 hours' WHERE id = $1`, young)
	is(t, "approve the old one a day later", approve(t, w, old, "ada"), "")
	is(t, "approve the old one a day later as the second", approve(t, w, old, "bob"), "")
	w.SQL(`UPDATE draws SET approved_at = approved_at - interval '25 hours'`)
	var aged []string
	for range 4 {
		aged = append(aged, waits("500"))
		w.SQL(`UPDATE draws SET created_at = created_at - interval '25 hours' WHERE state = 'requested'`)
	}
	for _, id := range aged {
		is(t, "approve one of four as the first", approve(t, w, id, "ada"), "")
	}
	var wg sync.WaitGroup
	var passed atomic.Int32
	for _, id := range aged {
		wg.Go(func() {
			switch err := approve(t, w, id, "bob"); code(err) {
			case "":
				passed.Add(1)
			case "daily_limit_exceeded":
			default:
				t.Errorf("approve four at once: got %v, want success or the limit", err)
			}
		})
	}
	wg.Wait()
	if passed.Load() != 1 {
		t.Errorf("approve four of 505 dollars at once below a limit of 1000: got %d approved, want 1", passed.Load())
	}
}

// A withdrawal above the bound of two operators cannot be made as many small ones, at once or one after the other.
func TestDraw_split(t *testing.T) {
	t.Parallel()
	w := open(t)
	entry, err := add(t, w, live, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if _, _, err := request(t, w, live, entry, "5"); err != nil {
				t.Errorf("withdraw 5: got %v, want no error", err)
			}
		})
	}
	wg.Wait()
	automatic := func(what string) {
		t.Helper()
		if usd := fixture.Ask[string](w, `SELECT coalesce(sum(usd), 0)::text FROM draws WHERE approval = 'automatic'`); decimal.RequireFromString(usd).GreaterThan(decimal.NewFromInt(100)) {
			t.Errorf("%s: got %s dollars without operators, want at most 100", what, usd)
		}
	}
	automatic("withdraw 40 times 10 dollars at once")
	w.SQL(`UPDATE draws SET state = 'failed', failure = 'cancelled', ended_at = now() WHERE approval <> ''`)
	if _, status, err := request(t, w, live, entry, "5"); err != nil || status != "requested" {
		t.Errorf("withdraw after the approved ones failed: got %s, %v, want requested", status, err)
	}
	automatic("withdraw after wallets said that all had failed")
}

// A merchant has at most a hundred withdrawals of a mode that have not ended.
func TestDraw_tooMany(t *testing.T) {
	t.Parallel()
	w := open(t)
	entry, err := add(t, w, sandbox, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, _, err := request(t, w, sandbox, entry, "5"); err != nil {
			t.Fatalf("withdraw one of a hundred: got %v, want no error", err)
		}
	}
	_, _, err = request(t, w, sandbox, entry, "5")
	is(t, "withdraw beyond a hundred", err, "too_many_withdrawals")
	w.SQL(`UPDATE draws SET state = 'confirmed' WHERE id = (SELECT min(id) FROM draws)`)
	if _, _, err := request(t, w, sandbox, entry, "5"); err != nil {
		t.Errorf("withdraw after one has ended: got %v, want no error", err)
	}
	entry, err = add(t, w, live, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := request(t, w, live, entry, "5"); err != nil {
		t.Errorf("withdraw in the other mode: got %v, want no error", err)
	}
}

// worthless has prices without a worth in dollars.
type worthless struct{ rate.Aggregator }

func (worthless) Quote(c money.Currency, asset string) (quote.Rate, error) {
	return quote.Rate{Fiat: c, Crypto: asset, Value: decimal.NewFromInt(1500)}, nil
}

// A price without a worth in dollars prices no withdrawal: nothing would count towards the limits.
func TestDraw_withoutWorth(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.With(func(d *fixture.Deps) {
		d.Providers = map[tenant.Mode]provider.Set{tenant.Live: {Rates: worthless{fixed.New(time.Now)}}}
	})
	entry, err := add(t, w, live, "ethereum", payee)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = request(t, w, live, entry, "10")
	is(t, "withdraw at a price without a worth", err, "rate_unavailable")
}
