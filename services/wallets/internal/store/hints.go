package store

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/unseen"
	"causeway.internal/services/wallets/internal/wallet"
)

var (
	_ unseen.Hints = (*Store)(nil)
	_ app.Hints    = (*Store)(nil)
)

const (
	// The row is locked, so that an address gets no more hints than it may have.
	hintedAddressSQL = `SELECT idx FROM addresses WHERE mode = $1 AND family = $2 AND address = $3 FOR UPDATE`

	addHintSQL = `INSERT INTO hints (mode, network, address, tx_hash, ordinal) SELECT $1, $2, $3, $4, $5
WHERE (SELECT count(*) FROM hints WHERE mode = $1 AND network = $2 AND address = $3) < $6 ON CONFLICT DO NOTHING`

	// An operator may have any hint inspected again that is not a deposit.
	reopenHintSQL = `INSERT INTO hints (mode, network, address, tx_hash, ordinal) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (mode, network, address, tx_hash) DO UPDATE SET state = 'waiting', reason = '', amount = 0, tries = 0, since = now(), due_at = now(),
changed_at = now() WHERE hints.state IN ('nothing', 'unclear')`

	followHintsSQL = `UPDATE hints h SET changed_at = now(), due_at = now() + CASE WHEN d.state = 'reverted' THEN interval '0' ELSE interval '15 seconds' END,
since = CASE WHEN d.state = 'reverted' THEN now() ELSE h.since END, tries = 0,
state = CASE WHEN d.state = 'reverted' THEN 'waiting' WHEN d.finalized THEN 'final' ELSE 'credited' END
FROM deposits d WHERE h.state = 'credited' AND h.due_at <= now() AND d.mode = h.mode AND d.network = h.network AND d.tx_hash = h.tx_hash AND d.ordinal = h.ordinal`

	// A reorganisation that an operator lets the scan follow revokes final verdicts.
	reviveHintsSQL = `UPDATE hints h SET state = 'waiting', since = now(), due_at = now(), tries = 0, changed_at = now() FROM deposits d
WHERE d.ordinal >= 1000000000 AND d.state = 'reverted' AND h.state = 'final'
AND h.mode = d.mode AND h.network = d.network AND h.address = d.address AND h.tx_hash = d.tx_hash`

	dueHintsSQL = `SELECT h.mode, h.network, h.address, a.key, h.tx_hash, h.ordinal, h.tries, now() - h.since FROM hints h
JOIN addresses a ON a.mode = h.mode AND a.family = 'evm' AND a.address = h.address
WHERE h.state = 'waiting' AND h.network = ANY($1) AND h.due_at <= now() ORDER BY h.due_at LIMIT $2`

	deferHintSQL = `UPDATE hints SET tries = tries + 1, reason = left($5, 500), due_at = now() + $6::interval, changed_at = now()
WHERE mode = $1 AND network = $2 AND address = $3 AND tx_hash = $4 AND state = 'waiting'`

	endHintSQL = `UPDATE hints SET state = $5, reason = left($6, 500), amount = $7::text::numeric, due_at = now(), changed_at = now()
WHERE mode = $1 AND network = $2 AND address = $3 AND tx_hash = $4 AND state = 'waiting'`

	// The amount that a block has on record for an address as sent by contracts, without the hint's own deposit.
	sentInBlockSQL = `SELECT coalesce(sum(amount), 0)::text FROM deposits WHERE mode = $1 AND network = $2 AND height = $3 AND block_hash = $4
AND address = $5 AND contract = '' AND state <> 'reverted' AND ordinal >= 1000000 AND NOT (tx_hash = $6 AND ordinal = $7)`

	sentByContractsSQL = `SELECT tx_hash, address, ordinal, amount::text FROM deposits
WHERE mode = $1 AND network = $2 AND tx_hash = ANY($3) AND ordinal >= $4 AND contract = '' ORDER BY ordinal`

	unclearHintsSQL = `SELECT network, address, tx_hash, amount::text, reason, created_at FROM hints WHERE mode = 'live' AND state = 'unclear'
ORDER BY changed_at LIMIT 1000`

	unclearCountsSQL = `SELECT network, count(*) FROM hints WHERE mode = 'live' AND state = 'unclear' GROUP BY network`
)

// hintsOfAddress bounds how many transactions may be named for one address.
const hintsOfAddress = 20

// AddHint implements app.Hints.
func (s *Store) AddHint(ctx context.Context, mode tenant.Mode, network, address, txHash string, again bool) (known, added bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		var index int64
		err := tx.QueryRow(ctx, hintedAddressSQL, mode, money.EVM, address).Scan(&index)
		if known = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if index >= 1<<31-chain.FirstHinted {
			return fmt.Errorf("address %d has no ordinal for payments of contracts", index)
		}
		sql, args := addHintSQL, []any{mode, network, address, txHash, chain.FirstHinted + index, hintsOfAddress}
		if again {
			sql, args = reopenHintSQL, args[:5]
		}
		tag, err := tx.Exec(ctx, sql, args...)
		added = err == nil && tag.RowsAffected() == 1
		return err
	})
	if err != nil {
		return known, added, fmt.Errorf("storing a named transaction: %w", err)
	}
	return known, added, nil
}

// FollowHints implements unseen.Hints.
func (s *Store) FollowHints(ctx context.Context) error {
	for _, sql := range []string{followHintsSQL, reviveHintsSQL} {
		if _, err := s.pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("following credited hints: %w", err)
		}
	}
	return nil
}

// DueHints implements unseen.Hints.
func (s *Store) DueHints(ctx context.Context, networks []string, most int) ([]unseen.Hint, error) {
	rows, err := s.pool.Query(ctx, dueHintsSQL, networks, most)
	if err != nil {
		return nil, fmt.Errorf("reading due hints: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (h unseen.Hint, err error) {
		err = row.Scan(&h.Mode, &h.Network, &h.Address, &h.Key, &h.TxHash, &h.Ordinal, &h.Tries, &h.Waited)
		return h, err
	})
}

// DeferHint implements unseen.Hints.
func (s *Store) DeferHint(ctx context.Context, h unseen.Hint, wait time.Duration, reason string) error {
	_, err := s.pool.Exec(ctx, deferHintSQL, h.Mode, h.Network, h.Address, h.TxHash, reason, wait)
	return err
}

// EndHint implements unseen.Hints.
func (s *Store) EndHint(ctx context.Context, h unseen.Hint, v unseen.Verdict) error {
	_, err := s.pool.Exec(ctx, endHintSQL, h.Mode, h.Network, h.Address, h.TxHash, v.State, v.Reason, v.Amount.String())
	return err
}

// TakeHint implements unseen.Hints. It locks the cursor's row: the scan cannot move, so the recorded deposits of the
// block are all that the scan will ever find there.
func (s *Store) TakeHint(ctx context.Context, h unseen.Hint, e chain.Effect) (v unseen.Verdict, err error) {
	woken := false
	c := scanner.Chain{Mode: h.Mode, Network: h.Network}
	err = s.tx(ctx, func(tx pgx.Tx) error {
		cursor, err := lockCursor(ctx, tx, c)
		if err != nil {
			return err
		}
		if err := scannedBlock(ctx, tx, c, cursor, e.Header); err != nil {
			return err
		}
		var text string
		if err := tx.QueryRow(ctx, sentInBlockSQL, h.Mode, h.Network, e.Height, e.Hash, h.Address, h.TxHash, h.Ordinal).Scan(&text); err != nil {
			return err
		}
		known, err := integer(text)
		if err != nil {
			return err
		}
		if v = unseen.Judge(e, known); v.State != unseen.Credited && e.Height > cursor.Finalized {
			return fmt.Errorf("%w: %s", unseen.ErrLater, v.Reason)
		}
		if v.State == unseen.Credited {
			if woken, err = s.creditHint(ctx, tx, h, e, v.Amount, cursor); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, endHintSQL, h.Mode, h.Network, h.Address, h.TxHash, v.State, v.Reason, v.Amount.String())
		return err
	})
	if err == nil && woken {
		s.wake()
	}
	return v, err
}

// scannedBlock is unseen.ErrLater unless the block is one that was scanned.
func scannedBlock(ctx context.Context, tx pgx.Tx, c scanner.Chain, cursor scanner.Cursor, at chain.Header) error {
	if at.Height > cursor.Height {
		return fmt.Errorf("%w: block %d, scanned to %d", unseen.ErrLater, at.Height, cursor.Height)
	}
	var kept chain.Header
	err := tx.QueryRow(ctx, headerSQL, c.Mode, c.Network, at.Height).Scan(&kept.Height, &kept.Hash, &kept.Parent, &kept.Time)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // headers are kept far beyond finality
	}
	if err == nil && kept.Hash != at.Hash {
		err = fmt.Errorf("%w: block %d is %s, but %s was scanned", unseen.ErrLater, at.Height, at.Hash, kept.Hash)
	}
	return err
}

// creditHint makes the deposit, as a scan would.
func (s *Store) creditHint(ctx context.Context, tx pgx.Tx, h unseen.Hint, e chain.Effect, amount *big.Int, at scanner.Cursor,
) (wrote bool, err error) {
	c := scanner.Chain{Mode: h.Mode, Network: h.Network}
	network, ok := money.NetworkOf(h.Network)
	if !ok {
		return false, fmt.Errorf("unknown network %q", h.Network)
	}
	changed, err := s.see(ctx, tx, c, scanner.Step{Headers: []chain.Header{e.Header}, Transfers: []chain.Transfer{{
		TxHash: h.TxHash, Ordinal: h.Ordinal, To: h.Key, Asset: network.Coin().Symbol, Amount: amount, Senders: e.Senders,
	}}}, wallet.Tip{Height: at.Height, Finalized: at.Finalized})
	if err != nil {
		return false, err
	}
	return s.publish(ctx, tx, c, changed, at.Height)
}

// sent holds the stored deposits of coin that contracts sent in some transactions.
type sent struct {
	hinted  map[receipt]int    // the ordinal of a hint's deposit
	stored  map[wallet.ID]bool // traced ones; true where the sighting of this id shows the same
	unnamed map[payment][]int  // ordinals of traced ones of which the sighting shows something else, or is none
	free    map[string]int     // by transaction, an ordinal above all that are stored or sighted
	at      map[receipt]int    // index of the one sighting of a hint's deposit
}

type receipt struct{ tx, address string }

type payment struct {
	receipt
	amount string
}

// merged gives traced coin the ordinal of the deposit that it is already, since the same coin is never two deposits. A
// hint's deposit is all that its transaction sent to its address. A traced deposit has another ordinal than the
// sighting if a node counted in another way; then it is one of the same amount that no other sighting is. Where another
// deposit has the sighting's ordinal, because one of the two nodes left a payment out, the sighting gets a free one.
func merged(ctx context.Context, tx pgx.Tx, c scanner.Chain, ours []wallet.Sighting) ([]wallet.Sighting, error) {
	known, err := sentBefore(ctx, tx, c, ours)
	if err != nil || known == nil {
		return ours, err
	}
	out := make([]wallet.Sighting, 0, len(ours))
	for _, o := range ours {
		r := receipt{o.TxHash, o.Address}
		p := payment{r, o.Amount.String()}
		ordinal, hinted := known.hinted[r]
		switch {
		case !chain.IsTraced(o.Ordinal):
		case hinted:
			if first, ok := known.at[r]; ok {
				out[first].Amount = new(big.Int).Add(out[first].Amount, o.Amount)
				continue
			}
			o.Ordinal, known.at[r] = ordinal, len(out)
		case known.stored[o.ID]:
		case len(known.unnamed[p]) > 0:
			o.Ordinal, known.unnamed[p] = known.unnamed[p][0], known.unnamed[p][1:]
		default:
			if _, taken := known.stored[o.ID]; taken {
				o.Ordinal = known.free[o.TxHash]
				known.free[o.TxHash]++
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// sentBefore reads the deposits that traced coin may be; nil if there is no such coin.
func sentBefore(ctx context.Context, tx pgx.Tx, c scanner.Chain, ours []wallet.Sighting) (*sent, error) {
	var hashes []string
	sighted, free := map[wallet.ID]payment{}, map[string]int{}
	for _, o := range ours {
		if chain.IsTraced(o.Ordinal) {
			hashes, sighted[o.ID] = append(hashes, o.TxHash), payment{receipt{o.TxHash, o.Address}, o.Amount.String()}
			free[o.TxHash] = max(free[o.TxHash], o.Ordinal+1)
		}
	}
	if len(hashes) == 0 {
		return nil, nil //nolint:nilnil // nothing to merge
	}
	rows, err := tx.Query(ctx, sentByContractsSQL, c.Mode, c.Network, hashes, chain.FirstTraced)
	if err != nil {
		return nil, fmt.Errorf("reading the deposits that contracts sent: %w", err)
	}
	out := &sent{hinted: map[receipt]int{}, stored: map[wallet.ID]bool{}, unnamed: map[payment][]int{}, free: free, at: map[receipt]int{}}
	var p payment
	var ordinal int
	_, err = pgx.ForEachRow(rows, []any{&p.tx, &p.address, &ordinal, &p.amount}, func() error {
		if !chain.IsTraced(ordinal) {
			out.hinted[p.receipt] = ordinal
			return nil
		}
		id := wallet.ID{TxHash: p.tx, Ordinal: ordinal}
		same := sighted[id] == p
		if out.stored[id] = same; !same {
			out.unnamed[p] = append(out.unnamed[p], ordinal)
		}
		free[p.tx] = max(free[p.tx], ordinal+1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the deposits that contracts sent: %w", err)
	}
	return out, nil
}

// UnclearHint is a hint that an operator must inspect.
type UnclearHint struct {
	Network   string    `json:"network"`
	Address   string    `json:"address"`
	TxHash    string    `json:"txHash"`
	Units     string    `json:"units"` // unattributed in its block
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"createdAt"`
}

// UnclearHints lists the oldest hints that are unclear.
func (s *Store) UnclearHints(ctx context.Context) ([]UnclearHint, error) {
	rows, err := s.pool.Query(ctx, unclearHintsSQL)
	if err != nil {
		return nil, fmt.Errorf("reading unclear hints: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[UnclearHint])
}

// UnclearCounts are the unclear hints by network.
func (s *Store) UnclearCounts(ctx context.Context) (map[string]int64, error) {
	return counts(ctx, s.pool, unclearCountsSQL)
}
