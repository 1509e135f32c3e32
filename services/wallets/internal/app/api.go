package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/wallet"
)

// The HTTP statuses of stored answers.
const (
	statusOK      = 200
	statusCreated = 201
)

// The errors of the API.
var (
	ErrWalletNotFound = fault.New(fault.NotFound, "wallet_not_found", "Wallet not found")
	errNoSandbox      = fault.New(fault.NotFound, "route_not_found", "No such route.")
)

// Wallets keeps standalone wallets and the events and answers that are written with them.
type Wallets interface {
	// CreateWallet gives the draft an address and an id and commits it with its first event and the answer, so that the
	// address is watched before anybody learns it. It returns idempotency.ErrTaken if a request with the same key won.
	CreateWallet(ctx context.Context, draft wallet.Wallet, source derivation.Source, k idempotency.Key, answer func(wallet.Wallet) (idempotency.Answer, error)) (idempotency.Answer, error)
	// FindWallet returns a wallet of the owner.
	FindWallet(ctx context.Context, o tenant.Owner, id string) (wallet.Wallet, error)
	ListWallets(ctx context.Context, o tenant.Owner, q ListQuery) ([]wallet.Wallet, error)
	ListDeposits(ctx context.Context, w wallet.Wallet, q DepositQuery) ([]wallet.Deposit, map[string]int64, error)
	SimulateOwned(ctx context.Context, d wallet.Simulated, k idempotency.Key, a idempotency.Answer) error
	Balances(ctx context.Context, o tenant.Owner) ([]wallet.Balance, error)
	Replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error)
	Settled(ctx context.Context, k idempotency.Key) (idempotency.Answer, error)
}

// ListQuery is a page of an owner's wallets, newest first. After is the last wallet of the page before, or zero.
type ListQuery struct {
	Status wallet.Status // "" for all
	Limit  int
	Offset int
	Cursor bool // a page by cursor reads one row more than the limit
	After  Position
}

// DepositQuery is a page of a wallet's deposits, newest first.
type DepositQuery struct {
	Limit int
	After Position
}

// Position is where a page ended: the time and the name of its last row.
type Position struct {
	At   time.Time
	Name string
}

// Backlog reports whether too many messages wait for delivery to accept new work.
type Backlog interface {
	Full(ctx context.Context) error
}

// APISettings are what the API's use cases need.
type APISettings struct {
	Wallets Wallets
	Backlog Backlog
	Sources keys.Sources
	// Scanned reports whether a network of a mode is scanned, so that a wallet on it sees its deposits.
	Scanned func(mode tenant.Mode, network string) bool
	Shard   shard.Code // of new wallets
	Now     func() time.Time
}

// API is the use cases of the wallets API.
type API struct {
	APISettings
	app *App
}

// NewAPI makes the use cases; a simulates deposits.
func NewAPI(a *App, set APISettings) *API { return &API{APISettings: set, app: a} }

// NewWallet is the decoded body of POST /v1/wallets.
type NewWallet struct {
	Network, Crypto string
	Metadata        []byte
	Minutes         decimal.Decimal
	MinutesGiven    bool
	Enabled         []string // the networks that the merchant may use; empty: all
}

// unsupportedPair is the code of a crypto and network that are unknown or do not go together.
const unsupportedPair = "unsupported_pair"

// The window of a wallet in minutes (docs/api-contract.md#wallets).
const (
	minutesLeast = 1
	minutesMost  = 43_200
)

// check reads the pair and the window. An unsupported pair has its own code when nothing else is wrong; otherwise it is
// one field among the others.
func (c NewWallet) check(problems *fault.Problems) (n money.Network, a money.Asset, window time.Duration, err error) {
	minutes := decimal.NewFromInt(minutesMost)
	if c.MinutesGiven {
		if minutes = c.Minutes; minutes.LessThan(decimal.NewFromInt(minutesLeast)) || minutes.GreaterThan(decimal.NewFromInt(minutesMost)) {
			problems.Add("expiresInMinutes", "must be a number from %d to %d", minutesLeast, minutesMost)
		}
	}
	window = time.Duration(minutes.Mul(decimal.NewFromInt(time.Minute.Milliseconds())).IntPart()) * time.Millisecond
	field, text := "", ""
	if c.Network != "" && c.Crypto != "" {
		var ok bool
		if n, ok = money.NetworkOf(c.Network); !ok {
			field, text = "network", "network "+quoted(c.Network)
		} else if a, ok = n.Asset(c.Crypto); !ok {
			field, text = "crypto", quoted(c.Crypto)+" on "+n.Name
		}
	}
	if field == "" {
		return n, a, window, problems.Err()
	}
	text += " is not supported. Supported: " + money.Pairs()
	clean := problems.Err() == nil
	problems.Add(field, "%s", text)
	err = problems.Err()
	if f, ok := errors.AsType[*fault.Error](err); ok && clean {
		f.Code = unsupportedPair
	}
	return n, a, window, err
}

// quoted bounds the part of the caller's text that an answer repeats.
func quoted(s string) string {
	const most = 32
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return `"` + s + `"`
}

// Create makes a standalone wallet.
func (a *API) Create(ctx context.Context, o tenant.Owner, c NewWallet, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if earlier, found, err := a.replay(ctx, k); err != nil || found {
		return earlier, err
	}
	network, asset, window, err := c.check(problems)
	if err != nil {
		return idempotency.Answer{}, err
	}
	if len(c.Enabled) > 0 && !slices.Contains(c.Enabled, network.Name) {
		return idempotency.Answer{}, fault.New(fault.Forbidden, "network_not_enabled",
			"This merchant does not use %s. Enabled: %s.", network.Name, strings.Join(c.Enabled, ", "))
	}
	source := a.Sources[o.Mode][network.Family]
	if source == nil || !a.Scanned(o.Mode, network.Name) {
		closed := fault.New(fault.Unavailable, "network_unavailable", "Wallets on %s are not open in test mode yet.", network.Name)
		if o.Mode == tenant.Live {
			closed = fault.New(fault.Unavailable, "live_disabled", "Wallets on %s are not open in live mode yet.", network.Name)
		}
		return idempotency.Answer{}, closed.After(time.Hour).Closed()
	}
	if err := a.Backlog.Full(ctx); err != nil {
		return idempotency.Answer{}, err
	}
	now := a.Now().UTC().Truncate(time.Millisecond)
	draft := wallet.Wallet{
		ID: id.Placed(id.Wallet, a.Shard, now), Mode: o.Mode, MerchantID: o.MerchantID, KeyID: o.KeyID, Family: network.Family, Network: network.Name,
		NetworkName: strings.ToLower(strings.TrimSpace(c.Network)), Crypto: asset.Symbol, Metadata: c.Metadata,
		CreatedAt: now, ExpiresAt: now.Add(window),
	}
	if len(draft.Metadata) == 0 {
		draft.Metadata = []byte(`{}`)
	}
	answer, err := a.Wallets.CreateWallet(ctx, draft.Born(), source, k, func(w wallet.Wallet) (idempotency.Answer, error) {
		body, err := created(w)
		return idempotency.Answer{Status: statusCreated, Body: body}, err
	})
	if errors.Is(err, idempotency.ErrTaken) {
		return a.Wallets.Settled(ctx, k)
	}
	return answer, err
}

func (a *API) replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error) {
	if !k.Sent() {
		return idempotency.Answer{}, false, nil
	}
	return a.Wallets.Replay(ctx, k)
}

// find returns a wallet of the owner. A malformed id gets the answer of an unknown one, without a look-up.
func (a *API) find(ctx context.Context, o tenant.Owner, walletID string) (wallet.Wallet, error) {
	if !strings.HasPrefix(walletID, id.Wallet) || !id.IsObject(walletID) {
		return wallet.Wallet{}, ErrWalletNotFound
	}
	return a.Wallets.FindWallet(ctx, o, walletID)
}

// Show is the body of GET /v1/wallets/:id.
func (a *API) Show(ctx context.Context, o tenant.Owner, walletID string) ([]byte, error) {
	w, err := a.find(ctx, o, walletID)
	if err != nil {
		return nil, err
	}
	return shown(w)
}

// List is the body of GET /v1/wallets.
func (a *API) List(ctx context.Context, o tenant.Owner, q ListQuery) ([]byte, error) {
	list, err := a.Wallets.ListWallets(ctx, o, q)
	if err != nil {
		return nil, err
	}
	return listed(q, list)
}

// Deposits is the body of GET /v1/wallets/:id/deposits: every transfer to the wallet's address. Transfers of another
// crypto or on another network of the family do not count towards the wallet but are held for the merchant.
func (a *API) Deposits(ctx context.Context, o tenant.Owner, walletID string, q DepositQuery) ([]byte, error) {
	w, err := a.find(ctx, o, walletID)
	if err != nil {
		return nil, err
	}
	list, heads, err := a.Wallets.ListDeposits(ctx, w, q)
	if err != nil {
		return nil, err
	}
	return depositsListed(w, q, list, heads)
}

// Balances is the body of GET /v1/balances.
func (a *API) Balances(ctx context.Context, o tenant.Owner) ([]byte, error) {
	list, err := a.Wallets.Balances(ctx, o)
	if err != nil {
		return nil, err
	}
	return balanced(list)
}

// SandboxDeposit is the body of POST /v1/sandbox/wallets/:id/deposits. Confirmations negative means enough, or with an
// outcome one.
type SandboxDeposit struct {
	Amount        decimal.Decimal
	Given         bool
	Confirmations int64
	Outcome       string // one of Outcomes; "" for a transfer that stays
}

// The outcomes of a simulated transfer: its block leaves the chain after its confirmations, and a later block holds it
// again, or none does.
const (
	OutcomeReorg   = "reorg"
	OutcomeDropped = "reorg_dropped"
)

// Outcomes lists the outcomes of a simulated transfer to a wallet.
func Outcomes() []string { return []string{OutcomeReorg, OutcomeDropped} }

// Deposit sends money to a wallet of test mode on its simulated chain, in any status of the wallet.
func (a *API) Deposit(ctx context.Context, o tenant.Owner, walletID string, d SandboxDeposit, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if o.Mode != tenant.Test {
		return idempotency.Answer{}, errNoSandbox
	}
	if earlier, found, err := a.replay(ctx, k); err != nil || found {
		return earlier, err
	}
	w, err := a.find(ctx, o, walletID)
	if err != nil {
		return idempotency.Answer{}, err
	}
	asset := assetOf(w.Network, w.Crypto)
	d.check(asset, problems)
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	confirmations := int64(0) // enough
	if d.Confirmations >= 0 {
		confirmations = max(d.Confirmations, 1) // it is in a block
	}
	ask := Simulate{
		RequestID: id.New(id.Message, a.Now()), Address: w.Address, Network: w.Network, Asset: w.Crypto,
		Amount: asset.ToUnits(d.Amount).Truncate(0).String(), Confirmations: confirmations,
	}
	if d.Outcome != "" {
		ask.LeavesAfter, ask.Confirmations, ask.Returns = max(d.Confirmations, 1), 0, d.Outcome == OutcomeReorg
	}
	sim, err := a.app.readSimulate(ask)
	if err != nil {
		return idempotency.Answer{}, err
	}
	body, err := simulated(w, sim)
	if err != nil {
		return idempotency.Answer{}, err
	}
	answer := idempotency.Answer{Status: statusOK, Body: body}
	if err := a.Wallets.SimulateOwned(ctx, sim, k, answer); errors.Is(err, idempotency.ErrTaken) {
		return a.Wallets.Settled(ctx, k)
	} else if err != nil {
		return idempotency.Answer{}, err
	}
	a.app.taken(w.Network)
	return answer, nil
}

func (d SandboxDeposit) check(asset money.Asset, problems *fault.Problems) {
	switch {
	case !d.Given:
		problems.Add("amount", "is required")
	case !d.Amount.IsPositive() || d.Amount.GreaterThan(money.Max):
		problems.Add("amount", "must be greater than 0 and at most %s", money.Max)
	case money.Digits(d.Amount) > asset.Decimals:
		problems.Add("amount", "must have at most %d fractional digits", asset.Decimals)
	}
}

// assetOf finds a listed asset; rows hold no others.
func assetOf(network, crypto string) money.Asset {
	n, _ := money.NetworkOf(network)
	a, _ := n.Asset(crypto)
	return a
}
