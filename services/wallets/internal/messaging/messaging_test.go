package messaging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/wallet"
)

type recorder struct {
	handlers map[string]func(context.Context, bus.Message) error
	calls    []string
}

func (r *recorder) Handle(queue string, _ int, h func(context.Context, bus.Message) error) {
	r.handlers[queue] = h
}

func (r *recorder) HandleAll(queue string, _ int, h func(context.Context, []bus.Message) []error) {
	r.handlers[queue] = func(ctx context.Context, m bus.Message) error { return errors.Join(h(ctx, []bus.Message{m})...) }
}

func (r *recorder) Allocate(_ context.Context, messageID string, q wallet.Request) error {
	r.calls = append(r.calls, fmt.Sprint("allocate ", messageID, " ", q))
	return nil
}

func (r *recorder) NoteTraces(_ context.Context, used []wire.UsedAddress) error {
	r.calls = append(r.calls, fmt.Sprint("traces ", used))
	return nil
}

func (r *recorder) Simulate(_ context.Context, messageIDs []string, all []app.Simulate) error {
	r.calls = append(r.calls, fmt.Sprint("simulate ", messageIDs, " ", all))
	return nil
}

func (r *recorder) LookAtTransaction(_ context.Context, l app.LookAt, _ bool) error {
	r.calls = append(r.calls, fmt.Sprint("look at ", l))
	return nil
}

func (r *recorder) TakeRefund(_ context.Context, o wire.RefundApproved) error {
	r.calls = append(r.calls, fmt.Sprint("refund ", o))
	return nil
}

func (r *recorder) WithdrawRefund(_ context.Context, o order.Order) error {
	r.calls = append(r.calls, fmt.Sprint("withdraw ", o.ID))
	return nil
}

func (r *recorder) PauseRefunds(_ context.Context, p wire.RefundsPaused) error {
	r.calls = append(r.calls, fmt.Sprint("pause ", p.Version))
	return nil
}

func (r *recorder) FindTransfer(_ context.Context, messageID string, f wire.FindTransfer) error {
	r.calls = append(r.calls, fmt.Sprint("find ", messageID, " ", f))
	return nil
}

func TestConsume(t *testing.T) {
	r := &recorder{handlers: map[string]func(context.Context, bus.Message) error{}}
	Consume(r, r)
	if len(r.handlers) != 8 {
		t.Fatalf("%d handlers", len(r.handlers))
	}
	for queue, body := range map[string]any{
		"wallets.wallets.allocate_addresses.v1":   wire.AllocateAddresses{RequestID: "r", Mode: tenant.Test, Family: money.EVM, Count: 5},
		"wallets.payments.simulate_deposit.v1":    wire.SimulateDeposit{RequestID: "s", Address: "a", Network: "n", Asset: "X", Amount: "7", Confirmations: 3},
		"wallets.payments.look_at_transaction.v1": wire.LookAtTransaction{Mode: tenant.Live, Network: "base", Address: "a", Asset: "ETH", TxHash: "0x"},
		"wallets.payments.find_transfer.v1":       wire.FindTransfer{RequestID: "f", Mode: tenant.Live, Network: "base", Address: "a", TxHash: "0x"},
		"wallets.payments.addresses_used.v1":      wire.AddressesUsed{Addresses: []wire.UsedAddress{{Address: "a", Trace: "t"}}},
		"wallets.payments.refund_approved.v1":     wire.RefundApproved{Approved: order.Approved{Order: order.Order{ID: "rfd_1", Amount: "5"}, Signature: "s"}},
	} {
		h := r.handlers[queue]
		if h == nil {
			t.Fatalf("nobody reads %s", queue)
		}
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if err := h(t.Context(), bus.Message{ID: "m", Body: b}); err != nil {
			t.Error(err)
		}
		for _, bad := range []string{"", "{", "[]", `"x"`, `{"count":"many","amount":5,"addresses":1,"txHash":1}`} {
			if err := h(t.Context(), bus.Message{ID: "m", Body: []byte(bad)}); !fault.IsPermanent(err) {
				t.Errorf("%s: %q gives %v: no retry cures it", queue, bad, err)
			}
		}
	}
	if len(r.calls) != 6 {
		t.Errorf("consume six good messages: got the calls %v", r.calls)
	}
}

func TestOut_addressesAllocated(t *testing.T) {
	a := wallet.Allocation{Request: wallet.Request{ID: "r", Mode: tenant.Test, Family: money.EVM, Count: 1001}}
	for i := range 1001 {
		a.Addresses = append(a.Addresses, wallet.Address{WalletID: fmt.Sprint("w", i), Address: fmt.Sprint("a", i)})
	}
	msgs, err := Out{}.AddressesAllocated(t.Context(), a)
	if err != nil || len(msgs) != 3 {
		t.Fatalf("%d messages, %v", len(msgs), err)
	}
	next := 0
	for i, m := range msgs {
		var p wire.AddressesAllocated
		if err := json.Unmarshal(m.Body, &p); err != nil {
			t.Fatal(err)
		}
		if p.Part != i+1 || p.Parts != 3 || len(p.Addresses) > wire.AddressesMax || m.ID != fmt.Sprint("r:", i+1) {
			t.Errorf("part %d of %d with %d addresses, id %s", p.Part, p.Parts, len(p.Addresses), m.ID)
		}
		for _, each := range p.Addresses {
			if each.Address != fmt.Sprint("a", next) || each.WalletID != fmt.Sprint("w", next) {
				t.Fatalf("%v out of order", each)
			}
			next++
		}
	}
	if next != 1001 {
		t.Errorf("%d addresses", next)
	}
}

func TestOut_depositChanged(t *testing.T) {
	at := time.Date(2026, 4, 1, 15, 30, 0, 5e6, time.FixedZone("", 7200))
	d := wallet.Deposit{
		Sighting: wallet.Sighting{
			ID: wallet.ID{TxHash: "0xaa", Ordinal: 3}, Address: "0xus", Asset: "USDT", Contract: "0xc", Amount: big.NewInt(25_000_000),
			Senders: []string{"0xp"}, BlockHeight: 10, BlockHash: "0xb", BlockTime: at,
		},
		Mode: tenant.Live, Family: money.EVM, Network: "ethereum", Version: 4, State: wallet.Confirmed, Depth: 12, Head: 21, FirstSeenAt: at,
	}
	m, err := Out{}.DepositChanged(t.Context(), d, 7)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"key":"ethereum:0xaa:3","version":4,"mode":"live","family":"evm","network":"ethereum","address":"0xus","asset":"USDT",` +
		`"contract":"0xc","txHash":"0xaa","state":"confirmed","blockHeight":10,"blockHash":"0xb","blockTime":"2026-04-01T13:30:00.005Z",` +
		`"amount":"25000000","depth":12,"head":21,"finalized":false,"firstSeenAt":"2026-04-01T13:30:00.005Z","senders":["0xp"],"number":7}`
	if string(m.Body) != want || m.ID != "live:ethereum:0xaa:3:4" || m.Name != wire.DepositChangedV1 {
		t.Errorf("write the message of a deposit: got %s\n%s\nwant\n%s", m.ID, m.Body, want)
	}
}
