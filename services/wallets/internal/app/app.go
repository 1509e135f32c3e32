// Package app holds the use cases of the wallets service: it issues addresses and feeds the simulated chains. It sees
// neither SQL nor messages nor HTTP, only the small interfaces below.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/wallet"
)

// Book keeps addresses and requests for them.
type Book interface {
	// Allocate grants a request once. With a nil source the request waits.
	Allocate(ctx context.Context, messageID string, r wallet.Request, source derivation.Source) error
	Waiting(ctx context.Context) ([]wallet.Request, error)
	NoteTraces(ctx context.Context, used []wire.UsedAddress) error
}

// Simulator keeps the deposits of the simulated chains.
type Simulator interface {
	// Simulate stores deposits and the ids of the messages that asked for them.
	Simulate(ctx context.Context, messageIDs []string, deposits []wallet.Simulated) error
	// NotOfTest returns the places of the addresses that were not issued in test mode alone.
	NotOfTest(ctx context.Context, addresses []wallet.Spelling) (places []int, err error)
}

// App is the use cases.
type App struct {
	book      Book
	simulator Simulator
	hints     Hints
	refunds   Refunds
	refused   func()
	find      Finder
	answers   Answers
	sources   keys.Sources
	nets      map[tenant.Mode]address.Net
	depths    wallet.Depths
	taken     func(network string)
	log       *slog.Logger
	most      int
	margin    int64
}

// Settings are what the use cases need in addition to their stores.
type Settings struct {
	Sources keys.Sources
	Nets    map[tenant.Mode]address.Net
	Depths  wallet.Depths
	Taken   func(network string) // called after a simulated deposit was stored
	Most    int                  // addresses in one request
	Log     *slog.Logger
	Margin  int64 // of a recovery; RecoveryMargin when it is 0
	Hints   Hints
	Refunds Refunds
	Refused func() // called for each approved refund that is refused; nil calls nothing
	Find    Finder // of a process that works
	Answers Answers
}

// New makes the use cases.
func New(book Book, simulator Simulator, set Settings) *App {
	if set.Refused == nil {
		set.Refused = func() {}
	}
	return &App{
		book: book, simulator: simulator, sources: set.Sources, nets: set.Nets, depths: set.Depths, taken: set.Taken, log: set.Log, most: set.Most,
		margin: cmp.Or(set.Margin, RecoveryMargin), hints: set.Hints, refunds: set.Refunds, refused: set.Refused,
		find: set.Find, answers: set.Answers,
	}
}

const requestIDMost = 200 // bytes

// Allocate answers a request for addresses. A request that breaks the rules is a permanent fault, which no retry cures.
func (a *App) Allocate(ctx context.Context, messageID string, r wallet.Request) error {
	if r.ID == "" || len(r.ID) > requestIDMost || r.Count < 1 || r.Count > a.most || !r.Mode.Valid() || !known(r.Family) {
		return fault.Permanent(fmt.Errorf("allocation request %.40q: want an id, a mode, a family and a count of 1 to %d, got mode %.10q, family %.10q, count %d",
			r.ID, a.most, r.Mode, r.Family, r.Count))
	}
	source := a.sources[r.Mode][r.Family]
	if source == nil {
		a.log.WarnContext(ctx, "address request waits: no key configured", "mode", r.Mode, "family", r.Family, "count", r.Count)
	}
	err := a.book.Allocate(ctx, messageID, r, source)
	if errors.Is(err, wallet.ErrOtherRequest) {
		return fault.Permanent(err)
	}
	return err
}

func known(f money.Family) bool {
	for _, each := range money.Families() {
		if f == each {
			return true
		}
	}
	return false
}

// GrantWaiting grants the requests that arrived before their keys were configured.
func (a *App) GrantWaiting(ctx context.Context) error {
	waiting, err := a.book.Waiting(ctx)
	if err != nil {
		return fmt.Errorf("reading waiting requests: %w", err)
	}
	var problems []error
	for _, r := range waiting {
		if source := a.sources[r.Mode][r.Family]; source != nil {
			problems = append(problems, a.book.Allocate(ctx, "", r, source))
		}
	}
	return errors.Join(problems...)
}

// Simulate requests a deposit on a simulated chain.
type Simulate struct {
	RequestID     string
	Address       string
	Network       string
	Asset         string
	Amount        string // base units, decimal digits
	Confirmations int64  // 0 for enough
	Sender        string // "" for one that nobody knows
	LeavesAfter   int64  // confirmations after which its block leaves the chain; 0 for never
	Returns       bool   // a later block holds it again
}

const (
	amountMost        = 78 // decimal digits of the largest 256-bit number
	confirmationsMost = 10_000
	senderMost        = 128
)

// Simulate puts deposits on simulated chains, all or none. It refuses a live or unknown address for good.
func (a *App) Simulate(ctx context.Context, messageIDs []string, all []Simulate) error {
	deposits, addresses := make([]wallet.Simulated, len(all)), make([]wallet.Spelling, len(all))
	for n, s := range all {
		var err error
		if deposits[n], err = a.readSimulate(s); err == nil {
			addresses[n], err = a.spelling(deposits[n])
		}
		if err != nil {
			return fault.Permanent(fmt.Errorf("simulated deposit %.40q: %w", s.RequestID, err))
		}
	}
	wrong, err := a.simulator.NotOfTest(ctx, addresses)
	if err != nil {
		return fmt.Errorf("looking the address up: %w", err)
	}
	if len(wrong) > 0 {
		return fault.Permanent(fmt.Errorf("simulated deposit %.40q: the address is not one of test mode", all[wrong[0]].RequestID))
	}
	if err := a.simulator.Simulate(ctx, messageIDs, deposits); err != nil {
		return fmt.Errorf("storing the simulated deposit: %w", err)
	}
	for _, network := range networksOf(deposits) {
		a.taken(network)
	}
	return nil
}

// spelling is the address of a deposit as each mode writes it.
func (a *App) spelling(d wallet.Simulated) (s wallet.Spelling, err error) {
	network, _ := money.NetworkOf(d.Network)
	s.Family = network.Family
	if s.Test, err = address.Encode(s.Family, a.nets[tenant.Test], d.To); err == nil {
		s.Live, err = address.Encode(s.Family, a.nets[tenant.Live], d.To)
	}
	return s, err
}

func networksOf(deposits []wallet.Simulated) (networks []string) {
	for _, d := range deposits {
		if !slices.Contains(networks, d.Network) {
			networks = append(networks, d.Network)
		}
	}
	return networks
}

// readSimulate checks the request and fills in its defaults.
func (a *App) readSimulate(s Simulate) (wallet.Simulated, error) {
	if s.RequestID == "" || len(s.RequestID) > requestIDMost {
		return wallet.Simulated{}, errors.New("the request id is missing")
	}
	network, ok := money.NetworkOf(s.Network)
	if !ok {
		return wallet.Simulated{}, fmt.Errorf("unknown network %.20q; there are %s", s.Network, money.Pairs())
	}
	asset, ok := network.Asset(s.Asset)
	if !ok {
		return wallet.Simulated{}, fmt.Errorf("%.20q is not listed on %s; there are %s", s.Asset, network.Name, money.Pairs())
	}
	amount, ok := new(big.Int).SetString(s.Amount, 10)
	if !ok || len(s.Amount) > amountMost || s.Amount[0] < '0' || s.Amount[0] > '9' || amount.Sign() <= 0 {
		return wallet.Simulated{}, fmt.Errorf("amount %.90q is not a positive number of base units", s.Amount)
	}
	if s.Confirmations < 0 || s.Confirmations > confirmationsMost {
		return wallet.Simulated{}, fmt.Errorf("confirmations must be 0 to %d", confirmationsMost)
	}
	if s.LeavesAfter < 0 || s.LeavesAfter > confirmationsMost || len(s.Sender) > senderMost {
		return wallet.Simulated{}, fmt.Errorf("the block may leave after 0 to %d confirmations, and the sender has %d characters at most", confirmationsMost, senderMost)
	}
	key, err := address.Parse(network.Family, a.nets[tenant.Test], s.Address)
	if err != nil {
		return wallet.Simulated{}, fmt.Errorf("the address %w", err)
	}
	confirmations := s.Confirmations
	if confirmations == 0 {
		confirmations = a.depths.Enough(network.Name, asset.Symbol)
	}
	txHash := wallet.SimulatedHash(network.Family, network.Name, s.RequestID)
	sender := s.Sender
	if sender == "" {
		sender = a.sender(network, txHash)
	}
	return wallet.Simulated{
		RequestID: s.RequestID, Network: network.Name, TxHash: txHash, To: key, Asset: asset.Symbol,
		Contract: asset.Contract, Amount: amount, Sender: sender, Confirmations: confirmations,
		LeavesAfter: s.LeavesAfter, Returns: s.Returns,
	}, nil
}

// sender makes up a payer: an address of the family that nobody owns.
func (a *App) sender(network money.Network, txHash string) string {
	sum := address.Keccak256([]byte("payer of " + txHash))
	n := 20
	if network.Family == money.Solana {
		n = len(sum)
	}
	text, err := address.Encode(network.Family, a.nets[tenant.Test], sum[:n])
	if err != nil {
		return "unknown"
	}
	return text
}
