//go:build integration

package store_test

import (
	"encoding/hex"
	"sync"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// A start reads every address once, from segments where there are some, and a reader that continues reads the rest.
func TestSegments(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	add := func(from, to int) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), `WITH more AS (UPDATE counters SET last_seq = $2 WHERE mode = 'live' AND family = 'evm')
INSERT INTO addresses (mode, family, seq, account, idx, key, address, wallet_id)
SELECT 'live', 'evm', n, 1, n, decode(repeat('00', 12) || right(md5(n::text), 16), 'hex'), 'a' || n, 'wal_' || n FROM generate_series($1::int, $2) AS n`, from, to); err != nil {
			t.Fatal(err)
		}
	}
	const segmentSize, endBytes, rest = 1000, 8, 70
	add(1, 2*segmentSize)
	add(2*segmentSize+1, 2*segmentSize+rest) // too few for a third
	for sealing := true; sealing; {          // two processes at once
		var wg sync.WaitGroup
		var more [2]bool
		for i := range more {
			wg.Go(func() {
				var err error
				if more[i], err = s.SealSegment(t.Context(), segmentSize); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		sealing = more[0] || more[1]
	}
	var segments, sealed int
	if err := pool.QueryRow(t.Context(), `SELECT count(*), sum(count) FROM address_segments WHERE mode = 'live' AND family = 'evm'`).Scan(&segments, &sealed); err != nil {
		t.Fatal(err)
	}
	if segments != 2 || sealed != 2*segmentSize {
		t.Fatalf("seal: got %d segments of %d addresses, want 2 of %d", segments, sealed, 2*segmentSize)
	}
	read := func(after int64) (ends map[string]int, last int64) {
		t.Helper()
		ends, last = map[string]int{}, after
		if err := s.AddressesAfter(t.Context(), tenant.Live, money.EVM, after, func(seq int64, key []byte) {
			if seq < last {
				t.Errorf("read: seq %d came after %d", seq, last)
			}
			last = seq
			ends[hex.EncodeToString(key[len(key)-endBytes:])]++
		}); err != nil {
			t.Fatal(err)
		}
		return ends, last
	}
	whole, last := read(0)
	if len(whole) != 2*segmentSize+rest || last != 2*segmentSize+rest {
		t.Fatalf("read all: got %d addresses up to %d, want %d", len(whole), last, 2*segmentSize+rest)
	}
	rows, err := pool.Query(t.Context(), `SELECT right(encode(key, 'hex'), 16) FROM addresses WHERE mode = 'live' AND family = 'evm'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var end string
		if err := rows.Scan(&end); err != nil {
			t.Fatal(err)
		}
		if whole[end] != 1 {
			t.Fatalf("read all: got %s %d times, want once", end, whole[end])
		}
	}
	add(2*segmentSize+rest+1, 2*segmentSize+rest+5)
	if more, last := read(last); len(more) != 5 || last != 2*segmentSize+rest+5 {
		t.Errorf("read on: got %d addresses up to %d, want 5", len(more), last)
	}
	if count, err := s.CountAddresses(t.Context(), tenant.Live, money.EVM); err != nil || count != 2*segmentSize+rest+5 {
		t.Errorf("count: got %d, %v", count, err)
	}
}
