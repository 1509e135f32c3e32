//go:build integration

package store_test

import (
	"strings"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/services/payments/internal/app"
)

// Money that goes back to a deposit address comes in again as somebody's payment. However it is spelled, no address that
// payments knows is taken; one of the other mode is a stranger's.
func TestRefundAddress_ours(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(20)
	const (
		ofPayment = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
		inStock   = "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH"
		strays    = "TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL"
		payers    = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
		evmStock  = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		evmPayers = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	)
	refund := func(reference, to string) error {
		_, err := w.app.RefundAddress(t.Context(), owner, reference, to, noProblems(), app.Key{})
		return err
	}
	refused := func(reference, to string) {
		t.Helper()
		err := refund(reference, to)
		if f := fault.As(err).Fields; len(f) != 1 || f[0].Field != "address" || !strings.Contains(f[0].Message, "deposit address") {
			t.Errorf("%s: %v", to, err)
		}
	}
	p, another := w.made(command()), w.made(command())
	w.sql(`UPDATE payments SET address = $2 WHERE id = $1`, another.ID, ofPayment)
	w.sql(`INSERT INTO address_stock (mode, family, address, wallet_id) VALUES ('test', 'tron', $1, 'wal_1'), ('live', 'tron', $2, 'wal_2')`, inStock, payers)
	w.sql(`INSERT INTO deposits (mode, key, version, family, network, address, asset, contract, tx_hash, amount, reverted, block_height,
		block_hash, first_seen_at, depth, finalized, senders) VALUES ('test', 'stray', 1, 'tron', 'tron', $1, 'USDT', '', 't', 1, false, 1, 'b', now(), 1, false, '{}')`, strays)
	for _, to := range []string{ofPayment, inStock, strays} {
		refused(p.Reference, to)
	}
	refused(another.Reference, ofPayment)
	if err := refund(p.Reference, payers); err != nil {
		t.Error(err)
	}

	w.sql(`UPDATE payments SET family = 'evm', network = 'ethereum', address = $2 WHERE id = $1`, another.ID, evmPayers[:41]+"8")
	w.sql(`INSERT INTO address_stock (mode, family, address, wallet_id) VALUES ('test', 'evm', $1, 'wal_3')`, evmStock)
	for _, to := range []string{evmStock, strings.ToLower(evmStock), "0x" + strings.ToUpper(evmStock[2:])} {
		refused(another.Reference, to)
	}
	if err := refund(another.Reference, strings.ToLower(evmPayers)); err != nil {
		t.Error(err)
	}
}
