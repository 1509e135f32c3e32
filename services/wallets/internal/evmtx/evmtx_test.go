package evmtx

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"testing"
)

// Signatures of go-ethereum v1.17.10 for the key sha256("causeway evmtx vector").
const signer = "0xA71E6878972046Bc3b9c46244B008f1f9b90B283"

var (
	wide = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	usdt = account("dac17f958d2ee523a2206206994597c13d831ec7")
	safe = account("00000000000000000000000000000000000000aa")
)

var vectors = []struct {
	raw, hash string
	tx        Transaction
}{
	{
		"02f8730180843b9aca008506fc23ac008252089400000000000000000000000000000000000000aa8814d1120d7b16000080c080a014804decbceaa7ebf71d6d1680999875" +
			"c9496eb7f680b31b7c4169ab42568a91a0219ee58f85e5ef14d3619af60bc00040e84c90bfe7111e42112b93c30613f55b",
		"a47fe34b38f9f2dd6b2d22c95c4adce74e0d9a382e9147f95048bba2277623f0",
		Transaction{1, 0, big.NewInt(1_000_000_000), big.NewInt(30_000_000_000), 21_000, safe, big.NewInt(1_500_000_000_000_000_000), nil},
	},
	{
		"02f8a8387f80818082fde894dac17f958d2ee523a2206206994597c13d831ec780b844a9059cbb00000000000000000000000000000000000000000000000000000000000" +
			"000aa00000000000000000000000000000000000000000000000000000000017d7840c001a07445f5f68fc7ca71d24011387802b09b79462827634cdb451a6e39c" +
			"b9bbae840a065fe47c52166e40f5b3e546ff897f732dc494780d8e52d9600ee50f2d32c2402",
		"b88d3ded3c6eba072d9fe61c7b3973fe55759bf0ce1b77831290768fea309a7b",
		Transaction{56, 127, new(big.Int), big.NewInt(128), 65_000, usdt, new(big.Int), TransferCall(safe, big.NewInt(25_000_000))},
	},
	{
		"02f8e882a4b188fffffffffffffffe01a0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff81ff94dac17f958d2ee523a2206206994597c13d8" +
			"31ec7a0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffb83c000000000000000000000000000000000000000000000000000000" +
			"000000000000000000000000000000000000000000000000000000000000000000c080a06b5ad7fd2340dbfb8ee144c2724f1f506329d60d6b85e3c2f5243a0f88" +
			"9d9ed4a0460a3d8de1fa7bf39cb9017640b8d1cd7228abadd2a92513beec22533b46ecf6",
		"0bd067071fa97651541900c07013ba054e2a4fa64c369d559ce985f3edec2ea7",
		Transaction{42161, 18446744073709551614, big.NewInt(1), wide, 255, usdt, wide, make([]byte, 60)},
	},
}

func account(digits string) (a Account) {
	b, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	copy(a[:], b)
	return a
}

func TestParse_vectors(t *testing.T) {
	for _, v := range vectors {
		raw, err := hex.DecodeString(v.raw)
		if err != nil {
			t.Fatal(err)
		}
		got, from, err := Parse(raw)
		if err != nil || from.String() != signer || !got.Equal(v.tx) {
			t.Errorf("%+v from %s, %v", got, from, err)
		}
		if hash := Hash(raw); hex.EncodeToString(hash[:]) != v.hash {
			t.Errorf("hash %x", hash)
		}
	}
}

// sampled is the step from one changed bit to the next: it reaches one or two bits of every byte, and all eight places.
const sampled = 5

// One changed bit is another transaction, another sender or nothing at all.
func TestParse_changedBit(t *testing.T) {
	raw, err := hex.DecodeString(vectors[1].raw)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(raw)*8; i += sampled {
		other := bytes.Clone(raw)
		other[i/8] ^= 1 << (i % 8)
		if got, from, err := Parse(other); err == nil && from.String() == signer {
			t.Errorf("bit %d: %+v is still signed", i, got)
		}
	}
	for n := range raw {
		if _, _, err := Parse(raw[:n]); err == nil {
			t.Errorf("%d bytes of %d were read", n, len(raw))
		}
	}
	if _, _, err := Parse(append(bytes.Clone(raw), 0)); err == nil {
		t.Error("trailing bytes were read")
	}
}

func TestParseTransfer(t *testing.T) {
	to, amount, ok := ParseTransfer(TransferCall(safe, big.NewInt(7)))
	if !ok || to != safe || amount.Int64() != 7 {
		t.Errorf("parse a transfer of 7: got %s, %s, %v", to, amount, ok)
	}
	dirty := TransferCall(safe, big.NewInt(7))
	dirty[5] = 1
	for _, b := range [][]byte{nil, dirty, BalanceCall(safe), append(TransferCall(safe, big.NewInt(7)), 0)} {
		if _, _, ok := ParseTransfer(b); ok {
			t.Errorf("%x passes for a transfer", b)
		}
	}
}

func TestCost(t *testing.T) {
	if got := vectors[0].tx.Cost().String(); got != "1500630000000000000" {
		t.Errorf("compute the cost: got %s, want 1500630000000000000", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors {
		raw, _ := hex.DecodeString(v.raw)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tx, _, err := Parse(raw)
		if err != nil {
			return
		}
		if again, _, err := Parse(raw); err != nil || !again.Equal(tx) {
			t.Errorf("parse the transaction again: got %+v, %v, want the same", again, err)
		}
	})
}
