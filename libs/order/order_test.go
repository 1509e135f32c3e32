package order_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
)

var (
	good = order.Order{
		Kind: order.Refund, ID: "rfd_01", Mode: tenant.Live, Network: "ethereum", Asset: "USDT",
		Contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7", Amount: "25000000", To: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
		Approval: order.Automatic,
	}
	key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte("k"), ed25519.SeedSize))
)

// changes is a good order with one field changed.
func changes() map[string]order.Order {
	out := map[string]order.Order{}
	change := func(name string, f func(o *order.Order)) {
		o := good
		f(&o)
		out[name] = o
	}
	change("kind", func(o *order.Order) { o.Kind = order.Withdrawal })
	change("id", func(o *order.Order) { o.ID = "rfd_02" })
	change("mode", func(o *order.Order) { o.Mode = tenant.Test })
	change("network", func(o *order.Order) { o.Network = "polygon" })
	change("asset", func(o *order.Order) { o.Asset = "USDC" })
	change("contract", func(o *order.Order) { o.Contract = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48" })
	change("amount", func(o *order.Order) { o.Amount = "25000001" })
	change("destination", func(o *order.Order) { o.To = "0x000000000000000000000000000000000000dEaD" })
	change("approval", func(o *order.Order) { o.Approval = order.Operator })
	return out
}

func TestOrder_verify(t *testing.T) {
	signature := good.Sign(key)
	public := key.Public().(ed25519.PublicKey)
	if err := good.Verify(public, signature); err != nil {
		t.Errorf("verify an order that is unchanged: got %v, want none", err)
	}
	for name, o := range changes() {
		if o.Verify(public, signature) == nil {
			t.Errorf("verify an order with another %s: got no error, want one", name)
		}
	}
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte("o"), ed25519.SeedSize))
	for name, refused := range map[string]error{
		"another key":       good.Verify(other.Public().(ed25519.PublicKey), signature),
		"no key":            good.Verify(nil, signature),
		"no signature":      good.Verify(public, ""),
		"a short signature": good.Verify(public, signature[:40]),
		"a bare message":    good.Verify(public, base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte("rfd_01")))),
	} {
		if refused == nil {
			t.Errorf("verify an order with %s: got no error, want one", name)
		}
	}
}

// A changed message would make the signatures of an earlier release invalid.
func TestOrder_message(t *testing.T) {
	const want = "000000126361757365776179206f726465722076310a00000006726566756e64000000067266645f3031000000046c69" +
		"766500000008657468657265756d00000004555344540000002a30786441433137463935384432656535323361323230" +
		"36323036393934353937433133443833316563370000000832353030303030300000002a307839383538456646443233" +
		"324234303333453437643930303033443431454333344563614564613934000000096175746f6d61746963"
	if got := hex.EncodeToString(good.Message()); got != want {
		t.Errorf("write the message of an order: got %s, want %s", got, want)
	}
}

func TestOrder_check(t *testing.T) {
	if err := good.Check(); err != nil {
		t.Fatalf("check a good order: got %v, want none", err)
	}
	for name, f := range map[string]func(o *order.Order){
		"no kind":             func(o *order.Order) { o.Kind = "" },
		"no id":               func(o *order.Order) { o.ID = "" },
		"an id with a space":  func(o *order.Order) { o.ID = "rfd 01" },
		"a long id":           func(o *order.Order) { o.ID = strings.Repeat("r", 81) },
		"no mode":             func(o *order.Order) { o.Mode = "" },
		"another network":     func(o *order.Order) { o.Network = "dogecoin" },
		"another asset":       func(o *order.Order) { o.Asset = "DOGE" },
		"no contract":         func(o *order.Order) { o.Contract = "" },
		"a contract too many": func(o *order.Order) { o.Asset = "ETH" },
		"no destination":      func(o *order.Order) { o.To = "" },
		"a long destination":  func(o *order.Order) { o.To = strings.Repeat("1", 129) },
		"no approval":         func(o *order.Order) { o.Approval = "" },
		"no amount":           func(o *order.Order) { o.Amount = "" },
		"an amount of zero":   func(o *order.Order) { o.Amount = "0" },
		"a leading zero":      func(o *order.Order) { o.Amount = "025" },
		"a fraction":          func(o *order.Order) { o.Amount = "2.5" },
		"a negative amount":   func(o *order.Order) { o.Amount = "-25" },
		"a huge amount":       func(o *order.Order) { o.Amount = strings.Repeat("9", 79) },
	} {
		o := good
		f(&o)
		if o.Check() == nil {
			t.Errorf("check an order with %s: got no error, want one", name)
		}
	}
}

// Two different orders never have one message, whatever their fields hold.
func TestOrder_messagesDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOfN(rapid.RuneFrom([]rune{'a', 'b', '\n', 0, 1}), 0, 4, -1)
		draw := func(name string) order.Order {
			return order.Order{
				Kind: order.Kind(part.Draw(t, name+" kind")), ID: part.Draw(t, name+" id"), Mode: tenant.Mode(part.Draw(t, name+" mode")),
				Network: part.Draw(t, name+" network"), Asset: part.Draw(t, name+" asset"), Contract: part.Draw(t, name+" contract"),
				Amount: part.Draw(t, name+" amount"), To: part.Draw(t, name+" to"), Approval: order.Approval(part.Draw(t, name+" approval")),
			}
		}
		a, b := draw("first"), draw("second")
		if same := bytes.Equal(a.Message(), b.Message()); same != (a == b) {
			t.Errorf("write the messages of %+v and %+v: got the same %v, want %v", a, b, same, a == b)
		}
	})
}

func FuzzOrder_messagesDiffer(f *testing.F) {
	f.Add("rfd_01", "ethereum", "rfd_0", "1ethereum")
	f.Fuzz(func(t *testing.T, id, network, otherID, otherNetwork string) {
		a, b := good, good
		a.ID, a.Network, b.ID, b.Network = id, network, otherID, otherNetwork
		if same := bytes.Equal(a.Message(), b.Message()); same != (a == b) {
			t.Errorf("write the messages of %+v and %+v: got the same %v, want %v", a, b, same, a == b)
		}
	})
}

func TestParseKey(t *testing.T) {
	seed := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), ed25519.SeedSize))
	if got, err := order.ParseKey(seed); err != nil || !got.Equal(key) {
		t.Errorf("parse a seed: got %v, want its key", err)
	}
	for _, bad := range []string{"", "k", seed[:20], seed + seed} {
		if _, err := order.ParseKey(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("parse a text that is no seed: got %v, want an error without the text", err)
		}
	}
}
