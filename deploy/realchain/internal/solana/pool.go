package solana

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/btcsuite/btcd/address/v2/base58"
)

// pooled is a transaction that waits for a block.
type pooled struct {
	signature string
	raw       []byte
}

// Lengths of a transaction's parts.
const (
	rights     = 3
	rawMost    = 1232
	accountMax = 64

	nonceLength = 80 // of a nonce account
	nonceValue  = 40 // where its value begins
)

var errShape = errors.New("this is no legacy transaction")

// accounts are the accounts that a transaction names.
func (p pooled) accounts() (list []string, err error) {
	start := 1 + int(p.raw[0])*ed25519.SignatureSize + rights
	if len(p.raw) <= start || p.raw[start] > accountMax || len(p.raw) < start+1+int(p.raw[start])*len(key{}) {
		return nil, errShape
	}
	for i := range int(p.raw[start]) {
		at := start + 1 + i*len(key{})
		list = append(list, key(p.raw[at:at+len(key{})]).String())
	}
	return list, nil
}

// accept takes the transaction of a client into the pool, as a validator does that is asked to skip its own trial. One
// that a block has held before, and none holds now, waits for the next block again.
func (c *chain) accept(params []json.RawMessage) (signature string, err error) {
	var encoded string
	if len(params) == 0 || json.Unmarshal(params[0], &encoded) != nil {
		return "", errShape
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) < 1+ed25519.SignatureSize || len(raw) > rawMost {
		return "", errShape
	}
	p := pooled{base58.Encode(raw[1 : 1+ed25519.SignatureSize]), raw}
	if _, err := p.accounts(); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, known := c.orphans[p.signature]; known {
		delete(c.orphans, p.signature)
		c.waiting = append(c.waiting, t)
		return p.signature, nil
	}
	_, _, mined := c.find(p.signature, len(c.blocks)-1)
	waits := slices.ContainsFunc(c.waiting, func(t executed) bool { return t.signature == p.signature }) ||
		slices.ContainsFunc(c.pool, func(t pooled) bool { return t.signature == p.signature })
	if !mined && !waits {
		c.pool = append(c.pool, p)
	}
	return p.signature, nil
}

// runPool runs what clients have sent. Validators drop what cannot be in a block, such as a transaction whose nonce or
// block hash is used up. Those that could not be run wait for the next block.
func (c *chain) runPool(ctx context.Context) error {
	for ; len(c.pool) > 0; c.pool = c.pool[1:] {
		lands, err := c.lands(ctx, c.pool[0])
		if err != nil {
			return err
		}
		if !lands {
			continue
		}
		done, err := c.run(ctx, c.pool[0], true)
		if err != nil {
			return err
		}
		c.waiting = append(c.waiting, done)
	}
	return nil
}

// lands reports whether a block may hold a transaction, be it as a failed one. An error of the whole transaction is a
// bare name, such as BlockhashNotFound; one of a call or an account is an object.
func (c *chain) lands(ctx context.Context, p pooled) (bool, error) {
	var told struct{ Value struct{ Err any } }
	encoded := base64.StdEncoding.EncodeToString(p.raw)
	if err := c.call(ctx, &told, "simulateTransaction", encoded, map[string]any{"encoding": "base64", "sigVerify": true, "commitment": "processed"}); err != nil {
		return false, err
	}
	_, whole := told.Value.Err.(string)
	return !whole, nil
}

// run runs a transaction in the VM, and remembers the accounts before and after it.
func (c *chain) run(ctx context.Context, p pooled, skip bool) (executed, error) {
	names, err := p.accounts()
	if err != nil {
		return executed{}, err
	}
	before, err := c.read(ctx, names)
	if err != nil {
		return executed{}, err
	}
	encoded := base64.StdEncoding.EncodeToString(p.raw)
	if err := c.call(ctx, nil, "sendTransaction", encoded, map[string]any{"encoding": "base64", "skipPreflight": skip}); err != nil {
		return executed{}, err
	}
	done, err := c.executed(ctx, p.signature)
	if err != nil {
		return executed{}, err
	}
	if err := c.advance(ctx, done, before); err != nil {
		return executed{}, err
	}
	left, err := c.read(ctx, names)
	for name, state := range before {
		if c.first[name] == nil {
			c.first[name] = state
		}
	}
	return executed{p.signature, done, left}, err
}

// advance gives the nonce accounts of a failed transaction another value, as the network does: also a failure uses a
// nonce up. The VM leaves them as they were.
func (c *chain) advance(ctx context.Context, done json.RawMessage, before map[string]json.RawMessage) error {
	var told struct{ Meta struct{ Err any } }
	if err := json.Unmarshal(done, &told); err != nil || told.Meta.Err == nil {
		return err
	}
	for name, state := range before {
		var account *struct {
			Lamports uint64
			Owner    string
			Data     [2]string
		}
		if err := json.Unmarshal(state, &account); err != nil {
			return err
		}
		if account == nil || account.Owner != systemProgram.String() {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(account.Data[0])
		if err != nil || len(data) != nonceLength {
			continue
		}
		value := sha256.Sum256(data)
		copy(data[nonceValue:], value[:])
		err = c.call(ctx, nil, "surfnet_setAccount", name, map[string]any{"lamports": account.Lamports, "data": hex.EncodeToString(data), "owner": account.Owner})
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads accounts in the VM.
func (c *chain) read(ctx context.Context, names []string) (map[string]json.RawMessage, error) {
	var told struct{ Value []json.RawMessage }
	if err := c.call(ctx, &told, "getMultipleAccounts", names, map[string]any{"encoding": "base64", "commitment": "processed"}); err != nil {
		return nil, err
	}
	if len(told.Value) != len(names) {
		return nil, fmt.Errorf("%d accounts for %d names", len(told.Value), len(names))
	}
	out := map[string]json.RawMessage{}
	for i, name := range names {
		out[name] = told.Value[i]
	}
	return out, nil
}

// find returns a transaction and the place of its block, up to the block at tip.
func (c *chain) find(signature string, tip int) (t executed, at int, found bool) {
	for i := tip; i >= 0; i-- {
		for _, t := range c.blocks[i].txs {
			if t.signature == signature {
				return t, i, true
			}
		}
	}
	return t, 0, false
}

// account is an account as the block at tip left it; known is false for one that no transaction has named.
func (c *chain) account(name string, tip int) (state json.RawMessage, known bool) {
	for i := tip; i >= 0; i-- {
		for _, t := range slices.Backward(c.blocks[i].txs) {
			if state, known := t.left[name]; known {
				return state, true
			}
		}
	}
	state, known = c.first[name]
	return state, known
}

// answerTransactions is what a validator says of transactions, and of accounts as a block left them.
func (c *chain) answerTransactions(ctx context.Context, method string, params []json.RawMessage) (result any, code int, ours bool) {
	if method == "sendTransaction" {
		signature, err := c.accept(params)
		if err != nil {
			return err.Error(), -32602, true
		}
		return signature, 0, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.HasPrefix(method, "surfnet_set") { // a test changes accounts in the VM: what was remembered is wrong
		clear(c.first)
		for i := range c.blocks {
			for j := range c.blocks[i].txs {
				c.blocks[i].txs[j].left = nil
			}
		}
		return nil, 0, false
	}
	var options struct{ Commitment string }
	if len(params) > 1 {
		_ = json.Unmarshal(params[1], &options)
	}
	tip := len(c.blocks) - 1
	if options.Commitment == "" || options.Commitment == "finalized" {
		tip = max(0, tip-c.lag)
	}
	switch method {
	case "getSignatureStatuses":
		return c.statuses(params)
	case "getTransaction":
		return c.transaction(params, tip)
	case "getMultipleAccounts":
		var names []string
		if len(params) == 0 || json.Unmarshal(params[0], &names) != nil {
			return "Invalid params", -32602, true
		}
		now, err := c.read(ctx, names)
		if err != nil {
			return err.Error(), -32603, true
		}
		states := make([]json.RawMessage, len(names))
		for i, name := range names {
			states[i] = now[name]
			if state, known := c.account(name, tip); known {
				states[i] = state
			}
		}
		return map[string]any{"context": map[string]any{"slot": c.blocks[tip].slot}, "value": states}, 0, true
	}
	return nil, 0, false
}

func (c *chain) statuses(params []json.RawMessage) (result any, code int, ours bool) {
	var names []string
	if len(params) == 0 || json.Unmarshal(params[0], &names) != nil {
		return "Invalid params", -32602, true
	}
	list := make([]any, len(names))
	for i, name := range names {
		t, at, found := c.find(name, len(c.blocks)-1)
		if !found {
			continue
		}
		var told struct{ Meta struct{ Err json.RawMessage } }
		_ = json.Unmarshal(t.json, &told)
		status := "confirmed"
		if c.blocks[at].slot <= c.rooted().slot {
			status = "finalized"
		}
		list[i] = map[string]any{"slot": c.blocks[at].slot, "confirmations": nil, "err": told.Meta.Err, "confirmationStatus": status}
	}
	return map[string]any{"context": map[string]any{"slot": c.head().slot}, "value": list}, 0, true
}

func (c *chain) transaction(params []json.RawMessage, tip int) (result any, code int, ours bool) {
	var name string
	if len(params) == 0 || json.Unmarshal(params[0], &name) != nil {
		return "Invalid params", -32602, true
	}
	t, at, found := c.find(name, tip)
	if !found {
		return nil, 0, true
	}
	told := map[string]json.RawMessage{}
	_ = json.Unmarshal(t.json, &told)
	told["slot"], _ = json.Marshal(c.blocks[at].slot)
	told["blockTime"], _ = json.Marshal(c.began + c.blocks[at].slot)
	return told, 0, true
}
