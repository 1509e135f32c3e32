package trontx

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"pgregory.net/rapid"
)

// The vectors were made with tronweb 6.5.1, which uses code that protoc generated from TRON's own .proto files, and
// noble-secp256k1. The key is 1.
var vectors = []struct {
	name           string
	typ            Type
	amount         int64
	limit          int64
	raw, id, signs string
}{
	{
		name: "TransferContract", typ: Transfer, amount: 7,
		raw:   "0a022d3f22080123456789abcdef40e0f7a7ffbc315a65080112610a2d747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e5472616e73666572436f6e747261637412300a15417e5f4552091a69125d5dfcb7b8c2659029395bdf121541a614f803b6fd780986a42c78ec9c7f77e6ded13c18077081d095ffbc31",
		id:    "4d515f1b7c3bec070a30cab7d0b9179a58d731f257effe37c9221a8d28152515",
		signs: "22fd90ece6eb4bb2d095279bbd46457df97bf1552e8fd61aae5e660d10fee7227543b43a8fc0f2e0948ff1a59b3d2e7e46c28e8d9350d3f0c1f6c84c1db09bba1c",
	},
	{
		name: "TriggerSmartContract", typ: Trigger, limit: 30_000_000,
		raw:   "0a022d3f22080123456789abcdef40e0f7a7ffbc315aae01081f12a9010a31747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e54726967676572536d617274436f6e747261637412740a15417e5f4552091a69125d5dfcb7b8c2659029395bdf121541a614f803b6fd780986a42c78ec9c7f77e6ded13c2244a9059cbb000000000000000000000000a614f803b6fd780986a42c78ec9c7f77e6ded13c00000000000000000000000000000000000000000000000000000000017d78417081d095ffbc3190018087a70e",
		id:    "c44e991748f5b94bd5b10e6c545774a824a736acea7e6de13034c325b99fcecc",
		signs: "4a8120488bc30a947f80698d109405a8d0f52a0e2e59dce5a3494d23fd980f016a5fbfb5ad16bef29ce7112052f30ec7ff0e3fe0fcd835d8c2317097fa95d78c1b",
	},
	{
		name: "DelegateResourceContract", typ: Delegate, amount: 1_234_567_890,
		raw:   "0a022d3f22080123456789abcdef40e0f7a7ffbc315a730839126f0a35747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e44656c65676174655265736f75726365436f6e747261637412360a15417e5f4552091a69125d5dfcb7b8c2659029395bdf100118d285d8cc04221541a614f803b6fd780986a42c78ec9c7f77e6ded13c7081d095ffbc31",
		id:    "e1290a8f9bbea912c82f65a997533d274d43f445efe674a6cd59b27748f72e1b",
		signs: "9ecd5035af641d249d14553b5cd1544fc3ce87a9d340681c7b22b76ebb2742e95e0a8da4b974588390396e8bd8531ae8b2943972aa877adedafd7f4e5d4f70a91b",
	},
	{
		name: "UnDelegateResourceContract", typ: Undelegate, amount: 1_234_567_890,
		raw:   "0a022d3f22080123456789abcdef40e0f7a7ffbc315a75083a12710a37747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e556e44656c65676174655265736f75726365436f6e747261637412360a15417e5f4552091a69125d5dfcb7b8c2659029395bdf100118d285d8cc04221541a614f803b6fd780986a42c78ec9c7f77e6ded13c7081d095ffbc31",
		id:    "bacf560df96b43454f0d6a0c4dc9504e910b906c85102bf96d7dc920ba9847c7",
		signs: "b124751e87e8aa94f33d4ad230f40bc829bcb25fa908205dd4156fcf54213f7727081a9aa5906fc463dbfebeeb46849346bbf43ecdff105c95ca85132445c5841b",
	},
}

func key() *secp256k1.PrivateKey { return secp256k1.PrivKeyFromBytes([]byte{1}) }

func sign(t Transaction) []byte {
	id := t.ID()
	compact := ecdsa.SignCompact(key(), id[:], false)
	var signature [65]byte
	copy(signature[:], compact[1:])
	signature[64] = compact[0]
	return t.Signed(signature)
}

func sample(t testing.TB, typ Type, amount, limit int64) Transaction {
	t.Helper()
	usdt, err := ParseAccount("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t")
	if err != nil {
		t.Fatal(err)
	}
	tx := Transaction{
		Ref:        Ref{Number: [2]byte{0x2d, 0x3f}, Hash: [8]byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}},
		Expiration: 1_700_000_300_000, Timestamp: 1_700_000_000_001, FeeLimit: limit, Type: typ,
		Owner: AccountOf(key().PubKey()), To: usdt, Amount: amount,
	}
	if typ == Trigger {
		tx.Data = TokenTransfer(usdt, big.NewInt(25_000_001))
	}
	return tx
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			tx := sample(t, v.typ, v.amount, v.limit)
			if got := hex.EncodeToString(tx.Raw()); got != v.raw {
				t.Errorf("raw data is\n%s, want\n%s", got, v.raw)
			}
			if id := tx.ID(); hex.EncodeToString(id[:]) != v.id {
				t.Errorf("id is %x, want %s", id, v.id)
			}
			signed := sign(tx)
			if want := v.signs; hex.EncodeToString(signed[len(signed)-65:]) != want {
				t.Errorf("signature is %x, want %s", signed[len(signed)-65:], want)
			}
			got, err := Parse(signed)
			if err != nil || !got.Equal(tx) {
				t.Errorf("parsed %+v, %v, want %+v", got, err, tx)
			}
		})
	}
	if got := AccountOf(key().PubKey()).String(); got != "TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC" {
		t.Errorf("the address of key 1 is %s", got)
	}
}

// Parse takes one form of each transaction only.
func TestParse_refuses(t *testing.T) {
	good := sample(t, Trigger, 0, 30_000_000)
	change := func(f func(tx *Transaction)) []byte {
		tx := good
		tx.Data = bytes.Clone(good.Data)
		f(&tx)
		return sign(tx)
	}
	signed := sign(good)
	high := bytes.Clone(signed)
	s := new(big.Int).Sub(secp256k1.Params().N, new(big.Int).SetBytes(signed[len(signed)-33:len(signed)-1]))
	s.FillBytes(high[len(high)-33 : len(high)-1])
	high[len(high)-1] ^= 27 ^ 28
	for name, b := range map[string][]byte{
		"empty":                    nil,
		"cut":                      signed[:len(signed)-1],
		"longer":                   append(bytes.Clone(signed), 0),
		"an unknown field":         varint(bytes.Clone(signed), 9, 1),
		"two signatures":           field(bytes.Clone(signed), signedSignature, signed[len(signed)-65:]),
		"the upper half":           high,
		"another owner":            change(func(tx *Transaction) { tx.Owner = tx.To }),
		"another call":             change(func(tx *Transaction) { tx.Data[0]++ }),
		"a call that pays TRX":     change(func(tx *Transaction) { tx.Amount = 1 }),
		"a call without a limit":   change(func(tx *Transaction) { tx.FeeLimit = 0 }),
		"a transfer with a limit":  change(func(tx *Transaction) { tx.Type, tx.Data, tx.Amount = Transfer, nil, 1 }),
		"a transfer with data":     change(func(tx *Transaction) { tx.Type, tx.FeeLimit, tx.Amount = Transfer, 0, 1 }),
		"nothing moved":            change(func(tx *Transaction) { tx.Type, tx.Data, tx.FeeLimit = Transfer, nil, 0 }),
		"a vote":                   change(func(tx *Transaction) { tx.Type, tx.Data, tx.FeeLimit, tx.Amount = 4, nil, 0, 1 }),
		"no expiration":            change(func(tx *Transaction) { tx.Expiration = 0 }),
		"a signature of nothing":   good.Signed([65]byte{64: 27}),
		"an unknown recovery byte": append(bytes.Clone(signed[:len(signed)-1]), 1),
	} {
		if tx, err := Parse(b); err == nil {
			t.Errorf("%s was taken: %+v", name, tx)
		}
	}
}

// Everything that is written is read again, and any change of it is another transaction or none.
func TestParse_roundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom([]Type{Transfer, Trigger, Delegate, Undelegate}).Draw(t, "type")
		tx := Transaction{
			Expiration: rapid.Int64Range(1, 1<<50).Draw(t, "expiration"), Timestamp: rapid.Int64Range(0, 1<<50).Draw(t, "timestamp"),
			Type: typ, Owner: AccountOf(key().PubKey()),
		}
		copy(tx.To[:], rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "to"))
		copy(tx.Ref.Number[:], rapid.SliceOfN(rapid.Byte(), 2, 2).Draw(t, "ref"))
		copy(tx.Ref.Hash[:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "hash"))
		if typ == Trigger {
			tx.FeeLimit = rapid.Int64Range(1, 1<<62).Draw(t, "limit")
			tx.Data = TokenTransfer(tx.To, big.NewInt(rapid.Int64Range(1, 1<<62).Draw(t, "amount")))
		} else {
			tx.Amount = rapid.Int64Range(1, 1<<62).Draw(t, "amount")
		}
		signed := sign(tx)
		got, err := Parse(signed)
		if err != nil || !got.Equal(tx) || int64(len(signed))+64 != tx.Bandwidth() {
			t.Fatalf("%+v became %+v of %d bytes, %v", tx, got, tx.Bandwidth(), err)
		}
		at := rapid.IntRange(0, len(signed)-1).Draw(t, "at")
		signed[at] ^= rapid.ByteRange(1, 255).Draw(t, "bits")
		if other, err := Parse(signed); err == nil && other.Equal(tx) {
			t.Fatalf("a change of byte %d was not seen", at)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors {
		f.Add(sign(sample(f, v.typ, v.amount, v.limit)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tx, err := Parse(b)
		if err != nil {
			return
		}
		if !bytes.Equal(tx.Signed([65]byte(b[len(b)-65:])), b) {
			t.Errorf("%x was taken and is not canonical", b)
		}
	})
}
