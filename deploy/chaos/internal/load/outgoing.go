package load

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Withdrawal is what the load knows of a withdrawal of a merchant's balance that it asked for.
type Withdrawal struct {
	ID       string // "" if it was refused, or never answered
	Merchant string
	Amount   string // in NGN
	Account  string // number of the settlement account
	Refused  bool   // because the balance had less
	Problem  string // what went wrong that no fault excuses
}

// Wallet is a standalone wallet that was paid to.
type Wallet struct {
	Merchant string
	Pair     Pair
	Sent     string // "" if nothing was
	Problem  string
}

// Draw is what the load knows of a withdrawal from standalone wallets that it asked for.
type Draw struct {
	ID       string // "" if it was never answered
	Merchant string
	Pair     Pair
	Amount   string
	Fee      string
	Address  string
	Problem  string
}

// Stray is money on an address without a payment.
type Stray struct {
	Pair    Pair
	Address string // "" if nothing was sent
	Amount  string
	To      string // where it goes back
	Payment string // that an operator gave it
	Problem string
}

// Outgoing is what left, or was to leave, beside the payouts and refunds of payments.
type Outgoing struct {
	Withdrawals []Withdrawal
	Wallets     []Wallet
	Draws       []Draw
	Strays      []Stray
}

// Add puts the outgoing money of another merchant beside this.
func (o *Outgoing) Add(other Outgoing) {
	o.Withdrawals, o.Wallets = append(o.Withdrawals, other.Withdrawals...), append(o.Wallets, other.Wallets...)
	o.Draws, o.Strays = append(o.Draws, other.Draws...), append(o.Strays, other.Strays...)
}

// Outgoing returns what was asked for so far.
func (l *Load) Outgoing() (all Outgoing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Outgoing{values(l.withdrawals), values(l.wallets), values(l.draws), values(l.strays)}
}

func values[T any](of []*T) []T {
	all := make([]T, len(of))
	for i, one := range of {
		all[i] = *one
	}
	return all
}

// outlets are where a merchant's own money may go.
type outlets struct {
	accounts []account
	book     []outlet
}

// account is a settlement account.
type account struct{ id, number string }

// outlet is a pair that can be withdrawn, and the address of the book to which it goes.
type outlet struct {
	pair                Pair
	entry, address, fee string
}

// banks are the settlement accounts of test mode, the usual one more often. Live mode has the usual one alone.
var banks = []string{
	usualAccount, magic[TimesOut], usualAccount, magic[NeverMade], usualAccount, magic[Fails], usualAccount, magic[Returns],
}

// prepare has payments without a receiver credited to the merchant's balance, and makes the accounts and addresses to
// which the merchant's own money goes.
func (l *Load) prepare(ctx context.Context) error {
	settings := map[string]any{"merchantPayments": "balance"}
	if err := call(ctx, http.MethodPatch, l.cfg.Gateways[0]+"/v1/settlement-settings", l.cfg.APIKey, settings, nil); err != nil {
		return fmt.Errorf("choosing to be credited: %w", err)
	}
	numbers := banks
	if l.cfg.Transfer != nil {
		numbers = []string{usualAccount}
	}
	made := map[string]string{}
	for _, number := range numbers {
		if made[number] == "" {
			var answer struct {
				Account struct {
					ID string `json:"id"`
				} `json:"settlementAccount"`
			}
			body := map[string]any{"currency": "NGN", "receiver": map[string]string{"bankCode": "058", "accountNumber": number}}
			if err := l.persist(ctx, "/v1/settlement-accounts", "account-"+number+l.cfg.Run, body, &answer); err != nil {
				return fmt.Errorf("naming a settlement account: %w", err)
			}
			made[number] = answer.Account.ID
			confirm, number := "/v1/settlement-accounts/"+made[number]+"/confirm", map[string]any{"accountNumber": number}
			if err := l.persist(ctx, confirm, "confirm-"+answer.Account.ID, number, &struct{}{}); err != nil {
				return fmt.Errorf("confirming a settlement account: %w", err)
			}
		}
		l.outlets.accounts = append(l.outlets.accounts, account{made[number], number})
	}
	return l.prepareBook(ctx)
}

// prepareBook fills the address book with an address of each network on which withdrawals from wallets are open.
func (l *Load) prepareBook(ctx context.Context) error {
	var list struct {
		Fees []struct {
			Crypto  string `json:"crypto"`
			Network string `json:"network"`
			Fee     string `json:"fee"`
			Open    bool   `json:"open"`
		} `json:"fees"`
	}
	if err := call(ctx, http.MethodGet, l.cfg.Gateways[0]+"/v1/wallets/withdrawals/fees", l.cfg.APIKey, nil, &list); err != nil {
		return fmt.Errorf("reading the fees of withdrawals: %w", err)
	}
	entries := map[string]string{}
	for _, pair := range l.cfg.Pairs {
		address := l.cfg.Books[pair.Network]
		for _, f := range list.Fees {
			if !f.Open || address == "" || (Pair{f.Crypto, f.Network}) != pair {
				continue
			}
			if entries[pair.Network] == "" {
				var answer struct {
					Address struct {
						ID string `json:"id"`
					} `json:"address"`
				}
				body := map[string]any{"network": pair.Network, "address": address, "label": "chaos"}
				if err := l.persist(ctx, "/v1/wallets/address-book", "book-"+pair.Network+l.cfg.Run, body, &answer); err != nil {
					return fmt.Errorf("adding an address to the book: %w", err)
				}
				entries[pair.Network] = answer.Address.ID
			}
			l.outlets.book = append(l.outlets.book, outlet{pair, entries[pair.Network], address, f.Fee})
		}
	}
	return nil
}

// atOnce is how many withdrawals leave one balance at a time. Together they want more than was paid in, so that
// another one's money, or none, pays the last.
const atOnce = 3

// together runs something atOnce times at once.
func together(do func(n int)) {
	var all sync.WaitGroup
	for n := range atOnce {
		all.Go(func() { do(n) })
	}
	all.Wait()
}

// withdraw takes the money of a settled payment, and more, out of the merchant's balance.
func (l *Load) withdraw(ctx context.Context, p *Payment) error {
	settled := func(v view) bool { return v.Status == "settled" }
	if err := l.await(ctx, p, settled); err != nil {
		return err
	}
	const hundredths = 45
	amount := down(new(big.Rat).Mul(big.NewRat(int64(p.Fiat), 1), big.NewRat(hundredths, 100)), 2)
	together(func(n int) {
		to := l.outlets.accounts[int(l.withdrawn.Add(1))%len(l.outlets.accounts)]
		w := &Withdrawal{Merchant: l.cfg.Run, Amount: amount, Account: to.number}
		l.note(func() { l.withdrawals = append(l.withdrawals, w) })
		var answer struct {
			Withdrawal struct {
				ID string `json:"id"`
			} `json:"withdrawal"`
		}
		body := map[string]any{"currency": "NGN", "amount": json.Number(amount), "settlementAccountId": to.id}
		err := l.insist(ctx, l.cfg.APIKey, "/v1/withdrawals", fmt.Sprintf("withdraw-%d-%s", n, p.Key), body, &answer)
		l.note(func() {
			switch {
			case err == nil:
				w.ID = answer.Withdrawal.ID
			case strings.Contains(err.Error(), "insufficient_balance"):
				w.Refused = true
			default:
				w.Problem = err.Error()
			}
		})
	})
	return nil
}

// A wallet gets so many fees of its pair, and each withdrawal takes so many and one for the network.
const (
	walletFees = 20
	drawFees   = 7
)

func times(amount string, n int64) string {
	return down(new(big.Rat).Mul(rat(amount), big.NewRat(n, 1)), 18)
}

// draw pays to a wallet of its own, and withdraws from the balance of its asset.
func (l *Load) draw(ctx context.Context, key string, to outlet) {
	w := &Wallet{Merchant: l.cfg.Run, Pair: to.pair}
	l.note(func() { l.wallets = append(l.wallets, w) })
	if err := l.fill(ctx, key, w, times(to.fee, walletFees)); err != nil {
		l.note(func() { w.Problem = err.Error() })
		return
	}
	together(func(n int) {
		d := &Draw{Merchant: l.cfg.Run, Pair: to.pair, Amount: times(to.fee, drawFees), Fee: to.fee, Address: to.address}
		l.note(func() { l.draws = append(l.draws, d) })
		var answer struct {
			Withdrawal struct {
				ID string `json:"id"`
			} `json:"withdrawal"`
		}
		body := map[string]any{"crypto": to.pair.Crypto, "network": to.pair.Network, "amount": d.Amount, "addressId": to.entry, "fee": to.fee}
		err := l.insist(ctx, l.cfg.APIKey, "/v1/wallets/withdrawals", fmt.Sprintf("draw-%d-%s", n, key), body, &answer)
		l.note(func() {
			d.ID = answer.Withdrawal.ID
			if err != nil {
				d.Problem = err.Error()
			}
		})
	})
}

// fill makes a wallet, pays to it and waits until the balance has the money.
func (l *Load) fill(ctx context.Context, key string, w *Wallet, amount string) error {
	var made struct {
		Wallet struct {
			ID      string `json:"id"`
			Address string `json:"address"`
		} `json:"wallet"`
	}
	body := map[string]any{"network": w.Pair.Network, "crypto": w.Pair.Crypto}
	if err := l.persist(ctx, "/v1/wallets", "wallet-"+key, body, &made); err != nil {
		return fmt.Errorf("wallet: %w", err)
	}
	var err error
	if l.cfg.Transfer != nil {
		err = l.cfg.Transfer(ctx, w.Pair, made.Wallet.Address, amount)
	} else {
		path := "/v1/sandbox/wallets/" + made.Wallet.ID + "/deposits"
		err = l.persist(ctx, path, "fill-"+key, map[string]any{"amount": json.Number(amount)}, &struct{}{})
	}
	if err != nil {
		return fmt.Errorf("paying to a wallet: %w", err)
	}
	l.note(func() { w.Sent = amount })
	type shown struct {
		Wallet struct {
			Status string `json:"status"`
		} `json:"wallet"`
	}
	last, err := look(ctx, l, l.cfg.APIKey, "/v1/wallets/"+made.Wallet.ID, func(s shown) bool {
		return s.Wallet.Status == "confirmed" || s.Wallet.Status == "swept"
	})
	if err != nil {
		return fmt.Errorf("money of a wallet: %w: status %s", err, last.Wallet.Status)
	}
	return nil
}

// strayAmounts are more than the fees of refunds.
var strayAmounts = map[string]string{"BTC": "0.002", "ETH": "0.03", "SOL": "0.5", "TRX": "200", "USDC": "70", "USDT": "70"}

// stray has money come to an address that no payment has, and operators send it back.
func (l *Load) stray(ctx context.Context, key string, pair Pair) {
	s := &Stray{Pair: pair, Amount: strayAmounts[pair.Crypto], To: l.payer(pair)}
	l.note(func() { l.strays = append(l.strays, s) })
	err := l.giveBack(ctx, key, s)
	if err != nil {
		l.note(func() { s.Problem = err.Error() })
	}
}

func (l *Load) giveBack(ctx context.Context, key string, s *Stray) error {
	address, err := l.cfg.Stray(ctx, key, s.Pair, s.Amount)
	if err != nil {
		return fmt.Errorf("sending money astray: %w", err)
	}
	l.note(func() { s.Address = address })
	first := l.cfg.Operators[0]
	mode, deposit, err := l.find(ctx, address)
	if err != nil {
		return err
	}
	var adopted struct {
		PaymentID string `json:"paymentId"`
	}
	order := map[string]any{"mode": mode, "deposit": deposit, "reason": "chaos"}
	if err := l.persistAs(ctx, first, "/v1/admin/deposits/adopt", "adopt-"+key, order, &adopted); err != nil {
		return fmt.Errorf("adopting %s: %w", deposit, err)
	}
	l.note(func() { s.Payment = adopted.PaymentID })
	path := "/v1/admin/payments/" + adopted.PaymentID
	to := map[string]any{"address": s.To, "reason": "chaos"}
	if err := l.persistAs(ctx, first, path+"/refund-address/confirm", "proof-"+key, to, &struct{}{}); err != nil {
		return fmt.Errorf("refund address of a stray payment: %w", err)
	}
	var made madeRefund
	if err := l.insist(ctx, first, path+"/refunds", "stray-"+key, map[string]any{"reason": "chaos"}, &made); err != nil {
		return fmt.Errorf("refund of a stray payment: %w", err)
	}
	if !made.waits() {
		return nil
	}
	if err := l.approve(ctx, made, key, l.cfg.Operators[1:2]); err != nil {
		return fmt.Errorf("approval of a refund of a stray payment: %w", err)
	}
	return nil
}

// madeRefund is the answer to a request for a refund.
type madeRefund struct {
	Refund struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	} `json:"refund"`
}

// waits reports a refund that operators have to approve.
func (m madeRefund) waits() bool { return m.Refund.Status == "requested" }

// approve lets operators approve a refund, one after the other.
func (l *Load) approve(ctx context.Context, of madeRefund, key string, operators []string) error {
	path := "/v1/admin/refunds/" + of.Refund.ID + "/approve"
	for i, operator := range operators {
		if err := l.insist(ctx, operator, path, fmt.Sprintf("approve-%s-%d", key, i), map[string]any{"reason": "chaos"}, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// find waits until an operator sees money on an address that no payment has.
func (l *Load) find(ctx context.Context, address string) (mode, deposit string, err error) {
	type page struct {
		Deposits []struct {
			Key     string `json:"key"`
			Mode    string `json:"mode"`
			Address string `json:"address"`
			Booked  bool   `json:"inSuspense"`
		} `json:"deposits"`
	}
	_, err = look(ctx, l, l.cfg.Operators[0], "/v1/admin/deposits/unattributed?limit=100", func(p page) bool {
		for _, d := range p.Deposits {
			if strings.EqualFold(d.Address, address) && d.Booked {
				mode, deposit = d.Mode, d.Key
				return true
			}
		}
		return false
	})
	if err != nil {
		err = fmt.Errorf("money in suspense on %s: %w", address, err)
	}
	return mode, deposit, err
}

// look reads what the bearer of a token may read until it shows what is asked for, and returns what it showed last.
func look[T any](ctx context.Context, l *Load, token, path string, shown func(T) bool) (last T, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for try := 0; ; try++ {
		var answer T
		status, err := Ask(ctx, http.MethodGet, l.gateway(path, try)+path, token, nil, &answer)
		if err == nil && status == http.StatusOK {
			if last = answer; shown(last) {
				return last, nil
			}
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("not shown within %s", patience)
		case <-time.After(retryEvery):
		}
	}
}

// passing are the codes of refusals that end by themselves: the money is not deep enough yet, or the hold of a new
// address or account lasts.
var passing = []string{
	"nothing_owed", "refund_address_held", "deposit_not_final", "settlement_account_held", "withdrawal_address_held",
}

// insist repeats a request under new keys while it is refused for a reason that ends.
func (l *Load) insist(ctx context.Context, token, path, key string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for try := 0; ; try++ {
		err := l.persistAs(ctx, token, path, fmt.Sprintf("%s-%d", key, try), body, answer)
		if err == nil || !ends(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryEvery):
		}
	}
}

func ends(err error) bool {
	return slices.ContainsFunc(passing, func(code string) bool { return strings.Contains(err.Error(), code) })
}
