//go:build integration

package merchants_test

import (
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/views"
)

// owned returns a message of wallets about its own addresses.
func owned(mode tenant.Mode, family money.Family, addresses ...string) (m wire.AddressesOwned) {
	for _, a := range addresses {
		m.Addresses = append(m.Addresses, wire.OwnedAddress{Mode: mode, Family: family, Address: a})
	}
	return m
}

// An address of wallets is refused in every spelling, for any number and order of its messages. Money that went to it
// is no refund: a payment whose refund address became known later cannot be marked.
func TestRefundAddress_ofWallets(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(20)
	const (
		tronWallet = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
		tronPayers = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
		treasury   = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		segwit     = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
		solWallet  = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	)
	tell := func(m wire.AddressesOwned) {
		t.Helper()
		if err := stock.Owned(w.Store.KeepOwn)(t.Context(), "owned", m); err != nil {
			t.Fatal(err)
		}
	}
	p := w.Make(fixture.Command())
	refund := func(to string) error {
		_, err := w.Merchants.RefundAddress(t.Context(), fixture.Owner, p.Reference, to, &fault.Problems{}, idempotency.Key{})
		return err
	}
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatalf("cancel payment %s: %v", p.Reference, err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	if err := refund(tronWallet); err != nil {
		t.Fatalf("an address that payments has not heard of: %v", err)
	}
	for range 2 {
		tell(owned(tenant.Test, money.Tron, tronWallet, tronWallet))
	}
	tell(owned(tenant.Live, money.EVM, strings.ToLower(treasury))) // either mode is refused
	tell(owned(tenant.Test, money.Bitcoin, strings.ToUpper(segwit)))
	tell(owned(tenant.Test, money.Solana, solWallet))
	tell(owned(tenant.Live, money.Tron, tronWallet))

	marked := func() error {
		_, err := w.Resolve(p, operators.Order{Operator: "ada", Action: operators.ActionRefunded, TxHash: strings.Repeat("f0", 32)})
		return err
	}
	if err := marked(); fault.As(err).Code != "refund_address_internal" {
		t.Errorf("the refund went to a wallet of this system: %v", err)
	}
	w.Want(p, "needs_review paid_late")
	marks := func() int {
		t.Helper()
		all, err := w.Operators.ListAll(t.Context(), views.Filter{Statuses: []payment.Status{payment.StatusNeedsReview}, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		holds, err := w.Operators.Holds(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(all)+string(holds), `"refundAddressInternal":true`)
	}
	if n := marks(); n != 2 {
		t.Errorf("%d lists warn the operator", n)
	}
	for network, spellings := range map[string][]string{
		"tron":     {tronWallet},
		"ethereum": {treasury, strings.ToLower(treasury), "0x" + strings.ToUpper(treasury[2:])},
		"bitcoin":  {segwit, strings.ToUpper(segwit)},
		"solana":   {solWallet},
	} {
		n, _ := money.NetworkOf(network)
		w.SQL(`UPDATE payments SET network = $2 WHERE id = $1`, p.ID, n.Name)
		for _, to := range spellings {
			if f := fault.As(refund(to)).Fields; len(f) != 1 || f[0].Field != "address" || !strings.Contains(f[0].Message, "belongs to this service") {
				t.Errorf("RefundAddress(%s) refuses the fields %v, want address, which belongs to this service", to, f)
			}
		}
	}
	w.SQL(`UPDATE payments SET network = 'tron' WHERE id = $1`, p.ID)
	if err := refund(tronPayers); err != nil {
		t.Fatal(err)
	}
	if n := marks(); n != 0 {
		t.Errorf("%d lists warn of the payer's own address", n)
	}
	if err := marked(); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "refunded paid_late")
	for name, m := range map[string]wire.AddressesOwned{
		"no mode":    owned("", money.Tron, tronWallet),
		"no family":  owned(tenant.Test, "", tronWallet),
		"no address": owned(tenant.Test, money.EVM, tronPayers, ""),
		"too many":   owned(tenant.Test, money.Tron, slices.Repeat([]string{tronPayers}, wire.AddressesMax+1)...),
	} {
		if err := stock.Owned(w.Store.KeepOwn)(t.Context(), "owned", m); !fault.IsPermanent(err) {
			t.Errorf("%s: %v, want a permanent fault", name, err)
		}
	}
}

// A refund to a deposit address would arrive as another payment. payments refuses every address that it knows, in every
// spelling and of both modes, because the keys of test addresses are public.
func TestRefundAddress_ours(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(20)
	const (
		ofPayment = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
		inStock   = "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH"
		strays    = "TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL"
		ofLive    = "TXLAQ63Xg1NAzckPwKHvzw7CSEmLMEqcdj"
		payers    = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
		evmStock  = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		evmPayers = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	)
	refund := func(reference, to string) error {
		_, err := w.Merchants.RefundAddress(t.Context(), fixture.Owner, reference, to, &fault.Problems{}, idempotency.Key{})
		return err
	}
	refused := func(reference, to string) {
		t.Helper()
		err := refund(reference, to)
		if f := fault.As(err).Fields; len(f) != 1 || f[0].Field != "address" || !strings.Contains(f[0].Message, "belongs to this service") {
			t.Errorf("RefundAddress(%s) = %v, want address refused, which belongs to this service", to, err)
		}
	}
	p, another := w.Make(fixture.Command()), w.Make(fixture.Command())
	w.SQL(`UPDATE payments SET address = $2 WHERE id = $1`, another.ID, ofPayment)
	w.SQL(`INSERT INTO address_stock (mode, family, address, wallet_id) VALUES ('test', 'tron', $1, 'wal_1'), ('live', 'tron', $2, 'wal_2')`, inStock, ofLive)
	w.SQL(`INSERT INTO deposits (mode, key, version, family, network, address, asset, contract, tx_hash, amount, reverted, block_height,
		block_hash, first_seen_at, depth, finalized, senders) VALUES ('test', 'stray', 1, 'tron', 'tron', $1, 'USDT', '', 't', 1, false, 1, 'b', now(), 1, false, '{}')`, strays)
	for _, to := range []string{ofPayment, inStock, strays, ofLive} {
		refused(p.Reference, to)
	}
	refused(another.Reference, ofPayment)
	if err := refund(p.Reference, payers); err != nil {
		t.Error(err)
	}

	w.SQL(`UPDATE payments SET family = 'evm', network = 'ethereum', address = $2 WHERE id = $1`, another.ID, evmPayers[:41]+"8")
	w.SQL(`INSERT INTO address_stock (mode, family, address, wallet_id) VALUES ('test', 'evm', $1, 'wal_3')`, evmStock)
	for _, to := range []string{evmStock, strings.ToLower(evmStock), "0x" + strings.ToUpper(evmStock[2:])} {
		refused(another.Reference, to)
	}
	if err := refund(another.Reference, strings.ToLower(evmPayers)); err != nil {
		t.Error(err)
	}
}
