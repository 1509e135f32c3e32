//go:build integration

package banks_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/libs/config"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/bank"
	"causeway.internal/services/payments/internal/banks"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail/paystack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lists is a process that reads the rails' lists of banks, with its metrics.
type lists struct {
	banks.Refresher
	refused map[banks.Place]bool
	count   map[banks.Place]int
}

func open(w *fixture.Payments, sets map[tenant.Mode]provider.Set) lists {
	l := lists{refused: map[banks.Place]bool{}, count: map[banks.Place]int{}}
	l.Refresher = banks.Refresher{
		Banks: &banks.Banks{Store: w.Store, Sets: sets, Log: w.Deps.Log}, Every: 24 * time.Hour,
		Metrics: banks.Metrics{
			Listed:  func(p banks.Place, n int, _ time.Duration) { l.count[p] = n },
			Refused: func(p banks.Place, refused bool) { l.refused[p] = refused },
		},
	}
	return l
}

// aDayLater makes every list old and reads the lists again.
func (l lists) aDayLater(w *fixture.Payments) {
	w.T.Helper()
	w.SQL(`UPDATE rail_banks SET read_at = read_at - interval '25 hours'`)
	if err := l.Refresh(w.T.Context()); err != nil {
		w.T.Fatalf("Refresh() = %v, want no error", err)
	}
}

// names are the banks of GET /v1/banks in NGN.
func names(w *fixture.Payments) string {
	w.T.Helper()
	body, err := w.Receivers.Banks(tenant.Test, money.NGN, "")
	var answer struct{ Banks []struct{ Code, Name string } }
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		w.T.Fatal(err)
	}
	var out []string
	for _, b := range answer.Banks {
		out = append(out, b.Code+" "+b.Name)
	}
	return strings.Join(out, ", ")
}

// at is a transfer to an account at a bank.
func at(code string) payment.Command {
	c := fixture.Command()
	c.Receiver.BankCode = code
	return c
}

var (
	gtb    = bank.Bank{Name: "Guaranty Trust Bank", Code: "058", Kind: "nuban"}
	rubies = bank.Bank{Name: "Rubies MFB", Code: "125", Kind: "nuban"}
	vfd    = bank.Bank{Name: "VFD Microfinance Bank", Code: "566", Kind: "nuban"}
	wema   = bank.Bank{Name: "Wema", Code: "035", Kind: "nuban"}
)

// The banks of the API are those of the rails' own lists, and of the table in the program until there is a list. They
// outlast a restart and a rail that is down.
func TestBanks_areTheRailsOwn(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	w.Fill(4)
	if before := names(w); !strings.Contains(before, "044 Access Bank") || strings.Contains(before, "Rubies") {
		t.Errorf("without a list: %s, want the table", before)
	}
	b.List(bank.Paystack, "NGN", gtb, rubies, vfd, bank.Bank{Name: "A wallet", Code: "MPX", Kind: "mobile_money"})
	b.List(bank.Flutterwave, "NGN", bank.Bank{Name: "GTBank Plc", Code: "000013"}, bank.Bank{Name: "rubies mfb", Code: "090175"}, bank.Bank{Name: "OPay", Code: "100004"})
	l := open(w, w.Deps.Providers)
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = "058 Guaranty Trust Bank, 125 Rubies MFB, 566 VFD Microfinance Bank, 999992 OPay"
	if got := names(w); got != want {
		t.Errorf("banks %q, want %q", got, want)
	}
	if n := l.count[banks.Place{Rail: bank.Paystack, Currency: money.NGN}]; n != 4 {
		t.Errorf("the metric says %d banks, want 4", n)
	}
	w.Make(at("125"))
	w.Make(at("090175")) // the same bank by the code of the other rail
	for _, code := range []string{"044", "MPX", "777"} {
		if _, err := w.Create(at(code), idempotency.Key{}); fault.As(err).Kind != fault.Invalid {
			t.Errorf("a payment to bank %s = %v, want a refusal", code, err)
		}
	}

	b.Down(bank.Paystack, true) // and payments starts anew
	again, err := paystack.New(paystack.Options{
		Base: b.Base(bank.Paystack), Keys: map[money.Currency]config.Secret{money.NGN: bank.PaystackKey}, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	set := w.Deps.Providers[tenant.Test]
	set.Rail = again
	sets := map[tenant.Mode]provider.Set{tenant.Test: set}
	w.With(func(d *fixture.Deps) { d.Providers = sets })
	restarted := open(w, sets)
	restarted.aDayLater(w)
	if got := names(w); got != want {
		t.Errorf("after a restart without the rail: banks %q, want %q", got, want)
	}
}

// A payment that was made with a bank is paid although the rail's list has lost that bank meanwhile, and no new one is
// made with it.
func TestBanks_aPaymentOutlastsItsBank(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	w.Fill(2)
	b.List(bank.Paystack, "NGN", gtb, rubies, vfd)
	b.List(bank.Flutterwave, "NGN", bank.Bank{Name: "GTBank Plc", Code: "058"})
	l := open(w, w.Deps.Providers)
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := w.Make(at("125"))
	b.List(bank.Paystack, "NGN", gtb, vfd)
	l.aDayLater(w)
	if got := names(w); strings.Contains(got, "Rubies") {
		t.Errorf("banks %q, want them without Rubies", got)
	}
	if _, err := w.Create(at("125"), idempotency.Key{}); fault.As(err).Kind != fault.Invalid {
		t.Errorf("a new payment to the bank that is gone = %v, want a refusal", err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.WorkUntil(p, "settled")
	if line, ok := b.Find(bank.Paystack, payout.Reference(p.Reference, 1)); !ok || line.Bank != "nuban 125" {
		t.Errorf("the transfer is %+v, %t; want one to nuban 125", line, ok)
	}
	w.Balanced()
}

// A list that loses more than half of its banks, or all, is refused until an operator trusts it.
func TestBanks_aShortListIsRefused(t *testing.T) {
	t.Parallel()
	w, b := fixture.Railed(t)
	place := banks.Place{Rail: bank.Paystack, Currency: money.NGN}
	b.List(bank.Paystack, "NGN", gtb, rubies, vfd, wema)
	b.List(bank.Flutterwave, "NGN", bank.Bank{Name: "GTBank Plc", Code: "058"})
	l := open(w, w.Deps.Providers)
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	full := names(w)
	for _, short := range [][]bank.Bank{{gtb}, nil} {
		b.List(bank.Paystack, "NGN", short...)
		l.aDayLater(w)
		if got := names(w); got != full || !l.refused[place] {
			t.Errorf("with %d banks in the list: banks %q, refused: %t; want %q and a refusal", len(short), got, l.refused[place], full)
		}
	}
	b.List(bank.Paystack, "NGN", gtb)
	if found, err := w.Store.TrustBanks(t.Context(), place, "ada", "they closed"); err != nil || !found {
		t.Fatalf("TrustBanks() = %t, %v; want a list", found, err)
	}
	if err := l.Refresh(t.Context()); err != nil { // though the list is not old
		t.Fatal(err)
	}
	if got := names(w); got != "058 Guaranty Trust Bank" || l.refused[place] {
		t.Errorf("after the operator's trust: banks %q, refused: %t", got, l.refused[place])
	}
	b.List(bank.Paystack, "NGN", gtb, wema)
	l.aDayLater(w)
	if trusted := fixture.Ask[bool](w, `SELECT bool_or(trusted) FROM rail_banks`); trusted {
		t.Error("the trust is for more than one list")
	}
	refused := slices.Collect(maps.Values(l.refused))
	if slices.Contains(refused, true) {
		t.Errorf("refused: %v, want none", l.refused)
	}
}
