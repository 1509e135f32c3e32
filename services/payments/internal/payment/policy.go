package payment

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/quote"
)

// Policy is the configuration of a payment's life: windows, tolerances, depths and limits.
type Policy struct {
	Window        time.Duration   // from create or fulfil to ExpiresAt
	RequestWindow time.Duration   // for a request to be fulfilled
	ClaimWindow   time.Duration   // for a confirmed gift to be claimed
	SettleWindow  time.Duration   // for the caller to settle
	TokenLife     time.Duration   // of a settlement token
	ScanMargin    time.Duration   // a network is scanned this far past ExpiresAt before a payment expires
	MempoolHold   time.Duration   // unmined money that is on time stays on time if a block holds it this long after expiry
	LateGrace     time.Duration   // money first seen this long after expiry may still be taken
	LateDrift     decimal.Decimal // if the rate has moved by at most this share
	Under, Over   decimal.Decimal // shares of the quote within which the quoted payout is paid
	DustShare     decimal.Decimal // a transfer below this share of the due is dust
	DustUSD       decimal.Decimal // a transfer below this worth is dust; the larger of the two bounds applies
	Depths        Depths
	WitnessUSD    decimal.Decimal       // above this worth a second host must confirm a live transfer; zero is off
	Limits        quote.Limits          // of one payment
	RefundHold    time.Duration         // no live refund leaves this long after its address changed
	NoRoom        bool                  // a limit has no room for more than the quote: a payment above it waits
	Screen        bool                  // a payment is confirmed only when its senders are clear
	Whole         map[RailCurrency]bool // where a rail pays whole units only
	Bitcoin       address.Net           // of live bitcoin addresses
}

// Net is the net whose bitcoin addresses a payment's money may go to.
func (pol Policy) Net(p Payment) address.Net {
	if p.Mode == tenant.Live {
		return pol.Bitcoin
	}
	return address.Any
}

// PayoutLimit is the largest payout of one payment in the currency. No operator's decision exceeds it.
func (pol Policy) PayoutLimit(cur money.Currency) decimal.Decimal { return pol.Limits[cur].Max }

// RailCurrency is a rail in one currency.
type RailCurrency struct {
	Rail     string
	Currency money.Currency
}

// payable is the part of an amount that a rail can pay: whole units where the rail has no smaller ones. The residue is
// booked as rounding once the rest is paid. An amount below one unit stays unchanged, and the rail refuses it.
func (pol Policy) payable(rail string, cur money.Currency, amount decimal.Decimal) decimal.Decimal {
	if whole := money.Down(amount, 0); pol.Whole[RailCurrency{rail, cur}] && whole.IsPositive() {
		return whole
	}
	return amount
}

// Defaults is the policy of docs/api-contract.md#money, docs/api-contract.md#payment-life and
// docs/api-contract.md#networks.
func Defaults() Policy {
	const day = 24 * time.Hour
	return Policy{
		Window: 30 * time.Minute, RequestWindow: 7 * day, ClaimWindow: 30 * day, SettleWindow: 7 * day, TokenLife: day,
		ScanMargin: time.Minute, MempoolHold: 2 * time.Hour, LateGrace: day, LateDrift: decimal.New(1, -2),
		Under: decimal.New(5, -3), Over: decimal.New(1, -2),
		DustShare: decimal.New(1, -3), DustUSD: decimal.New(1, -1),
		Depths: DefaultDepths(), Limits: quote.DefaultLimits(), RefundHold: day, Bitcoin: address.Mainnet,
	}
}

// Depth is the required depth of a transfer up to a worth in US dollars: a number of confirmations, or the finality of
// its block. Confirmations zero means that only finality counts. UpToUSD zero means no bound.
type Depth struct {
	UpToUSD       decimal.Decimal
	Confirmations int64
	Finality      bool
}

// Depths is the table (network, asset, USD tier) of docs/api-contract.md#networks. The key is the network's name, or
// "network/ASSET" for an asset that differs from its network; the tiers are in rising order.
type Depths map[string][]Depth

// DefaultDepths is the table of docs/api-contract.md#networks, one tier each.
func DefaultDepths() Depths {
	out := Depths{}
	for _, n := range money.Networks() {
		out[n.Name] = []Depth{{Confirmations: n.Confirmations, Finality: n.Finality}}
	}
	return out
}

// ParseDepths reads the setting that overrides the default table: entries separated by ";", each "network=tiers" or
// "network/ASSET=tiers"; tiers separated by ",", each a number of confirmations, "final", or both as "90|final", with
// "<usd:" before it when it holds only below that worth. Example: "ethereum=12;ethereum/USDT=<1000:12,32;bsc=final|90".
// Empty text is the default table.
func ParseDepths(text string) (Depths, error) {
	table := DefaultDepths()
	for _, entry := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' }) {
		name, tiers, ok := strings.Cut(strings.TrimSpace(entry), "=")
		network, asset, pair := strings.Cut(name, "/")
		n, known := money.NetworkOf(network)
		if !ok || !known {
			return nil, fmt.Errorf("depths: entry %q has no known network", entry)
		}
		key := n.Name
		if pair {
			a, listed := n.Asset(asset)
			if !listed {
				return nil, fmt.Errorf("depths: %s has no asset %q", n.Name, asset)
			}
			key += "/" + a.Symbol
		}
		table[key] = nil
		for _, tier := range strings.Split(tiers, ",") {
			d, err := parseDepth(strings.TrimSpace(tier))
			if err != nil {
				return nil, fmt.Errorf("depths of %s: %w", key, err)
			}
			table[key] = append(table[key], d)
		}
	}
	return table, table.Check()
}

func parseDepth(text string) (d Depth, err error) {
	if worth, rest, ok := strings.Cut(text, ":"); ok {
		usd, err := money.Parse(strings.TrimPrefix(worth, "<"))
		if err != nil || !strings.HasPrefix(worth, "<") || !usd.IsPositive() {
			return d, fmt.Errorf("%q is not a bound in dollars", worth)
		}
		d.UpToUSD, text = usd, rest
	}
	for _, part := range strings.Split(text, "|") {
		if part == "final" {
			d.Finality = true
			continue
		}
		if d.Confirmations, err = strconv.ParseInt(part, 10, 32); err != nil || d.Confirmations <= 0 {
			return d, fmt.Errorf("%q is neither a number of confirmations nor final", part)
		}
	}
	return d, nil
}

// Required finds the depth for a transfer of this worth. An unknown network needs finality, which no scanner reports
// for it: its money waits for an operator instead of being taken too early.
func (t Depths) Required(network, asset string, usd decimal.Decimal) Depth {
	tiers, ok := t[network+"/"+asset]
	if !ok {
		tiers = t[network]
	}
	for _, d := range tiers {
		if d.UpToUSD.IsZero() || usd.LessThanOrEqual(d.UpToUSD) {
			return d
		}
	}
	return Depth{Finality: true}
}

// Check refuses a table that could take money too early or never.
func (t Depths) Check() error {
	for _, n := range money.Networks() {
		if len(t[n.Name]) == 0 {
			return fmt.Errorf("no required depth for network %s", n.Name)
		}
	}
	for key, tiers := range t {
		last := decimal.Zero
		for i, d := range tiers {
			end := i == len(tiers)-1
			if end != d.UpToUSD.IsZero() || (!end && !d.UpToUSD.GreaterThan(last)) {
				return fmt.Errorf("required depths of %s: tiers are out of order", key)
			}
			if d.Confirmations < 0 || (d.Confirmations == 0 && !d.Finality) {
				return fmt.Errorf("required depths of %s: a tier requires neither confirmations nor finality", key)
			}
			last = d.UpToUSD
		}
	}
	return nil
}

// Met reports whether the transfer is deep enough for a payment of this worth. A final block is deep enough for any
// worth, on every network of docs/api-contract.md#networks. Where the chain tags final blocks, finality comes at or
// after the depth of the table. Elsewhere wallets calls a block final only at the largest depth of the table (it
// refuses a FINAL_DEPTH below one of CONFIRMATIONS). wallets sends no further message about a final transfer. So a
// scanner that was down for longer than finality takes reports it once, as final and one block deep. A transfer in no
// block is never deep enough, whatever else the message says.
func (d Depth) Met(row Deposit) bool {
	if row.Reverted || row.Unmined() {
		return false
	}
	return row.Finalized || (d.Confirmations > 0 && row.Depth >= d.Confirmations)
}
