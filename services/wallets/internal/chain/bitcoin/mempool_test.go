package bitcoin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpctest"
)

func idOf(d digest) chain.TxID {
	slices.Reverse(d[:])
	return chain.TxID(d)
}

func newMempool(t *testing.T) (*rpctest.Node, *Driver) {
	n := rpctest.New(t)
	n.Set("getblockhash 0", `"`+geneses[address.Regtest]+`"`)
	return n, newDriver(t, n)
}

func TestMempool(t *testing.T) {
	n, d := newMempool(t)
	parent, _ := txOf(1, false, 1, other)
	paid := spend(twice(parent))
	id := idOf(twice(paid))
	n.Set("getrawmempool", fmt.Sprintf("[%q,%q]", id, strings.Repeat("ab", 32)))
	n.Set(fmt.Sprintf("getrawtransaction %q", id), quoted(paid))
	n.Set(fmt.Sprintf("getrawtransaction %q", twice(parent)), quoted(parent))
	n.Set(fmt.Sprintf("getrawtransaction %q", strings.Repeat("ab", 32)), `error:{"code":-5,"message":"No such mempool transaction"}`)
	ids, err := d.Waiting(t.Context())
	if err != nil || len(ids) != 2 || ids[0] != id {
		t.Fatalf("list the mempool: got %v, %v, want two ids", ids, err)
	}
	tx, err := d.Unmined(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tx.Match(t.Context(), rpctest.Watched{string(ours): true})
	if err != nil || len(got) != 1 || got[0].Ordinal != 0 || got[0].Amount.Int64() != 9 || !slices.Equal(got[0].Senders, []string{addressOf(t, other)}) {
		t.Errorf("match an unmined transaction: got %+v, %v, want 9 satoshi with their sender", got, err)
	}
	if in := tx.Inputs(); !slices.Equal(in, []string{twice(parent).String() + ":0"}) {
		t.Errorf("spends %v", in)
	}
	if _, err := d.Unmined(t.Context(), ids[1]); !errors.Is(err, chain.ErrNoTx) {
		t.Errorf("read a transaction that left the mempool: got %v, want ErrNoTx", err)
	}
	outputs := tx.Inputs()
	for answer, want := range map[string]bool{"null": true, `{"confirmations":3}`: false} {
		n.Set("gettxout", answer)
		if spent, err := d.Spent(t.Context(), outputs); err != nil || spent != want {
			t.Errorf("look at an output that is %s: got spent %v, %v, want %v", answer, spent, err, want)
		}
	}
}

// An impossible mempool is an error, and so is a node that does not show its mempool; neither stops the reading of
// blocks.
func TestMempool_hostileAnswers(t *testing.T) {
	paid := spend(digest{1})
	for _, answer := range []string{`null`, `{}`, `[1]`, `["ab"]`, `["` + strings.Repeat("z", 64) + `"]`, `["`, `error:{"code":-32601,"message":"Method not found"}`} {
		n, d := newMempool(t)
		n.Set("getrawmempool", answer)
		if ids, err := d.Waiting(t.Context()); err == nil {
			t.Errorf("%s was believed: %v", answer, ids)
		}
	}
	n, d := newMempool(t)
	n.Set("getrawtransaction", quoted(paid))
	if tx, err := d.Unmined(t.Context(), chain.TxID{1}); err == nil {
		t.Errorf("another transaction was believed: %+v", tx)
	}
}

// A node that does not report spent outputs shows no replacement; the look continues.
func TestMempool_spentRefused(t *testing.T) {
	n, d := newMempool(t)
	n.Set("gettxout", `error:{"code":-32601,"message":"Method not found"}`)
	if spent, err := d.Spent(t.Context(), []string{strings.Repeat("ab", 32) + ":0"}); err != nil || spent {
		t.Errorf("look at an output where the node refuses: got spent %v, %v, want false", spent, err)
	}
}
