package tron

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"google.golang.org/protobuf/encoding/protowire"

	"causeway.internal/deploy/realchain/internal/node"
)

func sample(c *chain) rawData {
	owner := append([]byte{0x41}, crypto.PubkeyToAddress(c.payer.PublicKey).Bytes()...)
	return rawData{
		RefBytes: c.head().id[6:8], RefHash: c.head().id[8:16], Owner: owner, To: tokenAddress("somebody"), Amount: 7, Type: transferContract,
		Expiration: uint64(c.head().time + 60_000), Timestamp: uint64(c.head().time),
	}
}

func start(t *testing.T) *chain {
	t.Helper()
	s, err := Start(t.Context(), node.Config{Listen: "127.0.0.1:0", Control: "127.0.0.1:0", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	c := &chain{orphans: map[string]*tx{}, known: map[string]bool{}, lag: solidLag, salt: []byte{1}, tokens: map[string][]byte{"USDT": tokenAddress("USDT")}}
	seed := sha256.Sum256([]byte("a payer"))
	if c.payer, err = crypto.ToECDSA(seed[:]); err != nil {
		t.Fatal(err)
	}
	c.add(nil)
	c.add(nil)
	if res, err := http.Post(s.Ready().RPCURL+"/wallet/getnowblock", "application/json", strings.NewReader("")); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("ask for the newest block: got %v, %v, want 200", res, err)
	} else {
		_ = res.Body.Close()
	}
	return c
}

func (c *chain) try(t *testing.T, raw []byte) error {
	t.Helper()
	sum := sha256.Sum256(raw)
	signature, err := crypto.Sign(sum[:], c.payer)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.broadcast(raw, signature)
	return err
}

// raw_data is taken in one form only, signed by its owner, of this chain, in time and once.
func TestBroadcast_strict(t *testing.T) {
	c := start(t)
	good := sample(c)
	change := func(f func(r *rawData)) []byte {
		r := good
		f(&r)
		return r.encode()
	}
	for name, raw := range map[string][]byte{
		"an unknown field":          varint(good.encode(), 19, 1),
		"fields in another order":   append(good.encode()[4:], good.encode()[:4]...),
		"a zero that is written":    protowire.AppendVarint(protowire.AppendTag(good.encode(), 18, protowire.VarintType), 0),
		"two contracts":             append(good.encode(), change(func(r *rawData) { r.RefBytes, r.RefHash, r.Expiration, r.Timestamp = nil, nil, 0, 0 })...),
		"cut":                       good.encode()[:20],
		"another type":              change(func(r *rawData) { r.Type = 2 }),
		"nothing to move":           change(func(r *rawData) { r.Amount = 0 }),
		"a receiver of twenty":      change(func(r *rawData) { r.To = r.To[1:] }),
		"another owner":             change(func(r *rawData) { r.Owner = tokenAddress("somebody") }),
		"a block of another chain":  change(func(r *rawData) { r.RefHash = make([]byte, 8) }),
		"expired":                   change(func(r *rawData) { r.Expiration = uint64(c.head().time) }),
		"an expiration after a day": change(func(r *rawData) { r.Expiration += expiresMax }),
	} {
		if err := c.try(t, raw); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := c.try(t, good.encode()); err != nil {
		t.Fatal(err)
	}
	if err := c.try(t, good.encode()); err == nil {
		t.Error("a transaction was taken twice")
	}
	sum := sha256.Sum256(good.encode())
	if id := hex.EncodeToString(sum[:]); !c.known[id] || c.waiting[0].id != id {
		t.Errorf("the id is not the hash of the bytes: %s", c.waiting[0].id)
	}
}
