package rail_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/libs/testkit/bank"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/flutterwave"
	"causeway.internal/services/payments/internal/rail/paystack"
	"causeway.internal/services/payments/internal/rail/self"
	"causeway.internal/services/payments/internal/rail/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// subject is one rail of the suite with its test bank. A new rail is one line in subjects.
type subject struct {
	rail.Provider
	bank *bank.Server // nil for rails without a network
	pays []money.Currency
}

func subjects(t *testing.T) map[string]subject {
	t.Helper()
	b := bank.Start(t)
	keys := map[money.Currency]config.Secret{}
	for _, cur := range money.Currencies() {
		keys[cur] = bank.PaystackKey
	}
	ps, err := paystack.New(paystack.Options{Base: b.Base(bank.Paystack), Keys: keys, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	fw, err := flutterwave.New(flutterwave.Options{Base: b.Base(bank.Flutterwave), Key: bank.FlutterwaveKey, Hash: bank.FlutterwaveHash, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]subject{
		sim.Name:         {sim.New(&paper{lines: map[string]sim.Transfer{}, ordered: map[string]sim.Outcome{}}, time.Now), nil, money.Currencies()},
		paystack.Name:    {ps, b, money.Currencies()},
		flutterwave.Name: {fw, b, []money.Currency{money.NGN, money.GHS, money.KES}},
		self.Name:        {self.Rail{}, nil, nil},
	}
}

// real are the rails with a network.
func real(t *testing.T) map[string]subject {
	all := subjects(t)
	delete(all, sim.Name)
	delete(all, self.Name)
	return all
}

// order is a good order of the currency.
func order(cur money.Currency, amount string) rail.Order {
	o := rail.Order{Ref: bank.Reference(), Amount: decimal.RequireFromString(amount), Currency: cur, Narration: "Causeway"}
	switch cur {
	case money.NGN:
		o.BankCode, o.AccountNumber, o.AccountName = "000013", "0123456789", "ADA OBI"
	case money.GHS:
		o.BankCode, o.AccountNumber, o.AccountName = "280100", "1234567890123", "KOFI MENSAH"
	case money.KES:
		o.BankCode, o.AccountNumber = "MPESA", "0712345678"
	case money.ZAR:
		o.BankCode, o.AccountNumber = "250655", "62001234567"
	}
	return o
}

func TestRail_namesItselfAndItsBanks(t *testing.T) {
	for name, r := range subjects(t) {
		if r.Name() != name || r.Caps().Simulated != (name == sim.Name) {
			t.Errorf("%s is called %s, simulated %v", name, r.Name(), r.Caps().Simulated)
		}
		ref := payout.Reference("CW-ABCDEFGHJKMN", 99)
		if c := r.Caps(); name != self.Name && (len(ref) < c.RefMin || len(ref) > c.RefMax || !rail.IsReference(ref)) {
			t.Errorf("%s refuses a reference of this system: %+v", name, c)
		}
		for _, cur := range money.Currencies() {
			listed := r.Banks(cur)
			pays := false
			for _, c := range r.pays {
				pays = pays || c == cur
			}
			if _, has := r.Caps().Currencies[cur]; pays != (len(listed) > 0) || has != pays {
				t.Errorf("%s: %d banks in %s", name, len(listed), cur)
			}
			for _, b := range listed {
				if !r.Pays(cur, b.Code) {
					t.Errorf("%s lists %s and does not pay it", name, b.Name)
				}
			}
			if name != sim.Name && r.Pays(cur, "no-such-bank") {
				t.Errorf("%s pays a bank that nobody knows", name)
			}
		}
	}
	if r := subjects(t)[flutterwave.Name]; r.Pays(money.KES, "68") || r.Pays(money.ZAR, "250655") || !r.Pays(money.KES, "mpesa") {
		t.Error("flutterwave pays where it wants papers that we do not have")
	}
}

// Where a rail resolves no names, the account has none.
func TestRail_names(t *testing.T) {
	for name, r := range subjects(t) {
		for _, cur := range money.Currencies() {
			o := order(cur, "1")
			a, err := r.Resolve(t.Context(), cur, o.BankCode, o.AccountNumber)
			if r.Caps().Currencies[cur].Resolves {
				if err != nil || a.Name == "" || !a.Verified || a.BankName == "" {
					t.Errorf("%s: Resolve in %s = %+v, %v; want a verified name at a bank", name, cur, a, err)
				}
				if _, err := r.Resolve(t.Context(), cur, o.BankCode, "0000000001"); !errors.Is(err, rail.ErrNotFound) {
					t.Errorf("%s %s: no such account: %v", name, cur, err)
				}
			} else if !errors.Is(err, rail.ErrUnsupported) || a.Name != "" || a.Verified || a.BankName == "" {
				t.Errorf("%s: Resolve in %s = %+v, %v; want a bank without a name and %v", name, cur, a, err, rail.ErrUnsupported)
			}
		}
	}
	for _, name := range []string{paystack.Name, flutterwave.Name} {
		r := real(t)[name]
		r.bank.Down(name, true)
		if _, err := r.Resolve(t.Context(), money.NGN, "058", "0123456789"); !errors.Is(err, rail.ErrUnavailable) {
			t.Errorf("%s is down: %v", name, err)
		}
		if r.Caps().Currencies[money.KES].Resolves || r.Caps().Currencies[money.ZAR].Resolves {
			t.Errorf("%s resolves in Kenya or South Africa", name)
		}
	}
}

// An order arrives with its exact amount and reference at the right type of account, and the answers agree with it.
func TestRail_paysWhatWasOrdered(t *testing.T) {
	where := map[string]string{
		"paystack NGN": "nuban 058 0123456789 ADA OBI", "paystack GHS": "ghipss 280100 1234567890123 KOFI MENSAH",
		"paystack KES": "mobile_money MPESA 0712345678 Account ending 5678", "paystack ZAR": "basa 250655 62001234567 Account ending 4567",
		"flutterwave NGN": "058 0123456789 ADA OBI", "flutterwave GHS": "GH280100 GH280103 1234567890123 KOFI MENSAH",
		"flutterwave KES": "MPS 254712345678 Account ending 5678",
	}
	for name, r := range subjects(t) {
		for _, cur := range r.pays {
			for _, amount := range []string{"1234.56", "1000", "0.01", "99999999.99"} {
				o := order(cur, amount)
				s, err := r.Send(t.Context(), o)
				if seen := rail.Sent(s, err); seen.Seen != payout.Accepted || seen.Ref != o.Ref || !seen.Amount.Equal(o.Amount) || seen.Currency != cur {
					t.Fatalf("%s: Send %s %s = %+v, %v; want it accepted with its reference and amount", name, cur, amount, seen, err)
				}
				if r.bank == nil {
					continue
				}
				s, err = r.Query(t.Context(), cur, o.Ref)
				if seen := rail.Queried(s, err); seen.Seen != payout.Success || seen.Ref != o.Ref || !seen.Amount.Equal(o.Amount) || seen.Currency != cur || !seen.Fee.IsPositive() {
					t.Errorf("%s: Query of %s %s = %+v, %v; want a success with its reference, amount and fee", name, cur, amount, seen, err)
				}
				line, _ := r.bank.Find(name, o.Ref)
				if got := line.Bank + " " + line.Account + " " + line.Name; got != where[name+" "+string(cur)] || r.bank.Made(name, o.Ref) != 1 {
					t.Errorf("%s %s went to %q", name, cur, got)
				}
				if !decimal.RequireFromString(line.Amount).Equal(o.Amount) {
					t.Errorf("%s %s: %s arrived for %s", name, cur, line.Amount, o.Amount)
				}
			}
		}
	}
}

// TestR2_aReferenceIsPaidOnce sends one reference several times.
func TestR2_aReferenceIsPaidOnce(t *testing.T) {
	for name, r := range subjects(t) {
		if len(r.pays) == 0 {
			continue
		}
		o := order(money.NGN, "500")
		var wait sync.WaitGroup
		var mu sync.Mutex
		seen := map[payout.Seen]int{}
		for range 8 {
			wait.Go(func() {
				s := rail.Sent(r.Send(t.Context(), o))
				mu.Lock()
				defer mu.Unlock()
				seen[s.Seen]++
			})
		}
		wait.Wait()
		if seen[payout.Accepted] != 1 || seen[payout.Unsure] != 7 {
			t.Errorf("%s: 8 parallel sends = %v, want 1 accepted and 7 unsure", name, seen)
		}
		if r.bank != nil && r.bank.Made(name, o.Ref) != 1 {
			t.Errorf("%s made %d transfers", name, r.bank.Made(name, o.Ref))
		}
	}
}

// TestR3_doubtIsUnknown checks the meaning of each answer of a rail (R3 and R4). After a doubtful answer, a query finds
// the transfer if and only if it was made.
func TestR3_doubtIsUnknownAndR4_onlyADefiniteNoIsOne(t *testing.T) {
	for name := range real(t) {
		for _, fault := range bank.Faults() {
			t.Run(name+" "+string(fault), func(t *testing.T) {
				t.Parallel()
				r := real(t)[name]
				r.bank.Decide(name, bank.Pending)
				o := order(money.NGN, "500")
				r.bank.Next(name, fault)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				s, err := r.Send(ctx, o)
				seen, want := rail.Sent(s, err), payout.Unsure
				switch fault {
				case bank.NoFunds:
					want = payout.NoFunds
				case bank.Refused:
					want = payout.Refused
				case bank.NoKey, bank.NoRecipient:
					want = payout.NotSent
				case bank.OtherAmount:
					want = payout.Accepted
				}
				if seen.Seen != want {
					t.Fatalf("Send = %s (%v), want %s", seen.Seen, err, want)
				}
				if seen.Seen == payout.Refused && seen.Reason == "" {
					t.Error("no reason")
				}
				if fault == bank.OtherAmount && seen.Amount.Equal(o.Amount) { // R7: the rules freeze it
					t.Error("the other amount is not reported")
				}
				made := r.bank.Made(name, o.Ref)
				if made > 0 && seen.Seen != payout.Unsure && seen.Seen != payout.Accepted {
					t.Fatalf("%d transfers were made", made)
				}
				asked := rail.Queried(r.Query(t.Context(), money.NGN, o.Ref))
				if made == 1 && asked.Seen != payout.Accepted || made == 0 && asked.Seen != payout.NoSuchRef {
					t.Errorf("%d made, the query says %s", made, asked.Seen)
				}
			})
		}
	}
}

// TestR5_noSuchReference checks that an unknown reference differs from a missing answer.
func TestR5_noSuchReference(t *testing.T) {
	for name, r := range subjects(t) {
		_, err := r.Query(t.Context(), money.NGN, bank.Reference())
		if !errors.Is(err, rail.ErrNoSuchRef) {
			t.Errorf("%s: Query of an unknown reference = %v, want %v", name, err, rail.ErrNoSuchRef)
		}
		if r.bank == nil {
			continue
		}
		r.bank.Down(name, true)
		if seen := rail.Queried(r.Query(t.Context(), money.NGN, bank.Reference())); seen.Seen != payout.Unsure {
			t.Errorf("%s is down: %s", name, seen.Seen)
		}
	}
	r := real(t)[flutterwave.Name]
	if _, err := r.Send(t.Context(), order(money.NGN, "1")); err != nil {
		t.Fatal(err)
	}
	r.bank.Unfiltered()
	if _, err := r.Query(t.Context(), money.NGN, bank.Reference()); err == nil || errors.Is(err, rail.ErrNoSuchRef) {
		t.Errorf("a list of other references is taken for an answer: %v", err)
	}
}

func TestRail_outcomes(t *testing.T) {
	for name, r := range real(t) {
		o := order(money.NGN, "500")
		r.bank.Decide(name, bank.Pending)
		if _, err := r.Send(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		for outcome, want := range map[string]payout.Seen{
			bank.Pending: payout.Accepted, bank.OTP: payout.Accepted, bank.Success: payout.Success, bank.Failed: payout.Failure,
		} {
			r.bank.Conclude(name, o.Ref, outcome)
			if seen := rail.Queried(r.Query(t.Context(), money.NGN, o.Ref)); seen.Seen != want || (want == payout.Failure && seen.Reason == "") {
				t.Errorf("%s: Query of a transfer that is %s = %+v, want %s", name, outcome, seen, want)
			}
		}
		r.bank.Conclude(name, o.Ref, "a state of next year")
		if seen := rail.Queried(r.Query(t.Context(), money.NGN, o.Ref)); seen.Seen != payout.Unsure {
			t.Errorf("%s: an unknown state is %s", name, seen.Seen)
		}
	}
}

// TestR6_webhooksAreVerifiedOnRawBytes checks that one changed byte, another key, or a missing header is a forgery, and
// that a genuine webhook yields a reference.
func TestR6_webhooksAreVerifiedOnRawBytes(t *testing.T) {
	for name, r := range subjects(t) {
		if r.bank == nil {
			if _, err := r.ParseWebhook(http.Header{}, []byte(`{}`)); !errors.Is(err, rail.ErrUnsupported) {
				t.Errorf("%s: ParseWebhook = %v, want %v", name, err, rail.ErrUnsupported)
			}
			continue
		}
		o := order(money.NGN, "500")
		if _, err := r.Send(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		header, body := r.bank.Webhook(name, o.Ref)
		if e, err := r.ParseWebhook(header, body); err != nil || e.Ref != o.Ref || e.Raw != rail.Succeeded {
			t.Errorf("%s: ParseWebhook = %+v, %v; want a success of %s", name, e, err, o.Ref)
		}
		if _, err := r.ParseWebhook(http.Header{}, body); !errors.Is(err, rail.ErrForged) {
			t.Errorf("%s without a signature: %v", name, err)
		}
		for key := range header {
			if key != "Content-Type" {
				forged := header.Clone()
				forged.Set(key, strings.Repeat("0", len(header.Get(key))))
				if _, err := r.ParseWebhook(forged, body); !errors.Is(err, rail.ErrForged) {
					t.Errorf("%s with another signature: %v", name, err)
				}
			}
		}
	}
	r := real(t)[paystack.Name]
	o := order(money.NGN, "500")
	if _, err := r.Send(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	header, body := r.bank.Webhook(paystack.Name, o.Ref)
	for i := 0; i < len(body); i += 7 {
		changed := bytes.Clone(body)
		changed[i] ^= 1
		if _, err := r.ParseWebhook(header, changed); !errors.Is(err, rail.ErrForged) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
}

// TestR10_theFloatIsKnown reads the float before a send.
func TestR10_theFloatIsKnown(t *testing.T) {
	for name, r := range real(t) {
		r.bank.Balance(name, "NGN", "1234.5")
		got, err := r.Balance(t.Context(), money.NGN)
		if err != nil || got.String() != "1234.5" {
			t.Errorf("%s: Balance = %s, %v; want 1234.5", name, got, err)
		}
		r.bank.Down(name, true)
		if _, err := r.Balance(t.Context(), money.NGN); err == nil {
			t.Errorf("%s is down and tells a balance", name)
		}
	}
}

// A bank that is not in the rail's own list, or a wallet's number that is not a phone number, is refused before the
// wire.
func TestRail_whatIsNotReachedIsNotSent(t *testing.T) {
	for name, r := range real(t) {
		for _, o := range []rail.Order{
			{Ref: bank.Reference(), Amount: decimal.NewFromInt(1), Currency: money.NGN, BankCode: "301", AccountNumber: "0123456789"},
			{Ref: bank.Reference(), Amount: decimal.NewFromInt(1), Currency: money.KES, BankCode: "MPESA", AccountNumber: "12345"},
			{Ref: bank.Reference(), Amount: decimal.NewFromInt(1), Currency: money.ZAR, BankCode: "nobody", AccountNumber: "12345678"},
		} {
			s, err := r.Send(t.Context(), o)
			if seen := rail.Sent(s, err); seen.Seen != payout.Refused || r.bank.Orders(name, o.Ref) != 0 {
				t.Errorf("%s: Send to the bank %s = %+v, %v; want it refused without an order", name, o.BankCode, seen, err)
			}
		}
	}
}

// The list of banks survives an outage of the rail, and the recipient's record is created once.
func TestRail_remembersItsBanks(t *testing.T) {
	for name, r := range real(t) {
		r.bank.Down(name, true)
		if seen := rail.Sent(r.Send(t.Context(), order(money.NGN, "1"))); seen.Seen != payout.NotSent {
			t.Errorf("%s is down: %s", name, seen.Seen)
		}
		r.bank.Down(name, false)
		if seen := rail.Sent(r.Send(t.Context(), order(money.NGN, "1"))); seen.Seen != payout.Accepted {
			t.Errorf("%s is back: %s", name, seen.Seen)
		}
		r.bank.Next(name, bank.NoRecipient) // a second creation of the record would fail
		if seen := rail.Sent(r.Send(t.Context(), order(money.NGN, "1"))); seen.Seen != payout.Accepted {
			t.Errorf("%s asks again for what it knows: %s", name, seen.Seen)
		}
	}
}

// FuzzWebhook checks that no input panics and that none without the right signature verifies.
func FuzzWebhook(f *testing.F) {
	f.Add("", []byte(`{}`))
	f.Add("zz", []byte(`{"event":"transfer.success","data":{"reference":"cw-abcdefghjkmn-1"}}`))
	f.Add(bank.FlutterwaveHash, []byte(`{"event":"transfer.completed","data":{"reference":"cw-abcdefghjkmn-1","status":"SUCCESSFUL"}}`))
	f.Add(strings.Repeat("a", 128), []byte{0xff, 0x00})
	ps, err := paystack.New(paystack.Options{Base: paystack.Base, Keys: map[money.Currency]config.Secret{money.NGN: bank.PaystackKey}, Now: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	fw, err := flutterwave.New(flutterwave.Options{Base: flutterwave.Base, Key: bank.FlutterwaveKey, Hash: bank.FlutterwaveHash, Now: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, signature string, body []byte) {
		h := http.Header{"X-Paystack-Signature": {signature}, "Verif-Hash": {signature}}
		if e, err := ps.ParseWebhook(h, body); !errors.Is(err, rail.ErrForged) {
			t.Fatalf("paystack took %+v %v", e, err)
		}
		e, err := fw.ParseWebhook(h, body)
		switch {
		case err == nil && (signature != bank.FlutterwaveHash || !rail.IsReference(e.Ref)):
			t.Fatalf("flutterwave took %+v", e)
		case err != nil && !errors.Is(err, rail.ErrForged) && !errors.Is(err, rail.ErrNoHint):
			t.Fatal(err)
		}
	})
}

// paper is the simulated bank's statement in memory.
type paper struct {
	mu      sync.Mutex
	lines   map[string]sim.Transfer
	ordered map[string]sim.Outcome
}

func (p *paper) Record(_ context.Context, t sim.Transfer) (sim.Transfer, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if recorded, ok := p.lines[t.Ref]; ok {
		return recorded, false, nil
	}
	p.lines[t.Ref] = t
	return t, true, nil
}

func (p *paper) Lookup(_ context.Context, ref string) (sim.Transfer, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.lines[ref]
	return t, ok, nil
}

func (p *paper) Order(context.Context, string, sim.Outcome, func(*sim.Transfer) error) error {
	return nil
}

func (p *paper) Ordered(context.Context, string) (sim.Outcome, error) { return "", nil }
