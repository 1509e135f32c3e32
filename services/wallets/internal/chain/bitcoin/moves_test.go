package bitcoin

import (
	"bytes"
	"slices"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/services/wallets/internal/sweep"
)

// A block says which of its outputs pay an address of any kind, and which outputs it spends. A miner's reward is no
// payment.
func TestMoves(t *testing.T) {
	n, hash := serving(t, sample())
	d := newDriver(t, n)
	to, ok := address.OfScript(address.Regtest, append([]byte{0, 20}, ours...))
	taproot, written := address.OfScript(address.Regtest, append([]byte{0x51, 32}, bytes.Repeat([]byte{7}, 32)...))
	if !ok || !written {
		t.Fatal("write the addresses: got none")
	}
	got, found, err := d.Moves(t.Context(), 1, []string{to, taproot})
	if err != nil || !found || got.Block != hash || len(got.Paid) != 2 {
		t.Fatalf("read the moves of block 1: got %+v, %t, %v, want two outputs of %s", got, found, err, hash)
	}
	_, stripped := txOf(2, true, 7, ours, other, ours)
	for i, vout := range []int64{0, 2} {
		if p := got.Paid[i]; p.TxHash != twice(stripped).String() || p.Output != vout || p.To != to || p.Amount.Int64() != 7 {
			t.Errorf("read output %d: got %+v, want 7 satoshi to %s", vout, p, to)
		}
	}
	want := []sweep.Point{{TxHash: digest(bytes.Repeat([]byte{1}, 32)).String()}, {TxHash: digest(bytes.Repeat([]byte{2}, 32)).String()}}
	if !slices.Equal(got.Spent, want) {
		t.Errorf("read what block 1 spends: got %v, want %v", got.Spent, want)
	}
	if _, found, err := d.Moves(t.Context(), 2, nil); err != nil || found {
		t.Errorf("read the moves above the head: got %t, %v, want none", found, err)
	}
	if _, _, err := d.Moves(t.Context(), 1, []string{"nowhere"}); err == nil {
		t.Error("read the moves of a text that is no address: got no error, want one")
	}
}
