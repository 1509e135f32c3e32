// Package sweeper moves money from deposit addresses to the treasury, one network at a time. Each round first follows
// the outgoing transactions, then plans the next transaction of every open sweep, then opens sweeps for deposits that
// are final and worth it. It writes every decision before it acts on it, and every write names the version that it was
// decided on. So the process may be killed between any two steps, on either side of the signer's socket, and continues
// from the database alone.
package sweeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/signer"
	"causeway.internal/services/wallets/internal/sweep"
)

// Due is a sum of final deposits of one asset at one address that no sweep has taken.
type Due struct {
	Address string
	Asset   string
	Amount  *big.Int
	Least   *big.Int // the smallest deposit that it counts; nil for any
	Most    int      // deposits that one sweep may hold; 0 for the store's bound
}

// Least is what a sweep must be worth before it is opened.
type Least struct {
	Sum     map[string]*big.Int // of an address, by asset
	Deposit *big.Int            // smallest deposit that counts, where each costs a fee of its own; nil for any
	Most    int                 // deposits that one sweep may hold; 0 for the store's bound
}

// Lent is energy that a deposit address uses for a sweep.
type Lent struct {
	Outgoing string // that lent it
	Sweep    sweep.Sweep
}

// Store keeps sweeps and their outgoing transactions. A write that was decided on an older version fails with ErrStale.
type Store interface {
	// Final is the newest final block of the chain in the scanner's view.
	Final(ctx context.Context, network string) (int64, error)
	// Canonical reports whether the scanner has a block, if it still remembers its height.
	Canonical(ctx context.Context, network string, height int64, hash string) (bool, error)
	KeepStation(ctx context.Context, family money.Family, address string) error

	Due(ctx context.Context, network string, least Least, most int) ([]Due, error)
	// Open makes the sweep of all due money at an address in one asset.
	Open(ctx context.Context, network string, d Due, treasury string) (bool, error)
	// Idle are due open sweeps without a sweeping transaction under way and without an unmined funding.
	Idle(ctx context.Context, network string, most int) ([]sweep.Sweep, error)
	// Funding reports whether a funding of a sweep is in a block that is not final.
	Funding(ctx context.Context, s sweep.Sweep) (bool, error)
	// Wait postpones the next try; Block ends the tries until an operator releases the sweep.
	Wait(ctx context.Context, s sweep.Sweep, d time.Duration, reason string) error
	Block(ctx context.Context, s sweep.Sweep, reason string) error
	// Together bounds the sweeps of the next transaction of each of these, which is planned at once.
	Together(ctx context.Context, of []sweep.Sweep, most int, reason string) error
	// Leave takes outputs out of a sweep, whose sum falls by them. A sweep without outputs ends.
	Leave(ctx context.Context, s sweep.Sweep, outputs []sweep.Input) error
	// Held is the part of an address's coin that belongs to a merchant.
	Held(ctx context.Context, network, address string) (*big.Int, error)

	// Queue is what a sender has planned and sent.
	Queue(ctx context.Context, network, sender string) (sweep.Queue, error)
	// Outputs are the deposits of sweeps as outputs that a transaction can spend.
	Outputs(ctx context.Context, of []sweep.Sweep) ([]sweep.Input, error)
	// Plan writes a transaction. It fails with ErrStale if another one may use its number, a sweep of its batch or an
	// output that it spends.
	Plan(ctx context.Context, o sweep.Outgoing) error
	// Present writes the transaction of another party that has ended a sweep. An own one with its hash, which seemed to be
	// replaced, is followed again instead.
	Present(ctx context.Context, o sweep.Outgoing) error
	// Blocked are due blocked sweeps whose authorization another party may have presented. Unused notes until when, on the
	// chain, it had not been used.
	Blocked(ctx context.Context, network string, most int) ([]sweep.Sweep, error)
	Unused(ctx context.Context, s sweep.Sweep, until time.Time) error
	// Drop deletes a planned transaction that was never signed.
	Drop(ctx context.Context, o sweep.Outgoing) error
	Underway(ctx context.Context, network string, most int) ([]sweep.Outgoing, error)
	// Looked notes that a round has looked for every transaction under way in the blocks up to a final one.
	Looked(ctx context.Context, network string, final int64) error
	Again(ctx context.Context, o sweep.Outgoing, next sweep.Attempt) error
	// Withdraw deletes the newest form, which was never signed, and gives the one before it more time.
	Withdraw(ctx context.Context, o sweep.Outgoing) error
	Signed(ctx context.Context, o sweep.Outgoing, raw []byte, hash string) error
	// Sent notes that nodes may have the newest form; accepted means that one has taken it.
	Sent(ctx context.Context, o sweep.Outgoing, accepted bool) error
	Mined(ctx context.Context, o sweep.Outgoing, r sweep.Receipt) error
	Unmined(ctx context.Context, o sweep.Outgoing) error
	Replaced(ctx context.Context, o sweep.Outgoing) error
	// Finish ends a transaction and books it; with the last of a wallet's deposits the wallet is swept.
	Finish(ctx context.Context, o sweep.Outgoing, r sweep.Receipt, ok bool, amount *big.Int) error
	// FinalBlock is the newest final block in the scanner's view; known is false when the scanner keeps none.
	FinalBlock(ctx context.Context, network string) (h chain.Header, known bool, err error)
	// Lent is energy that was lent for sweeps which are not open any more, and is not on its way back.
	Lent(ctx context.Context, network string, most int) ([]Lent, error)
	// Returned notes that lent energy is back.
	Returned(ctx context.Context, outgoing string) error
	// Returning reports whether energy that was lent to the address of a sweep for another one is due back.
	Returning(ctx context.Context, s sweep.Sweep) (bool, error)
	// Failures are the transactions of a sweep that a block holds without their effect.
	Failures(ctx context.Context, s sweep.Sweep) (int64, error)
	// Counts are the numbers of open and of blocked sweeps, by network and state.
	Counts(ctx context.Context) (map[[2]string]int64, error)
}

// ErrStale means that another process has changed the row.
var ErrStale = errors.New("another process has changed the row")

// Chain is what every network answers about the transactions of sweeps.
type Chain interface {
	// Send gives signed bytes to a node. ErrRefused means that the node does not take them.
	Send(ctx context.Context, raw []byte) error
}

// Receipts is a network whose nodes find a transaction by its hash.
type Receipts interface {
	// Receipt reports false when no block holds the transaction.
	Receipt(ctx context.Context, hash string) (sweep.Receipt, bool, error)
}

// byHash finds the form of a transaction that a block holds, if one does.
func byHash(ctx context.Context, chain Receipts, o sweep.Outgoing) (r sweep.Receipt, found bool, err error) {
	for _, hash := range o.Sent() {
		if r, found, err = chain.Receipt(ctx, hash); err != nil || found {
			return r, found, err
		}
	}
	return sweep.Receipt{}, false, nil
}

// family plans the transactions of one family of networks, and decides what happens to one that no block holds.
type family interface {
	// plan decides the next transactions of open sweeps, and gives note the error of each.
	plan(ctx context.Context, idle []sweep.Sweep, note func(what string, err error))
	// least is what a deposit address must hold now before its sweep is opened.
	least(ctx context.Context) (Least, error)
	// find looks for the form of a transaction that a block holds.
	find(ctx context.Context, o sweep.Outgoing) (r sweep.Receipt, found bool, err error)
	// wait handles a transaction that nodes have and no block holds.
	wait(ctx context.Context, o sweep.Outgoing, final int64) error
}

// Config is one network.
type Config struct {
	Network  string
	Chain    Chain  // of the network's family
	Coin     string // symbol of the network's own coin
	ChainID  uint64
	Treasury string
	Tokens   map[string]string // refunds: the contracts that the network's scan reads, by symbol
	Station  string            // the gas station
	Nonces   []string          // solana: the nonce accounts of the station
	Settle   time.Duration     // solana: age at which a token is swept and its account closed
	Terms    sweep.Terms       // not on bitcoin
	// Authorized are the tokens of an EVM network whose contract takes authorizations, by symbol, as the signer says.
	Authorized map[string]intent.Domain
	Batches    sweep.Batches // on bitcoin
	From       int64         // on bitcoin: outputs of a new refund station are in later blocks; 0 for the final ones of now
	Tron       TronConfig
	Refunds    RefundStore   // it pays refunds from Station, a refund station, instead; nil for sweeps
	Stuck      time.Duration // time without a block after which a transaction is sent again with a higher fee
	Resend     time.Duration // time after which the same bytes are sent to a node again
	// Ready reports whether anything may be done at present; nil for always.
	Ready func(ctx context.Context, network string) (bool, error)
	// Balance receives each balance of a refund station that was read; nil receives nothing.
	Balance func(asset string, has *big.Int)
	// Ended is called for each transaction that has become final, with its result; nil calls nothing.
	Ended func(o sweep.Outgoing, end sweep.Outcome)
}

// Sweeper sweeps one network.
type Sweeper struct {
	cfg    Config
	store  Store
	chain  Chain
	family family
	signer *signer.Client
	log    *slog.Logger
	newID  func() string
	said   said
	lost   since // transactions that no node shows, though their nonce is used
}

// New makes the sweeper of a network. newID makes ids of outgoing transactions.
func New(cfg Config, store Store, signer *signer.Client, log *slog.Logger, newID func() string) *Sweeper {
	s := &Sweeper{cfg: cfg, store: store, chain: cfg.Chain, signer: signer, log: log.With("network", cfg.Network), newID: newID, said: said{}, lost: since{}}
	if s.family = sweeps(s); cfg.Refunds != nil {
		s.family = refunds(s)
	}
	if s.family == nil {
		panic(fmt.Sprintf("sweeper: no family works on %T", cfg.Chain))
	}
	return s
}

// sweeps sweeps a family of networks; nil where none is swept.
func sweeps(s *Sweeper) family {
	switch chain := s.cfg.Chain.(type) {
	case EVM:
		return evm{s, chain}
	case Solana:
		return solana{s, chain}
	case Bitcoin:
		return newBitcoin(s, chain)
	case Tron:
		return tron{s, chain}
	}
	return nil
}

// Bounds of one round.
const (
	roundMost   = 200
	stationMost = 16 // fundings under way at once
	waitShort   = 15 * time.Second
	waitLong    = 10 * time.Minute
)

// Round takes every step that is possible now. An error of one transaction does not stop the others.
func (s *Sweeper) Round(ctx context.Context) error {
	if s.cfg.Ready != nil {
		if ready, err := s.cfg.Ready(ctx, s.cfg.Network); err != nil || !ready {
			return err
		}
	}
	final, err := s.store.Final(ctx, s.cfg.Network)
	if err != nil {
		return err
	}
	underway, err := s.store.Underway(ctx, s.cfg.Network, roundMost)
	if err != nil {
		return err
	}
	var problems []error
	note := func(what string, err error) {
		if err != nil && !errors.Is(err, ErrStale) {
			problems = append(problems, fmt.Errorf("%s: %w", what, err))
		}
	}
	all := len(underway) < roundMost
	for _, o := range underway {
		looked, err := s.follow(ctx, o, final)
		note("transaction "+o.ID, err)
		all = all && looked
	}
	if all {
		note("look", s.store.Looked(ctx, s.cfg.Network, final))
	}
	idle, err := s.store.Idle(ctx, s.cfg.Network, roundMost)
	if err != nil {
		return err
	}
	if s.cfg.Refunds != nil {
		idle = s.listed(ctx, idle, note)
	}
	s.family.plan(ctx, idle, note)
	least, err := s.family.least(ctx)
	if err != nil {
		return errors.Join(append(problems, err)...)
	}
	due, err := s.store.Due(ctx, s.cfg.Network, least, roundMost)
	if err != nil {
		return err
	}
	for _, d := range due {
		_, err := s.store.Open(ctx, s.cfg.Network, d, s.cfg.Treasury)
		note("sweep of "+d.Address, err)
	}
	return errors.Join(problems...)
}

// follow takes the next step of a transaction that is planned or under way. It reports whether it looked for the
// transaction and noted the block that holds it, if one does.
func (s *Sweeper) follow(ctx context.Context, o sweep.Outgoing, final int64) (looked bool, err error) {
	r, found, err := s.family.find(ctx, o)
	if err != nil {
		return false, err
	}
	if found {
		err := s.included(ctx, o, r, final)
		return err == nil, err
	}
	return true, s.push(ctx, o, final)
}

// push takes the next step of a transaction that no block holds.
func (s *Sweeper) push(ctx context.Context, o sweep.Outgoing, final int64) error {
	if o.State == sweep.Mined { // its block has left the chain
		s.log.WarnContext(ctx, "own transaction reorganised away", "id", o.ID, "tx", o.TxHash)
		return s.store.Unmined(ctx, o)
	}
	newest := o.Newest()
	switch {
	case o.Presented: // the node has not seen its block yet
		return nil
	case newest.Raw == nil:
		return s.sign(ctx, o)
	case !newest.Sent:
		return s.send(ctx, o)
	}
	return s.family.wait(ctx, o, final)
}

// included records that a block holds a form of the transaction, and ends it once that block is final.
func (s *Sweeper) included(ctx context.Context, o sweep.Outgoing, r sweep.Receipt, final int64) error {
	if o.State != sweep.Mined || o.TxHash != r.TxHash || o.Block != r.Block {
		return s.store.Mined(ctx, o, r)
	}
	if r.Height > final {
		return nil
	}
	if ok, err := s.store.Canonical(ctx, s.cfg.Network, r.Height, r.Block); err != nil || !ok {
		return err // the node and the scanner are on two forks: one of them will move
	}
	amount, ok := o.Arrived(r)
	if !ok && r.OK && o.Kind == intent.Refund { // its money may be at the payer all the same
		s.log.ErrorContext(ctx, "refund final without its log", "refund", o.Sweep.ID, "tx", r.TxHash)
		return s.store.Block(ctx, o.Sweep, "the transaction "+r.TxHash+" is final and succeeded, and its log shows no such transfer")
	}
	if !ok {
		s.log.ErrorContext(ctx, "own transaction final without effect", "id", o.ID, "kind", o.Kind, "tx", r.TxHash)
	}
	if err := s.store.Finish(ctx, o, r, ok, amount); err != nil {
		return err
	}
	if s.cfg.Ended != nil {
		s.cfg.Ended(o, sweep.Outcome{OK: ok, Amount: amount, Fee: r.Fee})
	}
	return nil
}

// sign requests the signature and stores the bytes. Repeated after a crash it gives the same bytes.
func (s *Sweeper) sign(ctx context.Context, o sweep.Outgoing) error {
	a := o.Newest()
	if o.Kind == intent.Refund {
		if may, err := s.cfg.Refunds.Ask(ctx, o); err != nil || !may {
			return err
		}
	}
	signed, err := s.signer.Sign(ctx, a.Request)
	if refusal, no := errors.AsType[*intent.Refusal](err); no {
		return s.refused(ctx, o, refusal)
	}
	if err != nil {
		return err
	}
	raw, err := signed.Check(a.Request, o.Sender)
	if err != nil {
		return err
	}
	return s.store.Signed(ctx, o, raw, signed.TxHash)
}

// refused handles the signer's refusal. A transaction without any signature is deleted, and its nonce is free.
func (s *Sweeper) refused(ctx context.Context, o sweep.Outgoing, no *intent.Refusal) error {
	s.log.WarnContext(ctx, "signer refused intent", "id", o.ID, "code", no.Code, "reason", no.Message)
	if o.Kind == intent.Refund && no.Code == intent.Stopped {
		return nil // it may be signed already, and its order allows no other number: the plan stays
	}
	if no.Code == intent.Forms { // each of them has expired
		return s.store.Replaced(ctx, o)
	}
	spent := o.Kind == intent.Refund && (no.Code == intent.OrderSpent || no.Code == intent.Reused)
	if spent {
		if err := s.cfg.Refunds.Spent(ctx, o.Sweep, no.Error()); err != nil {
			return err
		}
	}
	if len(o.Attempts) > 1 { // an earlier form was sent: it stays, and is sent again
		if o.Newest().Request.Tron != nil && !spent && !no.Passing() { // and lands no more
			if err := s.store.Block(ctx, o.Sweep, no.Error()); err != nil {
				return err
			}
		}
		return s.store.Withdraw(ctx, o)
	}
	if err := s.store.Drop(ctx, o); err != nil {
		return err
	}
	if reason := ending(no.Code); o.Kind == intent.Refund && reason != "" {
		return s.cfg.Refunds.Refuse(ctx, o.Sweep, reason)
	}
	sweeps := o.Sweeps()
	if half := (len(sweeps) + 1) / 2; len(sweeps) > 1 && (no.Code == intent.Value || !no.Passing()) {
		// A part of the batch may be within the hour's limit, or without the sweep that the signer refuses.
		if err := s.store.Together(ctx, sweeps, half, no.Error()); err != nil {
			return err
		}
		if no.Code != intent.Value {
			return nil
		}
		sweeps = sweeps[half:]
	}
	for _, w := range sweeps {
		end := s.store.Block
		if no.Passing() {
			end = func(ctx context.Context, w sweep.Sweep, reason string) error {
				pause := waitLong
				if no.Code == intent.Expiry { // minutes at most
					pause = waitShort
				}
				return s.store.Wait(ctx, w, pause, reason)
			}
		}
		if err := end(ctx, w, no.Error()); err != nil {
			return err
		}
	}
	return nil
}

// send gives the newest form to a node. The node's refusal does not end the transaction: an older form may be mined, or
// a node may have accepted the bytes and lost the answer. So the form counts as sent, and the sweeper looks for it.
func (s *Sweeper) send(ctx context.Context, o sweep.Outgoing) error {
	if o.Kind == intent.Refund { // the kill switch stops what is signed, too: the signer repeats its answer, or refuses
		_, err := s.signer.Sign(ctx, o.Newest().Request)
		if no, is := errors.AsType[*intent.Refusal](err); is && no.Code == intent.Stopped {
			return nil
		}
		if err != nil {
			return err
		}
	}
	err := s.chain.Send(ctx, o.Newest().Raw)
	if err != nil && !errors.Is(err, sweep.ErrRefused) {
		return err
	}
	if err != nil {
		s.log.WarnContext(ctx, "transaction refused by node", "id", o.ID, "tx", o.Newest().TxHash, "err", err)
	}
	return s.store.Sent(ctx, o, err == nil)
}

// postpone handles the reason why a sweep has no next transaction now: it waits, or is blocked until an operator looks.
// Other errors are returned.
func (s *Sweeper) postpone(ctx context.Context, w sweep.Sweep, why error) error {
	switch {
	case errors.Is(why, sweep.ErrDear), errors.Is(why, sweep.ErrLoud), errors.Is(why, sweep.ErrSmall), errors.Is(why, errShort):
		return s.store.Wait(ctx, w, waitLong, why.Error())
	case errors.Is(why, errBusy), errors.Is(why, errHeavy), errors.Is(why, errPresented), errors.Is(why, errUntried):
		return s.store.Wait(ctx, w, waitShort, why.Error())
	case errors.Is(why, sweep.ErrReverts), errors.Is(why, errStarved), errors.Is(why, errDomain):
		s.log.ErrorContext(ctx, "sweep blocked: transfer would fail", "sweep", w.ID, "address", w.Address, "asset", w.Asset, "err", why)
		return s.store.Block(ctx, w, why.Error())
	}
	return why
}

var (
	errShort = errors.New("the balance on the chain is below the amount to move")
	errBusy  = errors.New("an earlier transaction of the same sender is under way")
	errHeavy = errors.New("the previous transactions of its deposits are too large for one PSBT: some wait for the next sweep")
)
