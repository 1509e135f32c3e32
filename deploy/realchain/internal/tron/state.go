package tron

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
)

// account is what the chain keeps about an address. Without TRX that once arrived there is none.
type account struct {
	coins    int64
	stake    int64 // frozen for energy
	lentOut  int64 // of it, to others
	lentIn   int64
	used     int64 // energy; a day does not pass here
	freeUsed int64 // bytes of the day's free bandwidth
}

// prices are the chain's parameters.
type prices struct {
	energy, byte, open, openBytes int64 // sun
	free                          int64 // bytes a day
	perTRX                        int64 // energy of a stake of one TRX
	transfer, first               int64 // energy of a token's transfer, and of one to an address without the token
}

var firstPrices = prices{
	energy: 100, byte: 1_000, open: 1_000_000, openBytes: 100_000, free: 600, perTRX: 10, transfer: 64_285, first: 130_285,
}

// state is what the blocks so far have made of the accounts.
type state struct {
	prices
	payer    string // the one account whose balances are never checked
	accounts map[string]*account
	tokens   map[string]map[string]*big.Int // by contract and owner
	lent     map[[2]string]int64            // staked sun, by lender and user
	stakes   map[string]int64               // that the tests set
}

func newState(payer []byte, p prices) *state {
	s := &state{
		prices: p, payer: string(payer), accounts: map[string]*account{}, tokens: map[string]map[string]*big.Int{},
		lent: map[[2]string]int64{}, stakes: map[string]int64{},
	}
	s.accounts[s.payer] = &account{}
	return s
}

// after takes over what the tests set and no block holds.
func (s *state) after(before *state) *state {
	for who, sun := range before.stakes {
		s.freeze(who, sun)
	}
	return s
}

// freeze sets the stake of an account.
func (s *state) freeze(who string, sun int64) {
	s.stakes[who] = sun
	if s.accounts[who] == nil {
		s.accounts[who] = &account{}
	}
	s.accounts[who].stake = sun
}

// energy is what an account has left.
func (s *state) energyOf(a *account) int64 {
	return max(0, (a.stake-a.lentOut+a.lentIn)/1_000_000*s.perTRX-a.used)
}

func (s *state) token(contract, who []byte) *big.Int {
	if n := s.tokens[string(contract)][string(who)]; n != nil {
		return n
	}
	return new(big.Int)
}

// covers reports whether the owner has the tokens that a call moves.
func (s *state) covers(t *tx) bool {
	sum := new(big.Int)
	for _, m := range t.logs {
		sum.Add(sum, m.amount)
	}
	return string(t.data.Owner) == s.payer || s.token(t.data.To, t.data.Owner).Cmp(sum) >= 0
}

// needs is the energy of a call.
func (s *state) needs(t *tx) int64 {
	for _, m := range t.logs {
		if s.token(m.contract, m.to).Sign() == 0 {
			return s.first
		}
	}
	return s.transfer
}

// size is the bandwidth of a transaction: with its signature, and 64 bytes for its result.
func (t *tx) size() int64 { return int64(len(field(field(nil, 1, t.raw), 2, t.signature))) + 64 }

// may is execute without effect.
func (s *state) may(t *tx) error {
	trial := *s
	trial.accounts, trial.tokens, trial.lent = map[string]*account{}, map[string]map[string]*big.Int{}, maps.Clone(s.lent)
	for who, a := range s.accounts {
		one := *a
		trial.accounts[who] = &one
	}
	for contract, of := range s.tokens {
		trial.tokens[contract] = maps.Clone(of)
	}
	one := *t
	return trial.execute(&one)
}

// execute carries a transaction out. An error means that no block can hold it.
func (s *state) execute(t *tx) error {
	t.fee, t.energy, t.wide, t.outcome = 0, 0, 0, ""
	owner, to := string(t.data.Owner), string(t.data.To)
	a := s.accounts[owner]
	if a == nil {
		return fmt.Errorf("account [%s] does not exist", hex.EncodeToString(t.data.Owner))
	}
	amount := int64(t.data.Amount) //nolint:gosec // decode bounds it
	opens := t.data.Type == transferContract && s.accounts[to] == nil
	if owner != s.payer {
		if err := s.pay(t, a, opens); err != nil {
			return err
		}
	}
	switch t.data.Type {
	case transferContract:
		if owner != s.payer && a.coins < amount {
			return fmt.Errorf("balance is not sufficient: %d of %d", a.coins, amount)
		}
		a.coins -= amount
		s.give(to, amount)
	case triggerContract:
		s.call(t, a)
	case delegateContract:
		user := s.accounts[to]
		if user == nil {
			return fmt.Errorf("account [%s] does not exist", hex.EncodeToString(t.data.To))
		}
		if owner == to || amount < 1_000_000 || a.stake-a.lentOut < amount {
			return fmt.Errorf("delegateBalance %d must be at least 1 TRX and at most %d", amount, a.stake-a.lentOut)
		}
		a.lentOut, user.lentIn = a.lentOut+amount, user.lentIn+amount
		s.lent[[2]string{owner, to}] += amount
	case undelegateContract:
		if s.lent[[2]string{owner, to}] < amount {
			return fmt.Errorf("insufficient delegatedFrozenBalance(ENERGY), request=%d", amount)
		}
		s.unlend(owner, to, amount)
	}
	if t.data.Type == triggerContract && t.failed {
		return nil
	}
	for _, m := range t.internal {
		s.give(string(m.to), m.amount.Int64())
	}
	return nil
}

// unlend takes energy back, with the use that was made of it.
func (s *state) unlend(owner, user string, amount int64) {
	a, b := s.accounts[owner], s.accounts[user]
	moved := min(b.used, amount/1_000_000*s.perTRX)
	a.lentOut, b.lentIn, a.used, b.used = a.lentOut-amount, b.lentIn-amount, a.used+moved, b.used-moved
	if s.lent[[2]string{owner, user}] -= amount; s.lent[[2]string{owner, user}] == 0 {
		delete(s.lent, [2]string{owner, user})
	}
}

func (s *state) give(who string, amount int64) {
	if s.accounts[who] == nil {
		s.accounts[who] = &account{}
	}
	s.accounts[who].coins += amount
}

// pay takes the price of a transaction's bytes, and of opening an account.
func (s *state) pay(t *tx, a *account, opens bool) error {
	size := t.size()
	switch {
	case opens:
		t.fee = s.open + s.openBytes
	case a.freeUsed+size <= s.free:
		a.freeUsed += size
		t.wide = size
	default:
		t.fee = size * s.byte
	}
	if a.coins < t.fee {
		return fmt.Errorf("%w: %d sun are missing", errBandwidth, t.fee-a.coins)
	}
	a.coins -= t.fee
	return nil
}

// call carries a contract out. Its energy comes from the account's own first, then from burnt TRX, up to the fee limit,
// which bounds both.
func (s *state) call(t *tx, a *account) {
	paid := string(t.data.Owner) == s.payer
	t.outcome = "SUCCESS"
	if t.bad {
		t.outcome = "REVERT"
	}
	if !paid && !t.bad {
		needs, own := s.needs(t), s.energyOf(a)
		allowed := min(own+a.coins/s.energy, int64(t.data.FeeLimit)/s.energy) //nolint:gosec // decode bounds it
		if !s.covers(t) {
			t.outcome, needs = "REVERT", min(needs, 600)
		}
		if allowed < needs {
			t.outcome, needs = "OUT_OF_ENERGY", allowed
		}
		used := min(needs, own)
		burnt := (needs - used) * s.energy
		a.used, a.coins, t.fee, t.energy = a.used+used, a.coins-burnt, t.fee+burnt, needs
	}
	if t.failed = t.outcome != "SUCCESS"; t.failed {
		return
	}
	for _, m := range t.logs {
		of := s.tokens[string(m.contract)]
		if of == nil {
			of = map[string]*big.Int{}
			s.tokens[string(m.contract)] = of
		}
		if !paid {
			of[string(m.from)] = new(big.Int).Sub(s.token(m.contract, m.from), m.amount)
		}
		of[string(m.to)] = new(big.Int).Add(s.token(m.contract, m.to), m.amount)
	}
}
