package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	scansSQL = `SELECT mode, network, height, finalized, block_time, moved_at FROM cursors ORDER BY mode, network`

	recoverySQL = `SELECT started_at FROM recoveries WHERE ended_at IS NULL`
)

// Scan is how far a network has been scanned.
type Scan struct {
	Mode      string    `json:"mode"`
	Network   string    `json:"network"`
	Height    int64     `json:"height"`
	Final     int64     `json:"final"`
	BlockTime time.Time `json:"blockTime"`
	MovedAt   time.Time `json:"movedAt"`
}

// Scans lists how far every network has been scanned.
func (s *Store) Scans(ctx context.Context) ([]Scan, error) {
	rows, err := s.pool.Query(ctx, scansSQL)
	if err != nil {
		return nil, fmt.Errorf("listing scans: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Scan, err error) {
		err = row.Scan(&c.Mode, &c.Network, &c.Height, &c.Final, &c.BlockTime, &c.MovedAt)
		return c, err
	})
}

// Recovering is the start of the database's recovery; nil when it is not in recovery.
func (s *Store) Recovering(ctx context.Context) (*time.Time, error) {
	var since time.Time
	err := s.pool.QueryRow(ctx, recoverySQL).Scan(&since)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the recovery: %w", err)
	}
	return &since, nil
}
