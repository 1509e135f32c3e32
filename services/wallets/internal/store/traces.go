package store

import (
	"context"
	"fmt"

	"causeway.internal/libs/wire"
)

const (
	// Foreign addresses are omitted; a repeated one keeps its trace.
	noteTracesSQL = `INSERT INTO address_traces (mode, family, address, trace)
SELECT a.mode, a.family, a.address, u.trace FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS u(mode, family, address, trace)
JOIN addresses a ON a.mode = u.mode AND a.family = u.family AND a.address = u.address
ON CONFLICT DO NOTHING`

	rotateTracesSQL = `SELECT address_traces_rotate()`
)

// NoteTraces stores the trace of each address's payment.
func (s *Store) NoteTraces(ctx context.Context, used []wire.UsedAddress) error {
	n := len(used)
	modes, families, texts, traces := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, u := range used {
		modes[i], families[i], texts[i], traces[i] = string(u.Mode), string(u.Family), u.Address, u.Trace
	}
	if _, err := s.pool.Exec(ctx, noteTracesSQL, modes, families, texts, traces); err != nil {
		return fmt.Errorf("noting the traces of addresses: %w", err)
	}
	return nil
}

// RotateTraces deletes the oldest traces; call it every hour.
func (s *Store) RotateTraces(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, rotateTracesSQL)
	return err
}
