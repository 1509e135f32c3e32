package door

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/cmd/signer/internal/journal"
	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/intent"
)

const cold = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"

// collection is a request that spends one output of each of the first deposit addresses.
func collection(t *testing.T, d *fixture, id string, inputs int) intent.Request {
	t.Helper()
	indices := make([]uint32, inputs)
	for i := range indices {
		indices[i] = uint32(i)
	}
	places, err := d.Addresses(Places{Family: money.Bitcoin, Indices: indices})
	if err != nil {
		t.Fatal(err)
	}
	r := intent.Request{
		ID: id, Kind: intent.Sweep, Network: "bitcoin", Asset: "BTC", Amount: fmt.Sprint(99_000 * inputs), To: cold, Bitcoin: &intent.Bitcoin{},
	}
	previous := map[chainhash.Hash]*wire.MsgTx{}
	for i, place := range places {
		key, err := address.Parse(money.Bitcoin, address.Mainnet, place)
		if err != nil {
			t.Fatal(err)
		}
		tx := wire.NewMsgTx(2)
		tx.AddTxIn(wire.NewTxIn(&wire.OutPoint{Index: uint32(i)}, nil, wire.TxWitness{{1}}))
		tx.AddTxOut(wire.NewTxOut(100_000, btctx.Script([20]byte(key))))
		previous[tx.TxHash()] = tx
		r.Bitcoin.Inputs = append(r.Bitcoin.Inputs, intent.Output{TxID: tx.TxHash().String(), Value: 100_000, Index: uint32(i)})
	}
	tx, err := r.Collection()
	if err != nil {
		t.Fatal(err)
	}
	if r.Bitcoin.PSBT, err = tx.PSBT(previous); err != nil {
		t.Fatal(err)
	}
	return r
}

// The largest collection is signed for every deposit address, fits in a line of the log, which leaves out the proofs,
// and is answered again after a restart.
func TestHandler_bitcoin(t *testing.T) {
	d := open(t, nil)
	r := collection(t, d, "a", btctx.InputsMost)
	if first := "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"; !strings.Contains(fmt.Sprint(d.Addresses(Places{money.Bitcoin, []uint32{0}})), first) {
		t.Errorf("the first deposit address of BIP-84's test vector is not %s", first)
	}
	signed, err := d.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signed.Check(r, signed.From); err != nil {
		t.Error(err)
	}
	d = open(t, d)
	again := r
	again.Bitcoin = &intent.Bitcoin{Inputs: r.Bitcoin.Inputs} // the proofs are no part of the terms
	if same, err := d.Sign(again); err != nil || same != signed {
		t.Errorf("ask again after a restart: got %+v, %v, want the same bytes", same, err)
	}
	again.Amount = "1"
	if _, err := d.Sign(again); code(err) != intent.Reused {
		t.Errorf("ask for another amount under the same id: got %v, want the refusal %s", err, intent.Reused)
	}
	if _, err := d.Sign(func() intent.Request { r := r; r.ID = "b"; r.Amount = "9890000"; return r }()); code(err) != intent.Malformed {
		t.Errorf("ask with the PSBT of another amount: got %v, want the refusal %s", err, intent.Malformed)
	}
	text, err := os.ReadFile(filepath.Join(d.dir, "log"))
	if err != nil || bytes.Contains(text, []byte(`"psbt"`)) {
		t.Errorf("the log holds a PSBT, or cannot be read: %v", err)
	}
	if lines, _, err := journal.Verify(bytes.NewReader(text)); err != nil || lines < 4 {
		t.Errorf("verify the log: %d lines, %v", lines, err)
	}
}
