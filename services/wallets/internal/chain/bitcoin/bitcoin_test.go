package bitcoin

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpctest"
)

var (
	easy  = header{bits: 0x207fffff}.target()
	ours  = bytes.Repeat([]byte{0xaa}, 20)
	other = bytes.Repeat([]byte{0xbb}, 20)
)

// txOf writes a transaction with a P2WPKH output for each key, with a witness or without.
func txOf(mark byte, witness bool, value uint64, keys ...[]byte) (serial, stripped []byte) {
	body := append([]byte{1}, bytes.Repeat([]byte{mark}, 32)...)
	body = append(body, 0, 0, 0, 0, 1, 0x51, 0xff, 0xff, 0xff, 0xff, byte(len(keys)))
	for _, key := range keys {
		body = binary.LittleEndian.AppendUint64(body, value)
		body = append(append(body, 22, 0, 20), key...)
	}
	version, lock := []byte{2, 0, 0, 0}, []byte{0, 0, 0, 0}
	stripped = append(append(append([]byte{}, version...), body...), lock...)
	if !witness {
		return stripped, stripped
	}
	serial = append(append(append([]byte{}, version...), 0, 1), body...)
	serial = append(serial, 2, 1, 0x51, 3, 1, 2, 3) // two items of the only input
	return append(serial, lock...), stripped
}

// blockOf mines a block.
func blockOf(parent digest, txs ...[2][]byte) []byte {
	ids := make([]digest, len(txs))
	rest := []byte{byte(len(txs))}
	for i, tx := range txs {
		ids[i] = twice(tx[1])
		rest = append(rest, tx[0]...)
	}
	root, err := merkle(ids)
	if err != nil {
		root = digest{}
	}
	head := append([]byte{0, 0, 0, 0x20}, parent[:]...)
	head = append(head, root[:]...)
	head = binary.LittleEndian.AppendUint32(head, 1_700_000_000)
	head = binary.LittleEndian.AppendUint32(head, 0x207fffff)
	for nonce := uint32(0); ; nonce++ {
		mined := binary.LittleEndian.AppendUint32(append([]byte{}, head...), nonce)
		if _, err := parseHeader(mined, easy); err == nil {
			return append(mined, rest...)
		}
	}
}

func pair(serial, stripped []byte) [2][]byte { return [2][]byte{serial, stripped} }

// sample pays 5 to a watched address as a miner, and then 7 and 9 to watched addresses and 8 to a foreign one in one
// transaction with a witness.
func sample() []byte {
	return blockOf(digest{1}, pair(txOf(0, true, 5, ours)), pair(txOf(1, false, 1, other)), pair(txOf(2, true, 7, ours, other, ours)))
}

func newDriver(t testing.TB, nodes ...*rpctest.Node) *Driver {
	t.Helper()
	n, _ := money.NetworkOf("bitcoin")
	log, metrics := rpctest.Quiet()
	d, err := New(Config{Network: n, Net: address.Regtest, RPC: rpctest.Config(nodes...)}, log, metrics)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// serving is a node with one block above genesis.
func serving(t testing.TB, raw []byte) (*rpctest.Node, string) {
	n := rpctest.New(t)
	hash := "00"
	if len(raw) >= headerLength {
		hash = twice(raw[:headerLength]).String()
		n.Set("getblockheader", fmt.Sprintf("%q", hex.EncodeToString(raw[:headerLength])))
	}
	n.Set("getblockhash 0", `"`+geneses[address.Regtest]+`"`)
	n.Set("getblockhash 1", `"`+hash+`"`)
	n.Set("getblockhash 2", `error:{"code":-8,"message":"Block height out of range"}`)
	n.Set("getblockcount", "1")
	n.Set("getblock", fmt.Sprintf("%q", hex.EncodeToString(raw)))
	return n, hash
}

func TestMatch(t *testing.T) {
	raw := sample()
	n, hash := serving(t, raw)
	d := newDriver(t, n)
	head, err := d.Head(t.Context())
	if err != nil || head.Height != 1 || head.Hash != hash || head.Parent != (digest{1}).String() || head.Finalized != 0 {
		t.Fatalf("read the head: got %+v, %v, want block 1 on its parent", head, err)
	}
	b, err := d.Fetch(t.Context(), 1)
	if err != nil || b.Header() != head.Header {
		t.Fatalf("fetch block 1: got %+v, %v, want the head's header", b, err)
	}
	got, err := b.Match(t.Context(), rpctest.Watched{string(ours): true})
	if err != nil || len(got) != 2 {
		t.Fatalf("match block 1: got %+v, %v, want two transfers", got, err)
	}
	_, stripped := txOf(2, true, 7, ours, other, ours)
	for i, vout := range []int{0, 2} {
		if g := got[i]; len(g.Senders) > 0 || g.TxHash != twice(stripped).String() || g.Ordinal != vout || g.Asset != "BTC" || g.Contract != "" || g.Amount.Int64() != 7 || !bytes.Equal(g.To, ours) {
			t.Errorf("match an output: got %+v, want 7 satoshi to the watched key", g)
		}
	}
	if _, err := d.Fetch(t.Context(), 2); !errors.Is(err, chain.ErrNoBlock) {
		t.Errorf("fetch block 2: got %v, want ErrNoBlock", err)
	}
}

// The genesis block of bitcoin itself, byte for byte.
func TestParse_genesis(t *testing.T) {
	raw, err := hex.DecodeString("0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c" +
		"0101000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000")
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseBlock(raw, header{bits: 0x1d00ffff}.target())
	if err != nil || b.hash.String() != geneses[address.Mainnet] || len(b.txs) != 1 {
		t.Errorf("parse the genesis block: got %+v, %v, want its hash and one transaction", b, err)
	}
}

// A partial or false answer of an endpoint is an error, and not "no such block".
func TestFetch_hostileAnswers(t *testing.T) {
	raw := sample()
	changed := func(f func(b []byte) []byte) []byte { return f(append([]byte{}, raw...)) }
	coinbase, paid := pair(txOf(0, true, 5, ours)), pair(txOf(2, true, 7, ours))
	for name, block := range map[string][]byte{
		"empty":               {},
		"header alone":        raw[:80],
		"cut":                 raw[:len(raw)-3],
		"more after its end":  append(append([]byte{}, raw...), 0),
		"no transactions":     append(append([]byte{}, raw[:80]...), 0),
		"too many claimed":    append(append([]byte{}, raw[:80]...), 0xfe, 0xff, 0xff, 0xff, 0x7f),
		"another amount":      changed(func(b []byte) []byte { b[bytes.Index(b, []byte{7, 0, 0, 0, 0, 0, 0, 0})] = 8; return b }),
		"an output made up":   changed(func(b []byte) []byte { return bytes.Replace(b, other, ours, 1) }),
		"more than there is":  blockOf(digest{1}, coinbase, pair(txOf(3, false, 21_000_001*100_000_000, ours))),
		"repeated":            append(append(append([]byte{}, blockOf(digest{1}, coinbase, paid, paid)[:80]...), 4), bytes.Join([][]byte{coinbase[0], paid[0], paid[0], paid[0]}, nil)...),
		"no work":             changed(func(b []byte) []byte { b[72], b[75] = 0xff, 0x03; return b }),
		"easier than allowed": changed(func(b []byte) []byte { b[75] = 0x21; return b }),
		"another parent":      changed(func(b []byte) []byte { b[4]++; return b }),
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := serving(t, raw)
			n.Set("getblock", fmt.Sprintf("%q", hex.EncodeToString(block)))
			if b, err := newDriver(t, n).Fetch(t.Context(), 1); err == nil || errors.Is(err, chain.ErrNoBlock) {
				t.Errorf("was believed: %+v, %v", b, err)
			}
		})
	}
	for _, c := range [][2]string{
		{"getblockhash 1", `17`},
		{"getblockhash 1", `null`},
		{"getblockhash 1", `"00"`},
		{"getblockhash 1", `"` + strings.Repeat("z", 64) + `"`},
		{"getblockhash 1", `"` + strings.Repeat("0", 64) + `"`},
		{"getblock", `null`},
		{"getblock", `{}`},
		{"getblock", `12`},
		{"getblock", `"xyz"`},
		{"getblock", `"0"`},
		{"getblockhash 0", `"` + geneses[address.Mainnet] + `"`},
		{"getblockhash 0", `"`},
	} {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			n, _ := serving(t, raw)
			n.Set(c[0], c[1])
			if b, err := newDriver(t, n).Fetch(t.Context(), 1); err == nil || errors.Is(err, chain.ErrNoBlock) {
				t.Errorf("was believed: %+v, %v", b, err)
			}
		})
	}
	for _, count := range []string{`-1`, `1.5`, `1e9`, `"1"`, `null`, `99999999999999999999`} {
		n, _ := serving(t, raw)
		n.Set("getblockcount", count)
		if head, err := newDriver(t, n).Head(t.Context()); err == nil {
			t.Errorf("height %s was believed: %+v", count, head)
		}
	}
}

func TestTarget(t *testing.T) {
	for bits, want := range map[uint32]string{
		0x1d00ffff: "26959535291011309493156476344723991336010898738574164086137773096960", 0x01003456: "0", 0x02008000: "128", 0x04923456: "0", 0x05009234: "2452881408",
	} {
		if got := (header{bits: bits}).target(); got.String() != want {
			t.Errorf("%x: %s, want %s", bits, got, want)
		}
	}
}

func FuzzParseBlock(f *testing.F) {
	f.Add(sample())
	f.Add(blockOf(digest{2}, pair(txOf(0, false, 1))))
	limit := new(big.Int).Lsh(big.NewInt(1), 256) // any work will do, so that more of the parser is reached
	f.Fuzz(func(t *testing.T, b []byte) {
		blk, err := parseBlock(b, limit)
		if err != nil {
			return
		}
		for _, tx := range blk.txs {
			for _, o := range tx.outputs {
				if o.value < 0 || o.value > mostValue {
					t.Errorf("parse an output: got %+v, want a value within the supply", o)
				}
			}
		}
	})
}
