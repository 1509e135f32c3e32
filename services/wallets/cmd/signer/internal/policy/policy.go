// Package policy decides what the signer signs. It refuses every network, treasury, token contract, chain id, fee,
// address range and hourly amount that the operator's policy file does not name. It is pure: the caller passes the
// time, the addresses and the earlier signatures.
package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/trontx"
)

// Window is the sliding hour of the hourly limits.
const Window = time.Hour

// Units is a number of base units, which the file has as a string of digits.
type Units struct{ big.Int }

// UnmarshalJSON reads a string of digits. It refuses JSON numbers, which lose digits in other readers.
func (u *Units) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return errors.New("an amount is a string of digits")
	}
	n, err := intent.Units(text)
	if err == nil {
		u.Set(n)
	}
	return err
}

// Policy is the operator's file.
type Policy struct {
	Mode       string `json:"mode"`       // live, or test
	Account    uint32 `json:"account"`    // hardened account of the deposit addresses
	GasAccount uint32 `json:"gasAccount"` // hardened account of the gas stations; differs from account
	// RefundAccount is the hardened account of the refund stations, which differs from both. It exists with orders alone.
	RefundAccount uint32             `json:"refundAccount"`
	Orders        *Orders            `json:"orders"`     // without them nothing is refunded
	IndexBelow    uint32             `json:"indexBelow"` // deposit addresses are served below this index
	Peers         []uint32           `json:"peers"`      // user ids that may ask; empty means the signer's own
	Networks      map[string]Network `json:"networks"`
}

// Network names the transactions that may be signed on one network.
type Network struct {
	ChainID      uint64           `json:"chainId"`
	Treasury     string           `json:"treasury"` // the only destination of sweeps
	MaxFeePerGas Units            `json:"maxFeePerGas"`
	MaxGas       uint64           `json:"maxGas"`
	CountPerHour int              `json:"countPerHour"` // transactions, without replacements
	Assets       map[string]Asset `json:"assets"`
	Fund         Fund             `json:"fund"`
	Tron         *Tron            `json:"tron"`    // on tron only
	Solana       *Solana          `json:"solana"`  // on solana only
	Bitcoin      *Bitcoin         `json:"bitcoin"` // on bitcoin only

	treasury evmtx.Account
}

// Asset is an asset that may be swept.
type Asset struct {
	Contract string `json:"contract"` // of a token; empty for the network's own coin
	PerHour  Units  `json:"perHour"`
	// RefundPerHour bounds all refunds of the asset; without it there are none. AutomaticPerHour bounds the refunds that
	// no operator has approved.
	RefundPerHour    Units `json:"refundPerHour"`
	AutomaticPerHour Units `json:"automaticPerHour"`
	// The same two limits for withdrawals of merchants.
	WithdrawPerHour          Units `json:"withdrawPerHour"`
	AutomaticWithdrawPerHour Units `json:"automaticWithdrawPerHour"`
	// Authorization names the contract of a token that takes authorizations (EIP-3009), on EVM networks only.
	Authorization *intent.Domain `json:"authorization"`

	contract evmtx.Account
}

// Fund bounds the gas that the gas station gives.
type Fund struct {
	Most    Units `json:"most"` // the most of one funding
	PerHour Units `json:"perHour"`
}

// FileMost bounds a policy file in bytes.
const FileMost = 256 << 10

// Parse reads a policy file. It rejects unknown members, wrong checksums of treasuries and contracts, and limits of
// zero, because a misread policy is worse than none.
func Parse(text []byte) (Policy, error) {
	var p Policy
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Policy{}, fmt.Errorf("reading the policy: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Policy{}, errors.New("reading the policy: trailing data")
	}
	var problems []error
	if p.Mode != "live" && p.Mode != "test" {
		problems = append(problems, errors.New("mode must be live or test"))
	}
	if p.Account == p.GasAccount || p.Account >= derivation.MaxIndex || p.GasAccount >= derivation.MaxIndex {
		problems = append(problems, errors.New("account and gasAccount must be two numbers below 2^31"))
	}
	if p.IndexBelow == 0 || p.IndexBelow > derivation.MaxIndex {
		problems = append(problems, errors.New("indexBelow must be 1 to 2^31"))
	}
	if err := p.checkOrders(); err != nil {
		problems = append(problems, err)
	}
	for name, n := range p.Networks {
		if err := errors.Join(n.check(name), n.checkRefunds(p.Orders != nil), n.checkAuthorizations()); err != nil {
			problems = append(problems, fmt.Errorf("networks.%s: %w", name, err))
		}
		p.Networks[name] = n
	}
	return p, errors.Join(problems...)
}

func (n *Network) check(name string) error {
	listed, ok := money.NetworkOf(name)
	if !ok || listed.Name != name || (n.Tron != nil) != (listed.Family == money.Tron) ||
		(n.Solana != nil) != (listed.Family == money.Solana) || (n.Bitcoin != nil) != (listed.Family == money.Bitcoin) {
		return errors.New("is not a network of this signer, or has the terms of another family")
	}
	switch {
	case n.Tron != nil:
		return n.checkTron(listed)
	case n.Solana != nil:
		return n.checkSolana(listed)
	case n.Bitcoin != nil:
		return n.checkBitcoin(listed)
	case listed.Family == money.EVM:
		return n.checkEVM(listed)
	}
	return errors.New("is not a network of this signer")
}

func (n *Network) checkEVM(listed money.Network) (err error) {
	if n.treasury, err = evmtx.ParseAccount(n.Treasury); err != nil {
		return fmt.Errorf("treasury: %w", err)
	}
	if n.treasury == (evmtx.Account{}) || n.ChainID == 0 || n.MaxFeePerGas.Sign() <= 0 || n.MaxGas < 21_000 || n.CountPerHour < 1 {
		return errors.New("needs treasury, chainId, maxFeePerGas, maxGas of 21000 or more and countPerHour")
	}
	for symbol, a := range n.Assets {
		asset, ok := listed.Asset(symbol)
		if !ok || asset.Symbol != symbol || asset.Native != (a.Contract == "") || a.PerHour.Sign() <= 0 {
			return fmt.Errorf("assets.%s: is not listed, or has no limit, or its contract is missing or superfluous", symbol)
		}
		if a.Contract != "" {
			if a.contract, err = evmtx.ParseAccount(a.Contract); err != nil {
				return fmt.Errorf("assets.%s: contract: %w", symbol, err)
			}
		}
		n.Assets[symbol] = a
	}
	return nil
}

// Keys derives the addresses of the seed.
type Keys interface {
	Account(account, index uint32) (evmtx.Account, error)
	TronAccount(account, index uint32) (trontx.Account, error)
	// Solana is a deposit address, and SolanaStation the address that pays for sweeps of solana.
	Solana(index uint32) (soltx.Account, error)
	SolanaStation(account uint32) (soltx.Account, error)
	// Witness is the hash of the public key of a bitcoin address (P2WPKH).
	Witness(account, index uint32) ([20]byte, error)
}

// Spend is one signed transaction as the limits count it. A replacement with the same nonce takes the place of the one
// before.
type Spend struct {
	Network, Slot string // slot: sender and nonce, or the set of inputs; only one transaction of a slot can be mined
	Purpose       string // on tron: only one transaction of a purpose may be able to land
	Expires       time.Time
	Kind          intent.Kind
	Asset         string
	Amount        *big.Int
	At            time.Time
	Order         string         // id of a refund's order, which is spent by one slot for ever
	For           order.Kind     // kind of the order: refunds and withdrawals have limits of their own
	Approval      order.Approval // of a refund
	Paid          Paid           // by the gas station, in a funding or for an authorized sweep
	Rent          uint64         // that a refund on solana may pay for a token account
}

// Paid is the most that the gas station gives or pays in a transaction. One transaction of a slot can land.
type Paid struct {
	Slot string
	Most *big.Int // nil when the transaction costs it nothing
}

// Spent is a signed request as the limits count it. Every form counts on tron, where no nonce keeps two of them apart,
// and on solana: the signer sees no chain, so it cannot tell the value of a nonce account, which one transaction uses
// up, from a recent block hash, under which every form may land.
func Spent(r intent.Request, from string, amount *big.Int, at time.Time) Spend {
	s := Spend{Network: r.Network, Kind: r.Kind, Asset: r.Asset, Amount: amount, At: at}
	if r.Order != nil {
		s.Order, s.For, s.Approval = r.Order.ID, r.Order.Kind, r.Order.Approval
	}
	switch {
	case r.EVM != nil:
		s.Slot = fmt.Sprintf("%s/%d", from, r.EVM.Nonce)
		s.Paid = costOf(r, s.Slot)
		s.Slot += authorized(r)
	case r.Solana != nil:
		s.Slot = r.ID
		if r.Kind == intent.Refund {
			s.Slot = solanaForm(r)
			if r.Solana.Mint != "" {
				s.Rent = soltx.TokenRent
			}
		}
	case r.Bitcoin != nil:
		s.Slot = from // the set of inputs
	case r.Tron != nil:
		s.Slot, s.Purpose, s.Expires = r.ID, fmt.Sprintf("%s/%d/%s", r.Kind, r.Index, r.Asset), r.Tron.Expires()
		if r.Order != nil {
			s.Purpose = fmt.Sprintf("%s/%s", r.Kind, r.Order.ID)
		}
	}
	if r.Kind == intent.Fund {
		s.Paid = Paid{s.Slot, amount}
	}
	return s
}

// Plan is an accepted request: the transaction to sign, its key, and its share of the limits.
type Plan struct {
	Account, Index uint32
	From           fmt.Stringer
	Transaction    evmtx.Transaction
	Authorized     *Authorized         // that the transaction presents, on EVM networks
	Tron           *trontx.Transaction // in place of Transaction, on tron
	Solana         *SolanaPlan         // in place of Account, Index and Transaction, on solana
	SolanaRefund   *soltx.Refund       // the same, in a refund
	Bitcoin        *Collection         // in place of Index and Transaction, on bitcoin
	Spend          Spend
}

// Check judges a request by the policy and the signatures of the last hour.
func (p Policy) Check(r intent.Request, keys Keys, before []Spend, now time.Time) (Plan, *intent.Refusal, error) {
	n, refusal := p.form(r)
	if refusal != nil {
		return Plan{}, refusal, nil
	}
	switch {
	case r.Kind == intent.Refund:
		return p.refund(n, r, keys, hour{before, now})
	case n.Tron != nil:
		return p.tron(n, r, keys, before, now)
	case n.Bitcoin != nil:
		return p.bitcoin(n, r, keys, hour{before, now})
	case n.Solana != nil:
		return p.solana(n, r, keys, hour{before, now})
	}
	tx, err := r.Transaction()
	if err != nil {
		return Plan{}, intent.Refuse(intent.Malformed, "%s", err), nil
	}
	deposit, err := keys.Account(p.Account, r.Index)
	if err != nil {
		return Plan{}, nil, err
	}
	plan := Plan{Account: p.Account, Index: r.Index, From: deposit, Transaction: tx}
	if r.EVM.Authorization != nil {
		var refusal *intent.Refusal
		if plan.Authorized, refusal = n.authorize(r, tx, deposit, now); refusal != nil {
			return Plan{}, refusal, nil
		}
	}
	if r.Kind == intent.Fund || plan.Authorized != nil {
		plan.Account, plan.Index = p.GasAccount, 0
		if plan.From, err = keys.Account(p.GasAccount, 0); err != nil {
			return Plan{}, nil, err
		}
	}
	amount, _ := intent.Units(r.Amount) // Transaction has read it already
	if refusal := n.terms(r, tx, amount, deposit); refusal != nil {
		return Plan{}, refusal, nil
	}
	plan.Spend = Spent(r, plan.From.String(), amount, now)
	if refusal := n.limits(r, plan.Spend, before, now); refusal != nil {
		return Plan{}, refusal, nil
	}
	return plan, nil, nil
}

// form makes the checks that need no key.
func (p Policy) form(r intent.Request) (Network, *intent.Refusal) {
	if r.ID == "" || len(r.ID) > intent.IDMost {
		return Network{}, intent.Refuse(intent.Malformed, "want an id of at most %d bytes", intent.IDMost)
	}
	n, ok := p.Networks[r.Network]
	if !ok {
		return Network{}, intent.Refuse(intent.Network, "network %.20q is not in the policy", r.Network)
	}
	if !slices.Contains(n.kinds(), r.Kind) || !n.speaks(r) {
		return Network{}, intent.Refuse(intent.Malformed, "want one of the kinds %v, with the terms of %s alone", n.kinds(), r.Network)
	}
	if r.Kind != intent.Sweep && r.EVM != nil && r.EVM.Authorization != nil {
		return Network{}, intent.Refuse(intent.Malformed, "only a sweep has an authorization")
	}
	if (r.Kind == intent.Refund) != (r.Order != nil) {
		return Network{}, intent.Refuse(intent.Malformed, "a refund has an order, and nothing else has one")
	}
	if r.Kind == intent.Refund && (r.Account != 0 || r.Index != 0) {
		return Network{}, intent.Refuse(intent.Malformed, "a refund names no deposit address")
	}
	if r.Kind != intent.Refund && r.Solana == nil && (r.Account != p.Account || r.Index >= p.IndexBelow) {
		return Network{}, intent.Refuse(intent.Address, "account %d, index %d are not served", r.Account, r.Index)
	}
	return n, nil
}

// speaks reports whether a request has the terms of the network's family, and no others.
func (n Network) speaks(r intent.Request) bool {
	evm := n.Tron == nil && n.Solana == nil && n.Bitcoin == nil
	return (n.Tron != nil) == (r.Tron != nil) && (n.Solana != nil) == (r.Solana != nil) && (n.Bitcoin != nil) == (r.Bitcoin != nil) &&
		evm == (r.EVM != nil)
}

// kinds are the kinds of intents that exist on the network.
func (n Network) kinds() []intent.Kind {
	switch {
	case n.Solana != nil && len(n.Solana.RefundNonces) == 0:
		return []intent.Kind{intent.Sweep}
	case n.Solana != nil, n.Bitcoin != nil:
		return []intent.Kind{intent.Sweep, intent.Refund}
	case n.Tron != nil:
		return []intent.Kind{intent.Sweep, intent.Fund, intent.Delegate, intent.Undelegate, intent.Refund}
	}
	return []intent.Kind{intent.Sweep, intent.Fund, intent.Refund}
}

// terms checks destination, asset, chain and fee.
func (n Network) terms(r intent.Request, tx evmtx.Transaction, amount *big.Int, deposit evmtx.Account) *intent.Refusal {
	a, listed := n.Assets[r.Asset]
	to, err := evmtx.ParseAccount(r.To)
	switch {
	case err != nil:
		return intent.Refuse(intent.Malformed, "%s", err)
	case r.Kind == intent.Sweep && to != n.treasury:
		return intent.Refuse(intent.Destination, "%s is not the treasury of %s", to, r.Network)
	case r.Kind == intent.Fund && to != deposit:
		return intent.Refuse(intent.Destination, "%s is not deposit address %d", to, r.Index)
	case r.Kind == intent.Fund && (r.EVM.Contract != "" || !native(r.Network, r.Asset)):
		return intent.Refuse(intent.Asset, "a gas station gives the network's own coin")
	case r.Kind == intent.Fund && amount.Cmp(&n.Fund.Most.Int) > 0:
		return intent.Refuse(intent.Value, "%s is more than one funding may give", amount)
	case r.Kind == intent.Sweep && !listed:
		return intent.Refuse(intent.Asset, "%.20q is not in the policy of %s", r.Asset, r.Network)
	case r.Kind == intent.Sweep && (a.Contract == "") != (r.EVM.Contract == ""):
		return intent.Refuse(intent.Asset, "%s has another contract", r.Asset)
	case r.Kind == intent.Sweep && a.Contract != "" && tx.To != a.contract:
		return intent.Refuse(intent.Asset, "%s is not the contract of %s", tx.To, r.Asset)
	}
	return n.evmBounds(r, tx)
}

// evmBounds checks chain and fee.
func (n Network) evmBounds(r intent.Request, tx evmtx.Transaction) *intent.Refusal {
	switch {
	case tx.ChainID != n.ChainID:
		return intent.Refuse(intent.ChainID, "chain id %d is not that of %s", tx.ChainID, r.Network)
	case tx.MaxFee.Cmp(&n.MaxFeePerGas.Int) > 0 || tx.Gas > n.MaxGas:
		return intent.Refuse(intent.Fee, "%d gas at %s wei are more than %d at %s", tx.Gas, tx.MaxFee, n.MaxGas, &n.MaxFeePerGas.Int)
	}
	return nil
}

func native(network, asset string) bool {
	n, _ := money.NetworkOf(network)
	a, ok := n.Asset(asset)
	return ok && a.Native && a.Symbol == asset
}

// limits adds up the hour. One transaction of a slot can land, so a slot counts once, with its largest amount of each
// kind and asset. Amounts of two assets have different units, so each asset has its own sum. The coins that the gas
// station gives and the fees that it pays for authorized sweeps have one sum.
func (n Network) limits(r intent.Request, next Spend, before []Spend, now time.Time) *intent.Refusal {
	slots, same, all := map[string]bool{next.Slot: true}, []Spend{next}, []Spend{next}
	for _, s := range before {
		if s.Network != r.Network || now.Sub(s.At) >= Window {
			continue
		}
		slots[s.Slot], all = true, append(all, s)
		if s.Kind == r.Kind && s.Asset == r.Asset && s.For == next.For {
			same = append(same, s)
		}
	}
	if len(slots) > n.CountPerHour {
		return intent.Refuse(intent.Count, "more than %d transactions an hour on %s", n.CountPerHour, r.Network)
	}
	if next.Paid.Most != nil && paid(all).Cmp(&n.Fund.PerHour.Int) > 0 {
		return intent.Refuse(intent.Value, "the gas station may give and pay at most %s an hour on %s", &n.Fund.PerHour.Int, r.Network)
	}
	var most Units
	switch r.Kind {
	case intent.Sweep:
		most = n.Assets[r.Asset].PerHour
	case intent.Refund:
		most = n.Assets[r.Asset].ordered(next.For).most
		if refusal := n.automatic(r, next, same); refusal != nil {
			return refusal
		}
	case intent.Delegate:
		most = n.Tron.Lend.PerHour
	case intent.Fund:
		return nil // the sum above bounds it
	case intent.Undelegate:
		return nil // it returns to the station, and the number of transactions bounds it
	}
	if total(same).Cmp(&most.Int) > 0 {
		return intent.Refuse(intent.Value, "more than %s of %s an hour on %s", &most.Int, r.Asset, r.Network)
	}
	return nil
}

// total is the sum of the largest amount of each slot.
func total(list []Spend) *big.Int {
	sum, largest := new(big.Int), map[string]*big.Int{}
	for _, s := range list {
		if twin, ok := largest[s.Slot]; !ok || s.Amount.Cmp(twin) > 0 {
			largest[s.Slot] = s.Amount
		}
	}
	for _, amount := range largest {
		sum.Add(sum, amount)
	}
	return sum
}

// paid is the sum of the most that the gas station gives or pays in each slot.
func paid(list []Spend) *big.Int {
	var by []Spend
	for _, s := range list {
		if s.Paid.Most != nil {
			by = append(by, Spend{Slot: s.Paid.Slot, Amount: s.Paid.Most})
		}
	}
	return total(by)
}

// Recent drops the signatures that are too old for every limit.
func Recent(list []Spend, now time.Time) []Spend {
	return slices.DeleteFunc(list, func(s Spend) bool { return now.Sub(s.At) >= Window })
}
