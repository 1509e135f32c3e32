package bitcoin

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/services/wallets/internal/chain/rpctest"
)

// spend writes a transaction that spends the first outputs of others and pays a deposit address.
func spend(parents ...digest) []byte {
	tx := append([]byte{2, 0, 0, 0}, byte(len(parents)))
	for _, p := range parents {
		tx = append(append(tx, p[:]...), 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff)
	}
	tx = append(tx, 1, 9, 0, 0, 0, 0, 0, 0, 0, 22, 0, 20)
	return append(append(tx, ours...), 0, 0, 0, 0)
}

func addressOf(t *testing.T, key []byte) string {
	t.Helper()
	text, ok := address.OfScript(address.Regtest, append([]byte{0, 20}, key...))
	if !ok {
		t.Fatal("no address")
	}
	return text
}

func quoted(raw []byte) string { return fmt.Sprintf("%q", hex.EncodeToString(raw)) }

// The senders of a deposit are the addresses that its inputs come from, in their order and each once.
func TestSenders(t *testing.T) {
	third := slices.Repeat([]byte{0xcc}, 20)
	a, _ := txOf(1, false, 1, other)
	b, _ := txOf(2, false, 1, third)
	again, _ := txOf(3, false, 1, other)
	paid := spend(twice(a), twice(b), twice(again))
	raw := blockOf(digest{1}, pair(txOf(0, true, 5)), pair(paid, paid))
	const refused = `error:{"code":-5,"message":"No such mempool or blockchain transaction. Use -txindex"}`
	full := fmt.Sprintf(`{"tx":[{"txid":"00"},{"txid":%q,"vin":[
		{"txid":%q,"vout":0,"prevout":{"value":1.5,"scriptPubKey":{"hex":"0014%x"}}},{"txid":%q,"vout":7,"prevout":{"scriptPubKey":{"hex":"0014%x"}}}]}]}`,
		twice(paid), twice(a), other, twice(b), third)
	both := []string{addressOf(t, other), addressOf(t, third)}
	for name, c := range map[string]struct {
		parents [3]string // answers of getrawtransaction
		block   string    // answer of getblock with previous outputs
		want    []string
		fails   bool
	}{
		"with an index":                  {[3]string{quoted(a), quoted(b), quoted(again)}, "", both, false},
		"without one, Bitcoin Core":      {[3]string{refused, refused, refused}, full, both[:1], false},
		"without one, btcd":              {[3]string{refused, refused, refused}, `{"tx":[]}`, nil, false},
		"a block in another form":        {[3]string{refused, refused, refused}, `"00"`, nil, false},
		"one refused, and no block":      {[3]string{quoted(a), refused, refused}, refused, both[:1], false},
		"the method is not served":       {[3]string{`error:{"code":-32601,"message":"Method not found"}`}, refused, nil, false},
		"a transaction that was made up": {[3]string{quoted(b)}, full, nil, true},
		"no hex":                         {[3]string{`"zz"`}, full, nil, true},
		"null":                           {[3]string{`null`}, full, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			n, hash := serving(t, raw)
			for i, parent := range [][]byte{a, b, again} {
				n.Set(fmt.Sprintf("getrawtransaction %q", twice(parent)), c.parents[i])
			}
			n.Set(fmt.Sprintf("getblock %q 3", hash), c.block)
			blk, err := newDriver(t, n).Fetch(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			got, err := blk.Match(t.Context(), rpctest.Watched{string(ours): true})
			if (err != nil) != c.fails {
				t.Fatalf("match a block: got %+v, %v", got, err)
			}
			if err == nil && (len(got) != 1 || !slices.Equal(got[0].Senders, c.want)) {
				t.Errorf("%+v, want senders %v", got, c.want)
			}
		})
	}
}

// Where one endpoint has no index, another one is asked.
func TestSenders_ofAnotherEndpoint(t *testing.T) {
	a, _ := txOf(1, false, 1, other)
	paid := spend(twice(a))
	raw := blockOf(digest{1}, pair(txOf(0, true, 5)), pair(paid, paid))
	bare, _ := serving(t, raw)
	indexed, _ := serving(t, raw)
	indexed.Set("getrawtransaction", quoted(a))
	blk, err := newDriver(t, bare, indexed).Fetch(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := blk.Match(t.Context(), rpctest.Watched{string(ours): true})
	if err != nil || len(got) != 1 || !slices.Equal(got[0].Senders, []string{addressOf(t, other)}) {
		t.Errorf("find the senders at another endpoint: got %+v, %v", got, err)
	}
}

// A block with its previous outputs is large: it is requested once for all of its deposits.
func TestSenders_blockAskedOnce(t *testing.T) {
	n, d := newMempool(t)
	parent, _ := txOf(1, false, 1, other)
	paid := spend(twice(parent))
	tx, err := parseTx(paid, twice(paid))
	if err != nil {
		t.Fatal(err)
	}
	n.Set("getblock", fmt.Sprintf(`{"tx":[{"txid":%q,"vin":[{"txid":%q,"vout":0,"prevout":{"scriptPubKey":{"hex":"0014%x"}}}]}]}`,
		tx.id, twice(parent), other))
	for range 2 {
		if got, err := d.senders(t.Context(), tx, "a block"); err != nil || !slices.Equal(got, []string{addressOf(t, other)}) {
			t.Errorf("find the senders in a block: got %v, %v", got, err)
		}
		n.Set("getblock", `{"tx":[]}`)
	}
	if got, err := d.senders(t.Context(), tx, "another block"); err != nil || len(got) > 0 {
		t.Errorf("find the senders in another block: got %v, %v, want none", got, err)
	}
}

// A payer with very many inputs costs no more calls than the bound, and is judged by the inputs within it.
func TestSenders_bounded(t *testing.T) {
	n := rpctest.New(t)
	var parents []digest
	for i := range parentsMost + 20 {
		raw, _ := txOf(byte(i), false, uint64(i+1), slices.Repeat([]byte{byte(i)}, 20))
		parents = append(parents, twice(raw))
		n.Set(fmt.Sprintf("getrawtransaction %q", twice(raw)), quoted(raw))
	}
	n.Set("getblockhash 0", `"`+geneses[address.Regtest]+`"`)
	raw := spend(parents...)
	tx, err := parseTx(raw, twice(raw))
	if err != nil {
		t.Fatal(err)
	}
	got, err := newDriver(t, n).senders(t.Context(), tx, "")
	if err != nil || len(got) != parentsMost || !strings.HasPrefix(got[0], "bcrt1") {
		t.Errorf("%d senders, %v", len(got), err)
	}
}

func FuzzParseTx(f *testing.F) {
	serial, _ := txOf(2, true, 7, ours)
	f.Add(serial)
	f.Add(spend(digest{1}, digest{2}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if tx, err := parseTx(b, digest{}); err == nil {
			t.Errorf("%+v has the id that nobody has", tx)
		}
	})
}
