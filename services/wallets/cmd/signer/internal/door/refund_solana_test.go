package door

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

var solanaNonce = soltx.Account{8}.String()

// solanaRules are the rules with refunds of SOL.
func solanaRules() string {
	return strings.Replace(refundRules(), `"networks":{`, `"networks":{"solana":{"treasury":"`+soltx.Account{9}.String()+`","countPerHour":30,
"solana":{"maxFee":"20000","nonces":["`+soltx.Account{10}.String()+`"],"refundNonces":["`+solanaNonce+`"]},
"assets":{"SOL":{"perHour":"1000","refundPerHour":"1000","automaticPerHour":"1000"}}},`, 1)
}

// solanaRefund asks for the order of five lamports.
func solanaRefund(d *fixture, id string, change func(s *intent.Solana)) (intent.Signed, error) {
	told, err := d.Stations()
	if err != nil {
		return intent.Signed{}, err
	}
	payer, err := d.vault.Solana(500)
	if err != nil {
		return intent.Signed{}, err
	}
	o := order.Order{Kind: order.Refund, ID: "rfd_1", Mode: tenant.Live, Network: "solana", Asset: "SOL", Amount: "5", To: payer.String(), Approval: order.Automatic}
	r := intent.Request{
		ID: id, Kind: intent.Refund, Network: "solana", Asset: "SOL", Amount: "5", To: o.To, Order: new(o.Approve(automatic, began)),
		Solana: &intent.Solana{Station: told.Refunds["solana"], NonceAt: solanaNonce, Nonce: soltx.Account{7}.String(), UnitLimit: 3_000, UnitPrice: 1},
	}
	if change != nil {
		change(r.Solana)
	}
	return d.Sign(r)
}

// The signer cannot tell a durable nonce from a recent block hash, under which two forms could land. So an order
// has one form for ever, whatever wallets names it.
func TestHandler_solanaOrderHasOneForm(t *testing.T) {
	d := openWith(t, nil, solanaRules())
	first, err := solanaRefund(d, "a-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, after := range []time.Duration{0, time.Minute, 2 * time.Hour, remember + time.Hour} {
		if n > 0 {
			d.at = d.at.Add(after)
			d = openWith(t, d, solanaRules())
		}
		for name, change := range map[string]func(s *intent.Solana){
			"a higher price": func(s *intent.Solana) { s.UnitPrice = 2 },
			"another limit":  func(s *intent.Solana) { s.UnitLimit = 4_000 },
			"another nonce":  func(s *intent.Solana) { s.Nonce = soltx.Account{6}.String() },
		} {
			if _, err := solanaRefund(d, fmt.Sprint("b-", n, name), change); code(err) != intent.OrderSpent {
				t.Errorf("sign %s for the same order after %s: got %v, want %s", name, after, code(err), intent.OrderSpent)
			}
		}
		if got, err := solanaRefund(d, fmt.Sprint("c-", n), nil); err != nil || got.Raw != first.Raw {
			t.Errorf("sign the first form again after %s: got %+v, %v, want the same bytes", after, got, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
