package door

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/cmd/signer/internal/policy"
	"causeway.internal/services/wallets/internal/intent"
)

// tronRefundRules are the rules with refunds of TRX, each of which may have two forms.
func tronRefundRules() string {
	return strings.Replace(refundRules(), `"bitcoin":{"treasury"`, `"tron":{"treasury":"TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC","countPerHour":30,
"assets":{"TRX":{"perHour":"1000","refundPerHour":"1000","automaticPerHour":"1000"}},"fund":{"most":"50","perHour":"80"},
"tron":{"maxFeeLimit":"100","expiresWithin":600,"expiryMargin":60,"formsPerOrder":2,"lend":{"most":"70","perHour":"90"}}},"bitcoin":{"treasury"`, 1)
}

// tronRefund asks for a form of an order at a time, in place of another.
func tronRefund(id, orderID, follows string, at time.Time) intent.Request {
	const payer = "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH"
	o := order.Order{
		Kind: order.Refund, ID: orderID, Mode: tenant.Live, Network: "tron", Asset: "TRX", Amount: "5", To: payer, Approval: order.Automatic,
	}
	return intent.Request{
		ID: id, Kind: intent.Refund, Network: "tron", Asset: "TRX", Amount: "5", To: payer,
		Order: new(o.Approve(automatic, began)),
		Tron: &intent.Tron{
			Block: hex.EncodeToString(make([]byte, 32)), Expiration: at.Add(5 * time.Minute).UnixMilli(), Follows: follows,
		},
	}
}

// An order on tron has a bounded number of forms, for ever. Each form names the newest one and is signed once that one
// has expired. So a planner that has lost its rows gets no form, nor does one that names a foreign hash.
func TestHandler_tronForms(t *testing.T) {
	d := openWith(t, nil, tronRefundRules())
	first, err := d.Sign(tronRefund("a-1", "rfd_1", "", d.at))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what, follows, want string) {
		t.Helper()
		if _, err := d.Sign(tronRefund(what, "rfd_1", follows, d.at)); code(err) != want {
			t.Errorf("%s: got %v, want %s", what, code(err), want)
		}
	}
	refused("sign a form that may land beside the first", first.TxHash, intent.Expiry)
	d.at = d.at.Add(7 * time.Minute)
	d = openWith(t, d, tronRefundRules())
	refused("sign a form that names none", "", intent.OrderSpent)
	refused("sign a form that names a foreign one", strings.Repeat("ab", 32), intent.OrderSpent)
	if _, err := d.Sign(tronRefund("b-1", "rfd_2", first.TxHash, d.at)); code(err) != intent.OrderSpent {
		t.Errorf("sign the first form of an order in place of another's: got %v, want %s", code(err), intent.OrderSpent)
	}
	other := tronRefund("a-3", "rfd_1", first.TxHash, d.at)
	other.Order.Amount, other.Amount = "6", "6"
	other.Order = new(other.Order.Approve(automatic, began))
	if _, err := d.Sign(other); code(err) != intent.OrderSpent {
		t.Errorf("sign another order under the same id: got %v, want %s", code(err), intent.OrderSpent)
	}
	dear := tronRefund("a-4", "rfd_1", first.TxHash, d.at)
	dear.Tron.FeeLimit = 1
	if _, err := d.Sign(dear); code(err) != intent.Malformed {
		t.Errorf("sign a malformed second form: got %v, want the reason %s", code(err), intent.Malformed)
	}
	second, err := d.Sign(tronRefund("a-2", "rfd_1", first.TxHash, d.at))
	if err != nil || second.TxHash == first.TxHash || second.From != first.From {
		t.Fatalf("sign the second form after the first has expired: got %+v, %v, want another of the same station", second, err)
	}
	for n, after := range []time.Duration{7 * time.Minute, policy.Window, remember} {
		d.at = d.at.Add(after)
		d = openWith(t, d, tronRefundRules())
		what := fmt.Sprint("sign a third form, try ", n)
		refused(what, second.TxHash, intent.Forms)
		refused(what+" in place of the first", first.TxHash, intent.OrderSpent)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
