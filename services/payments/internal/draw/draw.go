// Package draw is a withdrawal of crypto from the standalone wallets of a merchant (docs/decisions/0024): the address
// book that it goes to, its fee, and the limits on it. Its life is that of a refund. It is pure.
package draw

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/refund"
)

// Entry is an address of a merchant's address book, on one network. No live withdrawal goes there before UsableAt.
type Entry struct {
	ID         string
	Mode       tenant.Mode
	MerchantID string
	Network    string
	Address    string
	Label      string
	CreatedBy  string // "key 7"
	CreatedAt  time.Time
	UsableAt   time.Time
}

// Draw is an amount of one asset on one network, which leaves for one entry of the address book. It embeds a refund
// that belongs to no payment, because its states are the same. Wallets keeps the money.
type Draw struct {
	refund.Refund
	MerchantID string
	EntryID    string
	Charge     decimal.Decimal // fee that the merchant pays besides the amount
	USD        decimal.Decimal // worth of both at the request
	Sequence   int64           // of its last event
}

// Apply moves a withdrawal on. event reports a change that the merchant gets an event about.
func (d Draw) Apply(t refund.Trigger, now time.Time) (next Draw, event bool, err error) {
	next = d
	next.Refund, _, err = refund.Apply(d.Refund, t, now)
	if event = err == nil && next.Version != d.Version && (next.State != d.State || next.Finals != d.Finals); event {
		next.Sequence++
	}
	return next, event, err
}

// Order is the order of an approved withdrawal.
func (d Draw) Order() order.Order {
	n, _ := money.NetworkOf(d.Network)
	asset, _ := n.Asset(d.Asset)
	return order.Order{
		Kind: order.Withdrawal, ID: d.ID, Mode: d.Mode, Network: d.Network, Asset: d.Asset, Contract: d.Contract,
		Amount: asset.ToUnits(d.Amount).String(), To: d.Address, Approval: order.Approval(d.Approval),
	}
}

// Fees are the fees of withdrawals in the withdrawn asset. A pair without one cannot be withdrawn.
type Fees map[quote.Pair]decimal.Decimal

// FirstFees are those of docs/api-contract.md#withdrawals-from-wallets. They are above what a transaction costs on most
// days, because the station pays what the network asks.
const FirstFees = "bitcoin/BTC=0.0001,ethereum/ETH=0.002,ethereum/USDT=5,ethereum/USDC=5,bsc/BNB=0.001,bsc/USDT=0.5,bsc/USDC=0.5," +
	"polygon/POL=0.5,polygon/USDT=0.3,polygon/USDC=0.3,base/ETH=0.0002,base/USDC=0.3,arbitrum/ETH=0.0002,arbitrum/USDT=0.5," +
	"arbitrum/USDC=0.5,tron/TRX=2,tron/USDT=5,solana/SOL=0.003,solana/USDT=1,solana/USDC=1"

// ParseFees reads FirstFees, and over them a text of the same form; "none" takes the fee of a pair away, so that it
// cannot be withdrawn.
func ParseFees(text string) (Fees, error) {
	out := Fees{}
	for part := range strings.SplitSeq(FirstFees+","+text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, figure, _ := strings.Cut(part, "=")
		network, crypto, _ := strings.Cut(name, "/")
		n, known := money.NetworkOf(network)
		a, listed := n.Asset(crypto)
		if known && listed && figure == "none" {
			delete(out, quote.Pair{Network: n.Name, Crypto: a.Symbol})
			continue
		}
		fee, err := money.Parse(figure)
		if !known || !listed || err != nil || fee.IsNegative() || money.Digits(fee) > a.Decimals {
			return nil, fmt.Errorf("%q is not the fee of a pair, such as ethereum/USDT=5", part)
		}
		out[quote.Pair{Network: n.Name, Crypto: a.Symbol}] = fee
	}
	return out, nil
}

// Contracts are the contracts of tokens that differ from the listed ones, as on a private chain.
type Contracts map[quote.Pair]string

// ParseContracts reads contracts such as "ethereum/USDT=0x…".
func ParseContracts(text string) (Contracts, error) {
	out := Contracts{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, contract, _ := strings.Cut(part, "=")
		network, crypto, _ := strings.Cut(name, "/")
		n, known := money.NetworkOf(network)
		a, listed := n.Asset(crypto)
		if !known || !listed || a.Contract == "" {
			return nil, fmt.Errorf("%q is not the contract of a token, such as ethereum/USDT=0x…", part)
		}
		if _, err := address.Parse(n.Family, address.Mainnet, contract); err != nil {
			return nil, fmt.Errorf("%q: the contract %w", part, err)
		}
		out[quote.Pair{Network: n.Name, Crypto: a.Symbol}] = address.Canonical(n.Family, contract)
	}
	return out, nil
}

// Limits bound what a merchant withdraws in live mode within 24 hours, in US dollars.
type Limits struct {
	Everyone  decimal.Decimal
	Merchants map[string]decimal.Decimal // own limits, by merchant
}

// Of is the limit of a merchant.
func (l Limits) Of(merchant string) decimal.Decimal {
	if own, ok := l.Merchants[merchant]; ok {
		return own
	}
	return l.Everyone
}

// ParseLimits reads limits such as "10000,acme=200000".
func ParseLimits(text string) (Limits, error) {
	l := Limits{Merchants: map[string]decimal.Decimal{}}
	named := maps.Clone(l.Merchants)
	for part := range strings.SplitSeq(text, ",") {
		merchant, figure := "", strings.TrimSpace(part)
		if i := strings.LastIndexByte(figure, '='); i >= 0 {
			merchant, figure = figure[:i], figure[i+1:]
		}
		most, err := money.Parse(figure)
		_, twice := named[merchant]
		if err != nil || most.IsNegative() || twice {
			return Limits{}, fmt.Errorf("%q is no limit in dollars, such as 10000 or acme=200000", part)
		}
		named[merchant] = most
	}
	everyone, ok := named[""]
	if !ok {
		return Limits{}, fmt.Errorf("%q has no limit for merchants without one of their own", text)
	}
	delete(named, "")
	l.Everyone, l.Merchants = everyone, named
	return l, nil
}
