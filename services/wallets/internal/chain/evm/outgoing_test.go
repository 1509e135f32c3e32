package evm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"causeway.internal/services/wallets/internal/chain"
)

func TestQuantity(t *testing.T) {
	for text, want := range map[string]string{
		`"0x0"`: "0", `"0xff"`: "255", `"0xFF"`: "255", `"0x` + strings.Repeat("f", 64) + `"`: "",
		`"0x"`: "error", `"ff"`: "error", `255`: "error", `"0x-1"`: "error", `"0x+1"`: "error", `"0x1_0"`: "error", `"0x 1"`: "error",
		`"0x` + strings.Repeat("f", 65) + `"`: "error", `{}`: "error", `["0x1"]`: "error",
	} {
		var q quantity
		err := json.Unmarshal([]byte(text), &q)
		if (err != nil) != (want == "error") || (want != "" && want != "error" && q.String() != want) {
			t.Errorf("read the quantity %.80s: got %s, %v, want %s", text, &q.Int, err, want)
		}
	}
	var huge quantity
	if err := json.Unmarshal([]byte(`"0xffffffffffffffff"`), &huge); err != nil {
		t.Fatal(err)
	}
	if _, err := huge.small(); err == nil {
		t.Error("a nonce of 2^64-1 was believed")
	}
}

func TestMove(t *testing.T) {
	const contract = "0xdac17f958d2ee523a2206206994597c13d831ec7"
	topic := "0x" + strings.Repeat("0", 24) + strings.Repeat("a", 40)
	good := []string{transferTopic.String(), topic, topic}
	word := "0x" + strings.Repeat("0", 63) + "5"
	if m, ok := move(contract, good, word); !ok || m.Amount.Int64() != 5 || m.Contract != "0xdAC17F958D2ee523a2206206994597C13D831ec7" || m.From != m.To {
		t.Errorf("read a move of tokens: got %+v, %v, want 5", m, ok)
	}
	for name, c := range map[string]struct {
		contract string
		topics   []string
		data     string
	}{
		"no topics":            {contract, nil, word},
		"two topics":           {contract, good[:2], word},
		"four topics":          {contract, append(good[:3:3], topic), word},
		"another event":        {contract, []string{topic, topic, topic}, word},
		"a dirty address":      {contract, []string{good[0], "0x" + strings.Repeat("a", 64), topic}, word},
		"a short address":      {contract, []string{good[0], topic[:60], topic}, word},
		"no amount":            {contract, good, "0x"},
		"two words":            {contract, good, word + strings.Repeat("0", 64)},
		"no hexadecimal":       {contract, good, "0x" + strings.Repeat("z", 64)},
		"a contract cut short": {contract[:40], good, word},
	} {
		if m, ok := move(c.contract, c.topics, c.data); ok {
			t.Errorf("read a move with %s: got %+v, want none", name, m)
		}
	}
}

// No answer of a node makes the readers of a receipt panic or accept a false receipt.
func FuzzReceipt(f *testing.F) {
	f.Add(`{"transactionHash":"0xaa","blockNumber":"0x1","status":"0x1","gasUsed":"0x5208","effectiveGasPrice":"0x1","logs":[{"address":"0x","topics":[],"data":"0x"}]}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		var a *answered
		if json.Unmarshal([]byte(text), &a) != nil || a == nil {
			return
		}
		for _, l := range a.Logs {
			if m, ok := move(l.Address, l.Topics, l.Data); ok && m.Amount.Sign() < 0 {
				t.Errorf("read a move: got %+v, want no negative amount", m)
			}
		}
	})
}

// A refund ends only by a receipt that two hosts show alike, where the endpoints are on two hosts.
func TestAgreed(t *testing.T) {
	of := func(block, status int, logs ...string) string {
		return strings.Replace(receiptJSON(7, block, status, logs...), "{", `{"blockNumber":"0x5","effectiveGasPrice":"0x1",`, 1)
	}
	paid := logJSON(usdt, ourHex, 5, 7, 50, 0)
	good := of(50, 1, paid)
	for name, c := range map[string]struct {
		second string
		agreed bool
	}{
		"the same":        {good, true},
		"failed":          {of(50, 0), false},
		"another block":   {of(51, 1, paid), false},
		"without the log": {of(50, 1), false},
		"another amount":  {of(50, 1, logJSON(usdt, ourHex, 6, 7, 50, 0)), false},
		"unknown":         {"null", false},
		"no answer":       {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := newFake(t), newFake(t)
			one.set("eth_getTransactionReceipt", good)
			if c.second != "" {
				two.set("eth_getTransactionReceipt", c.second)
			}
			other := strings.Replace(two.URL, "127.0.0.1", "localhost", 1)
			r, found, err := newDriver(t, one.URL, other).Agreed(t.Context(), h32(7))
			if found != c.agreed || (err == nil) != c.agreed {
				t.Errorf("ask two hosts: got %+v, %v, %v, want agreement %v", r, found, err, c.agreed)
			}
			if r, found, err := newDriver(t, one.URL, two.URL).Agreed(t.Context(), h32(7)); err != nil || !found || !r.OK {
				t.Errorf("ask two endpoints of one host: got %+v, %v, %v, want the first answer", r, found, err)
			}
		})
	}
}

// An address without a contract answers a call with nothing. The endpoint is not at fault: it goes on answering.
func TestTokens_noContract(t *testing.T) {
	node := newFake(t)
	d := newDriver(t, node.URL)
	node.set("eth_getBalance", `"0x7"`)
	if _, err := d.Coins(t.Context(), ourHex); err != nil {
		t.Fatal(err)
	}
	node.set("eth_call", `"0x"`)
	for range 5 {
		if got, err := d.Tokens(t.Context(), other, ourHex); !errors.Is(err, chain.ErrNoToken) || !strings.Contains(fmt.Sprint(err), other) {
			t.Errorf("read the balance of no token: got %s, %v, want ErrNoToken with the address", got, err)
		}
		if got, err := d.TokensAt(t.Context(), other, ourHex, 5); !errors.Is(err, chain.ErrNoToken) {
			t.Errorf("read the old balance of no token: got %s, %v, want ErrNoToken", got, err)
		}
	}
	if got, err := d.Coins(t.Context(), ourHex); err != nil || got.Int64() != 7 {
		t.Errorf("ask the endpoint after that: got %s, %v, want 7", got, err)
	}
	node.set("eth_call", `"0x5"`)
	if got, err := d.Tokens(t.Context(), usdt, ourHex); err != nil || got.Int64() != 5 {
		t.Errorf("read the balance of a token: got %s, %v, want 5", got, err)
	}
	node.set("eth_call", `"no number"`)
	if got, err := d.Tokens(t.Context(), usdt, ourHex); err == nil || errors.Is(err, chain.ErrNoToken) {
		t.Errorf("read a balance that is no number: got %s, %v, want an error of the endpoint", got, err)
	}
}
