package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
)

// Shape is what payer, merchant and bank do with a payment. The auditor says what must come of each.
type Shape string

// The shapes.
const (
	Plain           Shape = "plain"               // one transfer of what is due
	Parts           Shape = "two parts"           // two transfers that make up what is due
	DustLast        Shape = "dust last"           // nearly all, and then the rest, which alone would be dust
	DustAlone       Shape = "dust alone"          // dust, and the window closes
	Short           Shape = "short"               // too little, and the window closes
	Over            Shape = "over"                // too much
	Late            Shape = "late"                // all of it, after the window has closed
	Cancelled       Shape = "cancelled"           // the merchant cancels and nobody pays
	CancelledPaid   Shape = "cancelled, paid"     // the merchant cancels and the payer pays
	Refunded        Shape = "refunded"            // the same, and the merchant sends the money back
	ClaimedTwice    Shape = "claimed twice"       // a gift that two people claim at once
	NoAccount       Shape = "no account"          // the receiver's bank knows no such account
	NamesDown       Shape = "names down"          // the name service is down
	Fails           Shape = "payout fails"        // by the number of the account, as the next three
	Returns         Shape = "payout returned"     //
	TimesOut        Shape = "payout times out"    // the bank paid and its answer was lost
	NeverMade       Shape = "payout never made"   // the order was lost
	OrderedToFail   Shape = "ordered to fail"     // by the sandbox's order, as the next two
	OrderedToReturn Shape = "ordered to return"   //
	OrderedToHang   Shape = "ordered to time out" // until the sandbox lets it succeed
	Withdrawn       Shape = "withdrawn"           // without a receiver: the merchant withdraws it from the balance
)

// weighted is a shape and how often it is drawn.
type weighted struct {
	shape  Shape
	weight int
}

// shapes are drawn from with these weights.
var shapes = []weighted{
	{Plain, 16},
	{Parts, 2},
	{DustLast, 2},
	{Short, 2},
	{Over, 2},
	{DustAlone, 1},
	{Late, 2},
	{Cancelled, 1},
	{CancelledPaid, 1},
	{Refunded, 2},
	{ClaimedTwice, 2},
	{NoAccount, 1},
	{NamesDown, 1},
	{Fails, 1},
	{Returns, 1},
	{TimesOut, 2},
	{NeverMade, 1},
	{OrderedToFail, 1},
	{OrderedToReturn, 1},
	{OrderedToHang, 1},
	{Withdrawn, 2},
}

// liveShapes are those of live networks, where no sandbox closes a window or orders anything of the bank.
var liveShapes = []weighted{{Plain, 5}, {Parts, 2}, {Over, 1}, {CancelledPaid, 1}, {Refunded, 2}, {Withdrawn, 1}}

// draw chooses a shape.
func draw(from []weighted, number func(below int) int) Shape {
	total := 0
	for _, s := range from {
		total += s.weight
	}
	n := number(total)
	for _, s := range from {
		if n -= s.weight; n < 0 {
			return s.shape
		}
	}
	return Plain
}

// magic are the account numbers with which the simulated bank misbehaves (docs/api-contract.md#sandbox).
var magic = map[Shape]string{
	NoAccount: "0000000001", NamesDown: "0000000002", Fails: "0000000003", Returns: "0000000004",
	TimesOut: "0000000005", NeverMade: "0000000006",
}

// ShapeOf is the shape whose account has a number, Plain for the usual one.
func ShapeOf(account string) Shape {
	for shape, number := range magic {
		if number == account {
			return shape
		}
	}
	return Plain
}

const usualAccount = "0123456789"

// Claimers are the accounts of the two who claim a gift.
var Claimers = []string{usualAccount, "9876543210"}

// orders are what the sandbox orders of the bank before the payout is sent.
var orders = map[Shape]string{OrderedToFail: "fail", OrderedToReturn: "return", OrderedToHang: "timeout"}

// act does what the payment's shape says, after it was created.
func (l *Load) act(ctx context.Context, p *Payment) error {
	if outcome := orders[p.Shape]; outcome != "" {
		if err := l.order(ctx, p, outcome); err != nil {
			return err
		}
	}
	switch p.Shape {
	case Parts:
		half := share(p.CryptoAmount, 50)
		return errors.Join(l.send(ctx, p, half), l.send(ctx, p, minus(p.CryptoAmount, half)))
	case DustLast:
		most := share(p.CryptoAmount, 99)
		if err := l.send(ctx, p, most); err != nil {
			return err
		}
		if err := l.await(ctx, p, func(v view) bool { return v.Exception == "underpaid" }); err != nil {
			return err
		}
		return l.send(ctx, p, minus(p.CryptoAmount, most))
	case DustAlone:
		return l.closeAfter(ctx, p, share(p.CryptoAmount, 1), func(v view) bool { return len(v.Transfers) == 1 })
	case Short:
		return l.closeAfter(ctx, p, share(p.CryptoAmount, 60), func(v view) bool { return v.Exception == "underpaid" })
	case Over:
		return l.send(ctx, p, share(p.CryptoAmount, 130))
	case Late:
		if err := l.sandbox(ctx, p, "expire"); err != nil {
			return err
		}
		return l.send(ctx, p, p.CryptoAmount)
	case Cancelled:
		return l.cancel(ctx, p)
	case CancelledPaid:
		if err := l.cancel(ctx, p); err != nil {
			return err
		}
		return l.send(ctx, p, p.CryptoAmount)
	case Refunded:
		if err := l.cancel(ctx, p); err != nil {
			return err
		}
		if err := l.send(ctx, p, p.CryptoAmount); err != nil {
			return err
		}
		return l.refund(ctx, p)
	case ClaimedTwice:
		return errors.Join(l.send(ctx, p, p.CryptoAmount), l.claim(ctx, p))
	case OrderedToHang:
		if err := l.send(ctx, p, p.CryptoAmount); err != nil {
			return err
		}
		if err := l.await(ctx, p, func(v view) bool { return v.Status == "settling" }); err != nil {
			return err
		}
		return l.order(ctx, p, "succeed")
	case Withdrawn:
		if err := l.send(ctx, p, p.CryptoAmount); err != nil {
			return err
		}
		return l.withdraw(ctx, p)
	default:
		return l.send(ctx, p, p.CryptoAmount)
	}
}

// send makes one transfer to the payment's address.
func (l *Load) send(ctx context.Context, p *Payment, amount string) error {
	if l.cfg.Transfer != nil {
		if err := l.cfg.Transfer(ctx, p.Pair, p.Address, amount); err != nil {
			return fmt.Errorf("transfer: %w", err)
		}
		l.note(func() { p.Sent = append(p.Sent, amount) })
		return nil
	}
	key := fmt.Sprintf("deposit-%d-%s", len(p.Sent), p.Key)
	body := map[string]any{"amount": json.Number(amount)}
	err := l.persist(ctx, "/v1/sandbox/payments/"+p.Reference+"/deposits", key, body, &struct{}{})
	if err != nil {
		return fmt.Errorf("deposit: %w", err)
	}
	l.note(func() { p.Sent = append(p.Sent, amount) })
	return nil
}

// closeAfter sends an amount and closes the window once the payment shows it.
func (l *Load) closeAfter(ctx context.Context, p *Payment, amount string, shown func(view) bool) error {
	if err := l.send(ctx, p, amount); err != nil {
		return err
	}
	if err := l.await(ctx, p, shown); err != nil {
		return err
	}
	return l.sandbox(ctx, p, "expire")
}

func (l *Load) cancel(ctx context.Context, p *Payment) error {
	return l.persist(ctx, "/v1/payments/"+p.Reference+"/cancel", "cancel-"+p.Key, map[string]any{}, &struct{}{})
}

func (l *Load) sandbox(ctx context.Context, p *Payment, verb string) error {
	return l.persist(ctx, "/v1/sandbox/payments/"+p.Reference+"/"+verb, verb+"-"+p.Key, map[string]any{}, &struct{}{})
}

// order tells the simulated bank what is to come of the payment's payout.
func (l *Load) order(ctx context.Context, p *Payment, outcome string) error {
	body := map[string]any{"outcome": outcome}
	return l.persist(ctx, "/v1/sandbox/payouts/"+p.Reference+"/outcome", outcome+"-"+p.Key, body, &struct{}{})
}

// claim lets two people claim the gift at once, each for an account of its own. One may be refused, and both may when
// the answer to the one who had it was lost.
func (l *Load) claim(ctx context.Context, p *Payment) error {
	var both sync.WaitGroup
	faults := make([]error, len(Claimers))
	for i, account := range Claimers {
		both.Go(func() {
			body := map[string]any{"receiver": map[string]string{"bankCode": "058", "accountNumber": account}}
			path, key := "/v1/payments/gifts/"+p.Reference+"/claim/confirm", fmt.Sprintf("claim-%d-%s", i, p.Key)
			err := l.persist(ctx, path, key, body, &struct{}{})
			switch {
			case err == nil:
				l.note(func() { p.Claimed = append(p.Claimed, account) })
			case !strings.Contains(err.Error(), "already been claimed"):
				faults[i] = fmt.Errorf("claim: %w", err)
			}
		})
	}
	both.Wait()
	return errors.Join(faults...)
}

// payers are addresses of payers to which refunds of test mode go, by network; the networks of one family share theirs.
var payers = map[string]string{
	"tron": "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC", "bitcoin": "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",
	"base": payerEVM, "ethereum": payerEVM, "polygon": payerEVM,
}

// Books are addresses of merchants of test mode, to which their crypto is withdrawn, by network.
var Books = map[string]string{
	"tron": "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC", "bitcoin": "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",
	"base": merchantEVM, "ethereum": merchantEVM, "polygon": merchantEVM,
}

const (
	merchantEVM = "0x000000000000000000000000000000000d4a3b17"
	payerEVM    = "0x000000000000000000000000000000000ba7e4f0"
)

// refund sends back what the payer sent, once it is owed, and waits until the chain has it.
func (l *Load) refund(ctx context.Context, p *Payment) error {
	if err := l.await(ctx, p, func(v view) bool { return v.Status == "needs_review" && len(v.Transfers) == 1 }); err != nil {
		return err
	}
	to := map[string]any{"address": p.Payer}
	if err := l.persist(ctx, "/v1/payments/"+p.Reference+"/refund-address", "refund-address-"+p.Key, to, &struct{}{}); err != nil {
		return fmt.Errorf("refund address: %w", err)
	}
	reason := map[string]any{"reason": "chaos"}
	var made madeRefund
	if err := l.insist(ctx, l.cfg.APIKey, "/v1/payments/"+p.Reference+"/refunds", "refund-"+p.Key, reason, &made); err != nil {
		return fmt.Errorf("refund: %w", err)
	}
	// The senders could not be screened while a database was away, so two people approve the refund.
	if made.waits() {
		if err := l.approve(ctx, made, p.Key, l.cfg.Operators[:2]); err != nil {
			return fmt.Errorf("approval of a refund: %w", err)
		}
	}
	return l.await(ctx, p, func(v view) bool { return len(v.Refunds) == 1 && v.Refunds[0].Status == "confirmed" })
}

// view is what the load needs of a payment's GET.
type view struct {
	Status    string            `json:"status"`
	Exception string            `json:"exception"`
	Transfers []json.RawMessage `json:"transfers"`
	Refunds   []struct {
		Status string `json:"status"`
	} `json:"refunds"`
}

// await reads the payment until it shows what is asked for.
func (l *Load) await(ctx context.Context, p *Payment, shown func(view) bool) error {
	type answer struct {
		Payment view `json:"payment"`
	}
	last, err := look(ctx, l, l.cfg.APIKey, "/v1/payments/"+p.Reference, func(a answer) bool { return shown(a.Payment) })
	if v := last.Payment; err != nil {
		return fmt.Errorf("%w: status %s, exception %q, %d transfers", err, v.Status, v.Exception, len(v.Transfers))
	}
	return nil
}

// digits are what every token of Pairs takes behind the point; bitcoin takes more, and is the one of which so little is
// due.
const (
	digits     = 6
	digitsMost = 8
)

// share is so many hundredths of an amount, down to what its asset takes.
func share(amount string, hundredths int64) string {
	part := new(big.Rat).Mul(rat(amount), big.NewRat(hundredths, 100))
	if rat(amount).Cmp(big.NewRat(1, 10)) < 0 {
		return down(part, digitsMost)
	}
	return down(part, digits)
}

// minus is what is left of an amount.
func minus(amount, part string) string {
	return down(new(big.Rat).Sub(rat(amount), rat(part)), digitsMost)
}

func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat)
	}
	return r
}

// down renders an amount with at most so many places, cut off, and without zeros at its end.
func down(amount *big.Rat, places int) string {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	whole := new(big.Int).Quo(new(big.Int).Mul(amount.Num(), scale), amount.Denom())
	text := new(big.Rat).SetFrac(whole, scale).FloatString(places)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
