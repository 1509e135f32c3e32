package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
)

const (
	carriedSQL = `SELECT o.id, o.kind, o.sender, o.nonce, o.state, o.version, o.tx_hash, o.height, o.block_hash, o.from_height, o.presented, ` + refundColumns + `
FROM outgoing_tx o JOIN refunds r ON r.id = o.refund WHERE r.id = $1 AND r.mode = 'live'`

	// The signer may know a transaction for the order of a spent one that is not stored here.
	endableRefundSQL = `SELECT state IN ('signing', 'sent'), spent FROM refunds WHERE id = $1`

	givenUpBesideSQL = `SELECT EXISTS (SELECT FROM refunds r JOIN outgoing_tx o ON o.refund = r.id
WHERE r.id = $1 AND r.state = 'failed' AND o.state = 'replaced' AND o.tx_hash IN ($2, lower($2)))`

	// The hash and block are those of the foreign transaction, so that a rewind below it names the row.
	beatenSQL = `UPDATE outgoing_tx SET state = 'replaced', version = version + 1, tx_hash = $3, height = $4, block_hash = $5, changed_at = now()
WHERE id = $1 AND version = $2 AND state IN ('planned', 'signed', 'broadcast', 'replaced')`

	lostOutputSQL = `DELETE FROM station_outputs WHERE network = $1 AND tx_hash = $2 AND ordinal = $3`
)

// Carried is the transaction of a live refund, in any state.
func (s Refunds) Carried(ctx context.Context, id string) (o sweep.Outgoing, found bool, err error) {
	rows, err := s.pool.Query(ctx, carriedSQL, id)
	if err != nil {
		return o, false, fmt.Errorf("reading the transaction of a refund: %w", err)
	}
	list, err := s.outgoing(ctx, rows, func() sweepReader { return &refundRow{} })
	if err != nil || len(list) == 0 {
		return o, false, err
	}
	return list[0], true, nil
}

// GivenUpBeside reports whether a refund has ended because a foreign transaction took its place.
func (s Refunds) GivenUpBeside(ctx context.Context, id, hash string) (is bool, err error) {
	err = s.pool.QueryRow(ctx, givenUpBesideSQL, id, hash).Scan(&is)
	return is, err
}

// ErrRefundMoved means that the refund or the scan has changed while the chain was read.
var ErrRefundMoved = errors.New("the refund or the scan of its network has changed meanwhile, or the scan does not follow its chain: try again")

// EndBeaten ends a refund none of whose signed forms can land any more, for an operator, and payments gives its money
// back to the payment. by is the foreign transaction in its place, or the final block alone at which every form has
// expired. The caller has proved it of this version of the transaction: a form that is planned or sent meanwhile
// forbids the end.
func (s Refunds) EndBeaten(ctx context.Context, o sweep.Outgoing, by sweep.Rival, note scanner.Note) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockRefundSQL, o.Sweep.ID); err != nil {
			return err
		}
		var unfinished, spent bool
		if err := tx.QueryRow(ctx, endableRefundSQL, o.Sweep.ID).Scan(&unfinished, &spent); err != nil {
			return err
		}
		switch {
		case !unfinished:
			return fmt.Errorf("%.80q is not a refund that has not ended", o.Sweep.ID)
		case spent:
			return ErrRefundSigned
		}
		if err := stillFinal(ctx, tx, o.Sweep.Network, by.Receipt); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, beatenSQL, o.ID, o.Version, by.TxHash, by.Height, by.Block)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return sweeper.ErrStale
		}
		if _, err := tx.Exec(ctx, unboundSQL, o.ID); err != nil { // the other outputs may pay other refunds
			return err
		}
		for _, in := range by.Spent {
			if _, err := tx.Exec(ctx, lostOutputSQL, o.Sweep.Network, in.TxHash, in.Output); err != nil {
				return fmt.Errorf("forgetting spent outputs: %w", err)
			}
		}
		if err := s.change(ctx, tx, refundChange{id: o.Sweep.ID, state: wire.RefundFailed, reason: wire.RefundGivenUp, from: open}); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, auditSQL, note.Operator, "give up refund", map[string]any{
			"refund": o.Sweep.ID, "network": o.Sweep.Network, "transaction": o.ID, "sender": o.Sender, "number": o.Nonce, "forms": o.Signed(),
			"foreign": by.TxHash, "height": by.Height, "block": by.Block, "reason": note.Reason,
		})
		return err
	})
	if errors.Is(err, sweeper.ErrStale) {
		err = ErrRefundMoved
	}
	if err == nil {
		s.wake()
	}
	return booking(err)
}
