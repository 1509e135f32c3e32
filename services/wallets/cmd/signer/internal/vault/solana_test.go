package vault

import (
	"bytes"
	"testing"

	"causeway.internal/services/wallets/internal/soltx"
)

// The station is no deposit address, and both sign one transaction, twice with the same bytes.
func TestVault_signsSolana(t *testing.T) {
	v := open(t, about)
	station, err := v.SolanaStation(1)
	if err != nil {
		t.Fatal(err)
	}
	tx := soltx.Transaction{Station: station, NonceAt: soltx.Account{8}, Nonce: soltx.Account{7}, UnitLimit: 1, To: soltx.Account{9}}
	indices := []uint32{1, 5}
	for _, index := range indices {
		owner, err := v.Solana(index)
		if err != nil || owner == station {
			t.Fatalf("deposit address %d is %s, the station %s, %v", index, owner, station, err)
		}
		tx.Moves = append(tx.Moves, soltx.Move{Owner: owner, Amount: 3})
	}
	raw, err := v.SignSolana(1, indices, tx)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := soltx.Parse(raw); err != nil || !got.Equal(tx) {
		t.Errorf("Parse of the signed bytes gives %+v, %v, want %+v", got, err, tx)
	}
	if again, err := v.SignSolana(1, indices, tx); err != nil || !bytes.Equal(again, raw) {
		t.Errorf("signed twice, the bytes differ: %v", err)
	}
	if raw, err := v.SignSolana(1, []uint32{1, 6}, tx); err != nil {
		t.Error(err)
	} else if _, err := soltx.Parse(raw); err == nil {
		t.Error("Parse accepts the signature of another key")
	}
}
