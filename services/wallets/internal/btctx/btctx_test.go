package btctx

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/psbt/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"pgregory.net/rapid"

	"causeway.internal/libs/address"
)

const treasury = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"

// deposits are inputs of one key, with the transactions that they come from.
func deposits(t testing.TB, key *secp256k1.PrivateKey, values ...int64) (Transaction, map[chainhash.Hash]*wire.MsgTx) {
	t.Helper()
	to, err := Treasury(treasury)
	if err != nil {
		t.Fatal(err)
	}
	script := Script(address.Hash160(key.PubKey().SerializeCompressed()))
	tx, previous := Transaction{To: to}, map[chainhash.Hash]*wire.MsgTx{}
	for i, value := range values {
		from := wire.NewMsgTx(2)
		from.AddTxIn(wire.NewTxIn(&wire.OutPoint{Index: uint32(i)}, nil, wire.TxWitness{{1}}))
		from.AddTxOut(wire.NewTxOut(1, to))
		from.AddTxOut(wire.NewTxOut(value, script))
		previous[from.TxHash()] = from
		tx.Inputs = append(tx.Inputs, Input{wire.OutPoint{Hash: from.TxHash(), Index: 1}, value})
		tx.Value += value
	}
	return tx, previous
}

func with(key *secp256k1.PrivateKey) Signer {
	return func(_ int, digest []byte) ([]byte, []byte, error) {
		return ecdsa.Sign(key, digest).Serialize(), key.PubKey().SerializeCompressed(), nil
	}
}

// A transaction of any number of inputs is signed, is never larger than its size says, and is refused after any change.
func TestTransaction(t *testing.T) {
	key := secp256k1.PrivKeyFromBytes([]byte("a key"))
	rapid.Check(t, func(r *rapid.T) {
		tx, previous := deposits(t, key, rapid.SliceOfN(rapid.Int64Range(1_000, 1e8), 1, 20).Draw(r, "values")...)
		tx.Value -= rapid.Int64Range(0, 999).Draw(r, "fee")
		if err := tx.Check(); err != nil {
			t.Fatal(err)
		}
		text, err := tx.PSBT(previous)
		if err != nil {
			t.Fatal(err)
		}
		scripts, err := tx.Scripts(text)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := tx.Signed(scripts, with(key))
		if err != nil {
			t.Fatal(err)
		}
		id, err := tx.Verify(raw, scripts)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := Parse(raw)
		if err != nil || parsed.TxHash().String() != id {
			t.Fatalf("the id is %s of %v, %v", id, parsed, err)
		}
		weight := int64(parsed.SerializeSizeStripped()*3 + parsed.SerializeSize())
		if got, most := (weight+3)/4, tx.Size(); got > most || got < most-int64(len(tx.Inputs))-1 {
			t.Fatalf("%d inputs take %d virtual bytes, want at most %d and nearly that", len(tx.Inputs), got, most)
		}
		dearer := tx
		dearer.Value--
		if _, err := dearer.Verify(raw, scripts); err == nil {
			t.Fatal("the bytes of another amount were accepted")
		}
		forged, err := tx.Signed(scripts, with(secp256k1.PrivKeyFromBytes([]byte("another"))))
		if err != nil || bytes.Equal(forged, raw) {
			t.Fatalf("sign with another key: got %x, %v, want other bytes", forged, err)
		}
		if _, err := tx.Verify(forged, scripts); err == nil {
			t.Fatal("the signature of another key was accepted")
		}
	})
}

// A PSBT that lies about the value of an input, or leaves out its previous transaction, is refused: the fee would be
// another one than the terms say.
func TestScripts_lies(t *testing.T) {
	tx, previous := deposits(t, secp256k1.PrivKeyFromBytes([]byte("a key")), 50_000, 60_000)
	tx.Value -= 500
	packet := func(change func(p *psbt.Packet)) string {
		text, err := tx.PSBT(previous)
		if err != nil {
			t.Fatal(err)
		}
		p, err := psbt.NewFromRawBytes(strings.NewReader(text), true)
		if err != nil {
			t.Fatal(err)
		}
		change(p)
		if text, err = p.B64Encode(); err != nil {
			t.Fatal(err)
		}
		return text
	}
	honest := packet(func(*psbt.Packet) {})
	if _, err := tx.Scripts(honest); err != nil {
		t.Fatal(err)
	}
	lower := tx
	lower.Inputs = append([]Input(nil), tx.Inputs...)
	lower.Inputs[1].Value -= 10_000
	lower.Value -= 10_000
	if text, err := lower.PSBT(previous); err != nil {
		t.Fatal(err)
	} else if _, err := lower.Scripts(text); err == nil || !strings.Contains(err.Error(), "holds 60000, not 50000") {
		t.Errorf("a value below the output's: %v", err)
	}
	for name, text := range map[string]string{
		"no previous transaction": packet(func(p *psbt.Packet) { p.Inputs[0].NonWitnessUtxo = nil }),
		"the previous transaction of another input": packet(func(p *psbt.Packet) {
			p.Inputs[0].NonWitnessUtxo = p.Inputs[1].NonWitnessUtxo
		}),
		"a changed previous transaction": packet(func(p *psbt.Packet) { p.Inputs[0].NonWitnessUtxo.TxOut[1].Value += 10 }),
		"another output":                 packet(func(p *psbt.Packet) { p.UnsignedTx.TxOut[0].Value-- }),
		"another sequence":               packet(func(p *psbt.Packet) { p.UnsignedTx.TxIn[0].Sequence = 0 }),
		"no PSBT":                        base64.StdEncoding.EncodeToString([]byte("psbt")),
		"nothing":                        "",
	} {
		if _, err := tx.Scripts(text); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestCheck(t *testing.T) {
	good, _ := deposits(t, secp256k1.PrivKeyFromBytes([]byte("a key")), 50_000, 60_000)
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(tx *Transaction){
		"no inputs":           func(tx *Transaction) { tx.Inputs = nil },
		"too many inputs":     func(tx *Transaction) { tx.Inputs = make([]Input, InputsMost+1) },
		"an input twice":      func(tx *Transaction) { tx.Inputs = []Input{tx.Inputs[0], tx.Inputs[0]} },
		"an empty input":      func(tx *Transaction) { tx.Inputs = []Input{{tx.Inputs[0].Point, 0}, tx.Inputs[1]} },
		"more than there is":  func(tx *Transaction) { tx.Inputs = []Input{{tx.Inputs[0].Point, mostValue + 1}} },
		"more than they hold": func(tx *Transaction) { tx.Value++ },
		"nothing to pay":      func(tx *Transaction) { tx.Value = 0 },
		"no treasury":         func(tx *Transaction) { tx.To = nil },
	} {
		tx := good
		change(&tx)
		if err := tx.Check(); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// A treasury may be of any form that bitcoin has, written in its usual way.
func TestTreasury(t *testing.T) {
	for text, bytes := range map[string]int{
		treasury: 22,
		"bc1pqqqsyqcyq5rqwzqfpg9scrgwpugpza0fksc":                        20, // a program of 18 bytes of witness version 1
		"bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3": 34, // P2WSH
		"bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr": 34, // P2TR
		"1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2":                             25,
		"3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy":                             23,
		"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080":                   22,
	} {
		if script, err := Treasury(text); err != nil || len(script) != bytes {
			t.Errorf("%s: script of %d bytes, %v, want %d", text, len(script), err, bytes)
		}
	}
	for _, text := range []string{"", strings.ToUpper(treasury), treasury[:len(treasury)-1] + "p", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7k"} {
		if _, err := Treasury(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// Order does not change a slot; another output does.
func TestSlot(t *testing.T) {
	one, _ := deposits(t, secp256k1.PrivKeyFromBytes([]byte("a key")), 50_000, 60_000)
	other := one
	other.Inputs, other.Value = []Input{one.Inputs[1], one.Inputs[0]}, one.Value-700
	if one.Slot() != other.Slot() {
		t.Error("the same inputs have two slots")
	}
	if other.Inputs = one.Inputs[:1]; one.Slot() == other.Slot() {
		t.Error("other inputs have the same slot")
	}
}

func FuzzScripts(f *testing.F) {
	tx, previous := deposits(f, secp256k1.PrivKeyFromBytes([]byte("a key")), 50_000)
	text, err := tx.PSBT(previous)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add("cHNidP8=")
	f.Fuzz(func(t *testing.T, text string) {
		scripts, err := tx.Scripts(text)
		if err == nil && len(scripts) != 1 {
			t.Errorf("%d scripts of one input", len(scripts))
		}
	})
}
