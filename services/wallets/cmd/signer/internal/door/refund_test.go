package door

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/intent"
)

var (
	automatic = ed25519.NewKeyFromSeed(bytes.Repeat([]byte("a"), ed25519.SeedSize))
	operator  = ed25519.NewKeyFromSeed(bytes.Repeat([]byte("o"), ed25519.SeedSize))
)

// refundRules are the rules with refunds of ETH.
func refundRules() string {
	public := func(k ed25519.PrivateKey) string {
		return base64.StdEncoding.EncodeToString(k.Public().(ed25519.PublicKey))
	}
	return strings.NewReplacer(`"networks"`, fmt.Sprintf(`"refundAccount":2,"orders":{"automatic":"%s","operator":"%s"},"networks"`,
		public(automatic), public(operator)), `"ETH":{"perHour":"1000"}`, `"ETH":{"perHour":"1000","refundPerHour":"1000","automaticPerHour":"1000"}`,
		`"countPerHour":3`, `"countPerHour":30`).Replace(rules)
}

// refund asks for an order under a number of the refund station.
func refund(id, orderID, amount string, nonce uint64) intent.Request {
	const payer = "0x00000000000000000000000000000000000000bb"
	o := order.Order{
		Kind: order.Refund, ID: orderID, Mode: tenant.Live, Network: "ethereum", Asset: "ETH", Amount: amount, To: payer, Approval: order.Automatic,
	}
	return intent.Request{
		ID: id, Kind: intent.Refund, Network: "ethereum", Asset: "ETH", Amount: amount, To: payer,
		Order: new(o.Approve(automatic, began)),
		EVM:   &intent.EVM{ChainID: 1, Nonce: nonce, Gas: 21_000, MaxFee: "10", Tip: "1"},
	}
}

// An order has one number of the refund station for ever: after a restart, after the hour of the limits, and after the
// month for which answers are repeated.
func TestHandler_orderIsSpentOnce(t *testing.T) {
	d := openWith(t, nil, refundRules())
	first, err := d.Sign(refund("a-1", "rfd_1", "5", 4))
	if err != nil {
		t.Fatal(err)
	}
	raised := refund("a-2", "rfd_1", "5", 4)
	raised.EVM.MaxFee = "20"
	if got, err := d.Sign(raised); err != nil || got.Raw == first.Raw || got.From != first.From {
		t.Errorf("sign a replacement under the same number: got %+v, %v, want other bytes of the station", got, err)
	}
	for n, after := range []time.Duration{0, 0, 2 * time.Hour, remember + time.Hour} {
		if n > 0 {
			d.at = d.at.Add(after)
			d = openWith(t, d, refundRules())
		}
		if _, err := d.Sign(refund(fmt.Sprint("b-", n), "rfd_1", "5", 5)); code(err) != intent.OrderSpent {
			t.Errorf("sign another number for the same order after %s: got %v, want %s", after, code(err), intent.OrderSpent)
		}
		if _, err := d.Sign(refund(fmt.Sprint("c-", n), "rfd_1", "6", 4)); code(err) != intent.OrderSpent {
			t.Errorf("sign another order under the same id after %s: got %v, want %s", after, code(err), intent.OrderSpent)
		}
	}
	again := refund("d", "rfd_1", "5", 4)
	if got, err := d.Sign(again); err != nil || got.Raw != first.Raw {
		t.Errorf("sign the first form after two months: got %+v, %v, want the same bytes", got, err)
	}
	if _, err := d.Sign(refund("e", "rfd_2", "5", 5)); err != nil {
		t.Errorf("sign another order under another number: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestHandler_refundStations(t *testing.T) {
	d := openWith(t, nil, refundRules())
	told, err := d.Stations()
	if err != nil || told.Refunds["evm"] == "" || told.Refunds["evm"] == told.EVM ||
		told.Refunds["tron"] == "" || told.Refunds["tron"] == told.Tron {
		t.Errorf("read the stations: got %+v, %v, want refund stations of their own", told, err)
	}
	d = open(t, d)
	if told, err = d.Stations(); err != nil || len(told.Refunds) > 0 {
		t.Errorf("read the stations without keys of orders: got %+v, %v, want no refund station", told, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// An order for which something was signed is spent even if the policy refuses it now, because wallets fails a refund
// whose order is refused for another reason.
func TestHandler_orderIsSpentBeforeItIsRefused(t *testing.T) {
	d := openWith(t, nil, refundRules())
	if _, err := d.Sign(refund("a", "rfd_1", "5", 4)); err != nil {
		t.Fatal(err)
	}
	stricter := strings.ReplaceAll(refundRules(), `,"refundPerHour":"1000","automaticPerHour":"1000"`, "")
	d = openWith(t, d, stricter)
	for orderID, want := range map[string]string{"rfd_1": intent.OrderSpent, "rfd_2": intent.Asset} {
		if _, err := d.Sign(refund("b "+orderID, orderID, "5", 5)); code(err) != want {
			t.Errorf("sign %s under a policy without refunds: got %v, want %s", orderID, code(err), want)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
