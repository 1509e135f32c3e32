package books

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/ledger"
)

// AccountSum is the sums of an account since the first journal; the accounts of all payments of one kind and asset are
// one (ledger.Summed). ByHand is the part of debits less credits that operators booked.
type AccountSum struct {
	Account, Asset        string
	Debit, Credit, ByHand decimal.Decimal
}

// Net is the debits less the credits.
func (a AccountSum) Net() decimal.Decimal { return a.Debit.Sub(a.Credit) }

// FeeSum is the fees that the payments of a merchant brought.
type FeeSum struct {
	Mode, MerchantID, Currency string
	Amount                     decimal.Decimal
}

// Reading is what wallets read from the chain of a network.
type Reading struct {
	Network  string
	At       time.Time
	Holdings []Holding
}

// Holding is what a chain has of one asset at the addresses of the product. A place that was not read is nil.
type Holding struct {
	Asset                                         string
	Deposits, GasStation, RefundStation, Treasury *decimal.Decimal
	Expected                                      decimal.Decimal // by the transactions that wallets knows, at the time of the reading
	Standalone                                    decimal.Decimal // the part of it that belongs to standalone wallets, which the ledger does not have
	Unread                                        int64           // deposit addresses with money whose balance was not read
}

// Mark is what a rail had before its float was booked for the first time.
type Mark struct {
	Rail, Currency string
	Opening        decimal.Decimal
}

// Balance is the float as a rail says it.
type Balance struct {
	Rail     string
	Currency money.Currency
	Amount   decimal.Decimal
	At       time.Time
}

// Sums are the ledger up to a journal, and what chains and rails said last.
type Sums struct {
	Through  int64
	At       time.Time
	Accounts []AccountSum
	Fees     []FeeSum
	Readings map[tenant.Mode][]Reading
	Followed map[tenant.Mode][]string // the networks that wallets follows
	Marks    map[tenant.Mode][]Mark
}

// readingLife is how long a reading says what a chain has. A line without a younger one is unread.
const readingLife = 30 * time.Minute

// floatsRead is the floats as the rails said them, and the rails that did not answer.
type floatsRead struct{ said, silent []Balance }

// Treasury is where the money of one mode is, and whose it is. For each asset, the ledger's crypto and floats are
// together what is owed, the position and what is the product's own.
type Treasury struct {
	Mode       tenant.Mode
	Day        string // "" of the report that is not of a closed day
	MadeAt     time.Time
	Through    int64 // the last journal
	Crypto     []CryptoLine
	Floats     []FloatLine
	Owed       []Line
	Positions  []Position
	OpenResult *decimal.Decimal // USD; nil without one of the prices
	Own        []Line
	Fees       []FeeSum
	Collecting []Collecting
}

// Read is whether a line was compared with its chain or rail, and what came of it.
type Read struct {
	Difference *decimal.Decimal // nil where the chain or rail was not read
	Last       *decimal.Decimal // the newest difference that was known
	Unread     bool             // it should have been read
	AsOf       time.Time
}

// remember keeps the newest known difference of a line that was not read, so that silence clears no shortage.
func (r *Read) remember(before Read) {
	if r.Last = r.Difference; r.Last == nil {
		r.Last = before.Last
	}
}

// CryptoLine is one asset on one network. OnTheWay and Difference are nil where the chain was not read lately. The
// chain has the sum of ledger, standalone wallets, on the way and difference.
type CryptoLine struct {
	Network, Asset string
	Deposits, Hot  decimal.Decimal // the ledger's: on deposit addresses; in the treasury and at stations
	Chain          *Holding
	OnTheWay       *decimal.Decimal
	Read
}

// FloatLine is the float of one currency at one rail. The rail may have paid the payouts on the way or not, so anything
// from the ledger with Opening down to that less OnTheWay is no difference.
type FloatLine struct {
	Rail, Currency    string
	Ledger, OnTheWay  decimal.Decimal
	Opening, Observed *decimal.Decimal
	Read
}

// Line is the balance of the accounts of one kind in one asset: positive where it is owed, or belongs to the product.
type Line struct {
	Kind, Asset string
	Amount      decimal.Decimal
}

// Position is what conversions left open in an asset. USD is nil without a price.
type Position struct {
	Asset  string
	Amount decimal.Decimal
	USD    *decimal.Decimal
}

// owedTo says to whom the accounts of a kind owe.
var owedTo = map[string]string{
	"customer": "payer", "suspense": "payer", "clearing:refund": "payer", "payable": "receiver", "clearing:payout": "receiver",
	"merchant": "merchant", "payable:withdrawal": "merchant", "unclaimed": "unclaimed",
}

// creditor is to whom an account owes, "" where it owes nobody.
func creditor(kind string) string {
	if to, ok := owedTo[kind]; ok {
		return to
	}
	if strings.HasPrefix(kind, "clearing") {
		return "merchant"
	}
	return ""
}

// treasuryOf sorts the accounts of a mode into the lines of its report.
func treasuryOf(mode tenant.Mode, sums Sums, floats floatsRead, price func(asset string) (decimal.Decimal, bool)) Treasury {
	t := Treasury{Mode: mode, MadeAt: sums.At, Through: sums.Through}
	crypto, byHand := map[[2]string]*CryptoLine{}, map[[2]string]decimal.Decimal{}
	bank, owed, own := map[[2]string]*FloatLine{}, map[[2]string]decimal.Decimal{}, map[[2]string]decimal.Decimal{}
	line := func(network, asset string) *CryptoLine {
		key := [2]string{network, asset}
		if crypto[key] == nil {
			crypto[key] = &CryptoLine{Network: network, Asset: asset}
		}
		return crypto[key]
	}
	float := func(rail, currency string) *FloatLine {
		key := [2]string{rail, currency}
		if bank[key] == nil {
			bank[key] = &FloatLine{Rail: rail, Currency: currency}
		}
		return bank[key]
	}
	for _, a := range sums.Accounts {
		if strings.HasPrefix(a.Account, "test:") != (mode == tenant.Test) {
			continue
		}
		kind, of, key := ledger.Kind(a.Account), ledger.Parts(a.Account), [2]string{ledger.Kind(a.Account), a.Asset}
		switch {
		case kind == "crypto:deposit" || kind == "crypto:hot":
			l, at := line(of, a.Asset), [2]string{of, a.Asset}
			if byHand[at] = byHand[at].Add(a.ByHand); kind == "crypto:hot" {
				l.Hot = a.Net()
			} else {
				l.Deposits = a.Net()
			}
		case kind == "fiat:float":
			float(of, a.Asset).Ledger = a.Net()
		case creditor(kind) != "":
			owed[key] = owed[key].Sub(a.Net())
			if kind == "clearing:payout" {
				float(of, a.Asset).OnTheWay = a.Net().Neg()
			}
		case kind == "fx":
			t.Positions = append(t.Positions, Position{Asset: a.Asset, Amount: a.Net().Neg()})
		default:
			own[key] = own[key].Sub(a.Net())
		}
	}
	for _, r := range sums.Readings[mode] {
		for _, h := range r.Holdings {
			l := line(r.Network, h.Asset)
			if l.read(h, r.At); sums.At.Sub(r.At) <= readingLife {
				l.compare(byHand[[2]string{r.Network, h.Asset}])
			}
		}
	}
	for _, l := range crypto {
		held := l.Chain != nil || !l.Deposits.IsZero() || !l.Hot.IsZero()
		l.Unread = l.Difference == nil && held && slices.Contains(sums.Followed[mode], l.Network)
	}
	for _, b := range floats.said {
		float(b.Rail, string(b.Currency)).read(b, sums.Marks[mode])
	}
	for _, b := range floats.silent {
		float(b.Rail, string(b.Currency)).Unread = true
	}
	t.Crypto, t.Floats = sorted(crypto), sorted(bank)
	t.Owed, t.Own = linesOf(owed), linesOf(own)
	t.value(price)
	for _, f := range sums.Fees {
		if f.Mode == string(mode) {
			t.Fees = append(t.Fees, f)
		}
	}
	return t
}

// read takes what the chain has.
func (l *CryptoLine) read(h Holding, at time.Time) { l.Chain, l.AsOf = &h, at }

// compare compares a line with its chain. A movement outside of this system is on the chain, and in the ledger once an
// operator has booked it: the difference is what only one of both has. It depends on nothing that is on the way, so
// it is zero at any load.
func (l *CryptoLine) compare(byHand decimal.Decimal) {
	observed, whole := l.Chain.Observed()
	if !whole {
		return
	}
	difference := observed.Sub(l.Chain.Expected).Sub(byHand)
	onTheWay := observed.Sub(difference).Sub(l.Chain.Standalone).Sub(l.Deposits).Sub(l.Hot)
	l.Difference, l.OnTheWay = &difference, &onTheWay
}

// remember keeps the newest known differences of the lines that were not read.
func (t *Treasury) remember(before Treasury) {
	for i := range t.Crypto {
		l := &t.Crypto[i]
		old := slices.IndexFunc(before.Crypto, func(o CryptoLine) bool { return o.Network == l.Network && o.Asset == l.Asset })
		if l.Read.remember(Read{}); old >= 0 {
			l.Read.remember(before.Crypto[old].Read)
		}
	}
	for i := range t.Floats {
		l := &t.Floats[i]
		old := slices.IndexFunc(before.Floats, func(o FloatLine) bool { return o.Rail == l.Rail && o.Currency == l.Currency })
		if l.Read.remember(Read{}); old >= 0 {
			l.Read.remember(before.Floats[old].Read)
		}
	}
}

// compared takes what chains and rails said from the report of a later moment, which compares it with the ledger of
// that moment: money that moved since the end of the day is no difference.
func (t *Treasury) compared(later Treasury) {
	for _, l := range later.Crypto {
		i := slices.IndexFunc(t.Crypto, func(o CryptoLine) bool { return o.Network == l.Network && o.Asset == l.Asset })
		if i >= 0 {
			t.Crypto[i].Chain, t.Crypto[i].OnTheWay, t.Crypto[i].Read = l.Chain, l.OnTheWay, l.Read
		} else if l.Chain != nil {
			l.Deposits, l.Hot = decimal.Zero, decimal.Zero
			t.Crypto = append(t.Crypto, l)
		}
	}
	for _, l := range later.Floats {
		i := slices.IndexFunc(t.Floats, func(o FloatLine) bool { return o.Rail == l.Rail && o.Currency == l.Currency })
		if i >= 0 {
			t.Floats[i].Opening, t.Floats[i].Observed, t.Floats[i].Read = l.Opening, l.Observed, l.Read
		} else if l.Observed != nil {
			l.Ledger, l.OnTheWay = decimal.Zero, decimal.Zero
			t.Floats = append(t.Floats, l)
		}
	}
}

// Observed is what all places hold together; false where one was not read.
func (h Holding) Observed() (sum decimal.Decimal, whole bool) {
	for _, place := range []*decimal.Decimal{h.Deposits, h.GasStation, h.RefundStation, h.Treasury} {
		if place == nil {
			return decimal.Zero, false
		}
		sum = sum.Add(*place)
	}
	return sum, h.Unread == 0
}

// read compares a line with the answer of its rail.
func (l *FloatLine) read(b Balance, marks []Mark) {
	l.Observed, l.AsOf = &b.Amount, b.At
	i := slices.IndexFunc(marks, func(m Mark) bool { return m.Rail == b.Rail && m.Currency == string(b.Currency) })
	if i < 0 { // the first reconciliation makes it
		return
	}
	most := l.Ledger.Add(marks[i].Opening)
	least, difference := most.Sub(l.OnTheWay), decimal.Zero
	switch {
	case b.Amount.GreaterThan(most):
		difference = b.Amount.Sub(most)
	case b.Amount.LessThan(least):
		difference = b.Amount.Sub(least)
	}
	l.Opening, l.Difference = &marks[i].Opening, &difference
}

// value sets the worth of the positions. Sold and filled up at these prices, they would leave the open result.
func (t *Treasury) value(price func(asset string) (decimal.Decimal, bool)) {
	result := decimal.Zero
	t.OpenResult = &result
	for i, p := range t.Positions {
		unit, known := price(p.Asset)
		if !known {
			t.OpenResult = nil
			continue
		}
		usd := p.Amount.Mul(unit).Round(usdDigits)
		t.Positions[i].USD = &usd
		result = result.Add(usd)
	}
}

// sorted lists values by their keys.
func sorted[V any](all map[[2]string]*V) []V {
	out := make([]V, 0, len(all))
	for _, key := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		out = append(out, *all[key])
	}
	return out
}

func compareKeys(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }

// linesOf lists balances that are not zero.
func linesOf(all map[[2]string]decimal.Decimal) []Line {
	var out []Line
	for _, key := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		if amount := all[key]; !amount.IsZero() {
			out = append(out, Line{key[0], key[1], amount})
		}
	}
	return out
}
