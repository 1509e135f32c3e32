package withdrawal_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/withdrawal"
)

// books applies changes as the store does, and checks every journal.
type books struct {
	t        interface{ Fatalf(string, ...any) }
	w        withdrawal.Withdrawal
	keys     map[string]bool
	accounts map[string]decimal.Decimal
	held     []string // references of payouts
	events   []string
}

func (b *books) take(c withdrawal.Change) {
	b.w = c.Withdrawal
	for _, j := range c.Journals {
		if err := j.Check(); err != nil || b.keys[j.Key] {
			b.t.Fatalf("journal %s = %v, written before: %v, want it balanced and new", j.Key, err, b.keys[j.Key])
		}
		b.keys[j.Key] = true
		for _, e := range j.Entries {
			amount := e.Amount
			if e.Side != e.Account.Normal {
				amount = amount.Neg()
			}
			b.accounts[e.Account.Code] = b.accounts[e.Account.Code].Add(amount)
		}
	}
	if c.Hold != nil {
		if slices.Contains(b.held, c.Hold.Reference) {
			b.t.Fatalf("payout %s is made twice, want one row for each reference", c.Hold.Reference)
		}
		b.held = append(b.held, c.Hold.Reference)
	}
	for i, e := range c.Events {
		if int(e.Sequence) != len(b.events)+1 {
			b.t.Fatalf("event %d of a change has sequence %d, want %d", i, e.Sequence, len(b.events)+1)
		}
		b.events = append(b.events, string(e.State))
	}
}

func asked(t interface{ Fatalf(string, ...any) }, available string, waits bool) *books {
	b := &books{t: t, keys: map[string]bool{}, accounts: map[string]decimal.Decimal{"merchant:m1:NGN": decimal.RequireFromString(available)}}
	c, err := withdrawal.Request(withdrawal.Withdrawal{
		ID: "wdr_1", Owner: tenant.Owner{MerchantID: "m1", Mode: tenant.Test}, Currency: "NGN", Amount: decimal.NewFromInt(100), Rail: "one",
		AccountID: "sac_1", Receiver: payment.Receiver{BankCode: "058", AccountNumber: "0123456789"},
	}, decimal.RequireFromString(available), waits, start)
	if err != nil {
		t.Fatalf("Request() = %v, want no error", err)
	}
	b.take(c)
	return b
}

func (b *books) outcome(o payout.Outcome, attempt int, over string) {
	b.take(b.w.After(o, payout.Payout{Attempt: attempt, Fee: decimal.NewFromInt(1)}, over, start))
}

func (b *books) is(account, want string) {
	if got := b.accounts[account]; !got.Equal(decimal.RequireFromString(want)) {
		b.t.Fatalf("%s of a withdrawal that is %s = %s, want %s", account, b.w.State, got, want)
	}
}

func TestWithdrawal_lives(t *testing.T) {
	for name, c := range map[string]struct {
		waits  bool
		do     func(*books)
		events string
		left   string // in the balance of 150
	}{
		"paid":                   {false, func(b *books) { b.outcome(payout.IsSending, 1, ""); b.outcome(payout.IsPaid, 1, "") }, "requested approved sending paid", "50"},
		"paid, found at once":    {false, func(b *books) { b.outcome(payout.IsPaid, 1, "") }, "requested approved sending paid", "50"},
		"paid, reported twice":   {false, func(b *books) { b.outcome(payout.IsPaid, 1, ""); b.outcome(payout.IsPaid, 1, "") }, "requested approved sending paid", "50"},
		"failed":                 {false, func(b *books) { b.outcome(payout.IsSending, 1, ""); b.outcome(payout.IsFailed, 1, "") }, "requested approved sending failed", "150"},
		"failed, reported twice": {false, func(b *books) { b.outcome(payout.IsFailed, 1, ""); b.outcome(payout.IsFailed, 1, "") }, "requested approved failed", "150"},
		"over another rail":      {false, func(b *books) { b.outcome(payout.IsFailed, 1, "two"); b.outcome(payout.IsPaid, 2, "") }, "requested approved sending paid", "50"},
		"both rails fail":        {false, func(b *books) { b.outcome(payout.IsFailed, 1, "two"); b.outcome(payout.IsFailed, 2, "") }, "requested approved failed", "150"},
		"returned":               {false, func(b *books) { b.outcome(payout.IsPaid, 1, ""); b.outcome(payout.IsReturned, 1, "") }, "requested approved sending paid returned", "150"},
		"returned without a win": {false, func(b *books) { b.outcome(payout.IsUnknown, 1, ""); b.outcome(payout.IsReturned, 1, "") }, "requested approved sending returned", "150"},
		"failure after success":  {false, func(b *books) { b.outcome(payout.IsPaid, 1, ""); b.outcome(payout.IsFailed, 1, "") }, "requested approved sending paid", "50"},
		"success after failure":  {false, func(b *books) { b.outcome(payout.IsFailed, 1, ""); b.outcome(payout.IsPaid, 1, "") }, "requested approved failed paid", "50"},
		"waits":                  {true, func(*books) {}, "requested", "50"},
		"operators approve": {true, func(b *books) {
			c, err := b.w.Approve(start)
			if err != nil {
				b.t.Fatalf("Approve() = %v, want no error", err)
			}
			b.take(c)
			b.outcome(payout.IsPaid, 1, "")
		}, "requested approved sending paid", "50"},
		"operators refuse": {true, func(b *books) {
			c, err := b.w.Refuse(false, start)
			if err != nil {
				b.t.Fatalf("Refuse() = %v, want no error", err)
			}
			b.take(c)
		}, "requested failed", "150"},
		"operators refuse one that has not left": {false, func(b *books) {
			c, err := b.w.Refuse(true, start)
			if err != nil {
				b.t.Fatalf("Refuse() = %v, want no error", err)
			}
			b.take(c)
		}, "requested approved failed", "150"},
		"operators refuse one that has not left the second rail": {false, func(b *books) {
			b.outcome(payout.IsSending, 1, "")
			b.outcome(payout.IsFailed, 1, "two")
			c, err := b.w.Refuse(true, start)
			if err != nil {
				b.t.Fatalf("Refuse() = %v, want no error", err)
			}
			b.take(c)
		}, "requested approved sending failed", "150"},
	} {
		t.Run(name, func(t *testing.T) {
			b := asked(t, "150", c.waits)
			c.do(b)
			if got := strings.Join(b.events, " "); got != c.events {
				t.Errorf("events = %s, want %s", got, c.events)
			}
			b.is("merchant:m1:NGN", c.left)
			for _, rail := range []string{"one", "two"} {
				b.is("clearing:payout:"+rail+":NGN", "0")
			}
			for code, amount := range b.accounts {
				if strings.HasPrefix(code, "payable:") && b.w.State != withdrawal.Requested && !amount.IsZero() {
					t.Errorf("%s at the end = %s, want nothing", code, amount)
				}
			}
		})
	}
}

func second(_ withdrawal.Change, err error) error { return err }

func TestWithdrawal_refusals(t *testing.T) {
	w := withdrawal.Withdrawal{ID: "wdr_1", Amount: decimal.NewFromInt(100)}
	if _, err := withdrawal.Request(w, decimal.RequireFromString("99.99"), false, start); code(err) != "insufficient_balance" {
		t.Errorf("Request() of more than the balance = %v, want insufficient_balance", err)
	}
	b := asked(t, "100", false)
	if _, err := b.w.Approve(start); code(err) != "withdrawal_decided" {
		t.Errorf("Approve() of an approved one = %v, want withdrawal_decided", err)
	}
	if _, err := b.w.Refuse(false, start); code(err) != "withdrawal_decided" {
		t.Errorf("Refuse() of one that may have left = %v, want withdrawal_decided", err)
	}
	other := b.w
	other.State = withdrawal.Sending
	if _, err := other.Refuse(false, start); code(err) != "withdrawal_decided" {
		t.Errorf("Refuse() of one that is sending = %v, want withdrawal_decided", err)
	}
	if _, err := other.Refuse(true, start); err != nil {
		t.Errorf("Refuse() of one that is sending and whose payout is unsent = %v, want no error", err)
	}
	for _, s := range []withdrawal.State{withdrawal.Paid, withdrawal.Failed, withdrawal.Returned} {
		if other.State = s; code(second(other.Refuse(true, start))) != "withdrawal_decided" {
			t.Errorf("Refuse() of one that is %s is taken, want withdrawal_decided", s)
		}
	}
	if err := b.w.MaySend(1); err != nil {
		t.Errorf("MaySend(1) = %v, want no error", err)
	}
	if b.w.MaySend(2) == nil || asked(t, "100", true).w.MaySend(0) == nil {
		t.Error("MaySend() of another attempt, or before the approval = no error, want a refusal")
	}
	if b.held[0] != "wdr-1-1" {
		t.Errorf("reference = %s, want wdr-1-1", b.held[0])
	}
}

// TestWithdrawal_anyInterleaving: whatever a rail says in whatever order, each account holds what the state says, and
// the money is paid once or in the balance.
func TestWithdrawal_anyInterleaving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := asked(t, "150", rapid.Bool().Draw(t, "waits"))
		sent := map[int]bool{} // attempts that a rail may have
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				if c, err := b.w.Approve(start); err == nil {
					b.take(c)
				}
			case 1:
				unsent := b.w.Attempt > 0 && !sent[b.w.Attempt]
				c, err := b.w.Refuse(unsent, start)
				open := b.w.State == withdrawal.Approved || b.w.State == withdrawal.Sending
				if want := b.w.State == withdrawal.Requested || open && unsent; (err == nil) != want {
					t.Fatalf("Refuse() of a withdrawal that is %s, its payout unsent: %v = %v, want it taken: %v", b.w.State, unsent, err, want)
				}
				if err == nil {
					b.take(c)
				}
			default:
				if b.w.Attempt == 0 {
					continue // no payout that a rail could tell of
				}
				o := rapid.SampledFrom([]payout.Outcome{payout.None, payout.IsSending, payout.IsUnknown, payout.IsPaid, payout.IsFailed, payout.IsReturned}).Draw(t, "outcome")
				attempt := rapid.IntRange(1, b.w.Attempt).Draw(t, "attempt")
				sent[attempt] = sent[attempt] || o != payout.None
				b.outcome(o, attempt, rapid.SampledFrom([]string{"", "", "two"}).Draw(t, "over"))
			}
			balance, clearing := "50", "0"
			switch b.w.State {
			case withdrawal.Failed, withdrawal.Returned:
				balance = "150"
			case withdrawal.Approved, withdrawal.Sending:
				clearing = "100"
			case withdrawal.Requested, withdrawal.Paid:
			}
			b.is("merchant:m1:NGN", balance)
			if sum := b.accounts["clearing:payout:one:NGN"].Add(b.accounts["clearing:payout:two:NGN"]); !sum.Equal(decimal.RequireFromString(clearing)) {
				t.Fatalf("clearing of a withdrawal that is %s = %s, want %s", b.w.State, sum, clearing)
			}
		}
	})
}
