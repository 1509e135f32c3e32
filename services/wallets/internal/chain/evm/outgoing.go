package evm

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/sweep"
)

// The chain queries of a sweep. Their answers are small, so encoding/json reads them. The signer and the chain check
// untrusted values (balances, nonces) again.

// ask makes one call on an endpoint that works and decodes its result.
func ask[T any](ctx context.Context, d *Driver, method string, params ...any) (out T, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		result, err := e.Call(ctx, method, params...)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(result, &out); err != nil {
			return fmt.Errorf("%s at endpoint %s: %w", method, e.Name, err)
		}
		return nil
	})
	return out, err
}

// judged is ask where the node's own refusal is an answer and no fault of the endpoint.
func judged[T any](ctx context.Context, d *Driver, method string, params ...any) (out T, no *rpc.NodeError, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		result, err := e.Call(ctx, method, params...)
		var is bool
		if no, is = errors.AsType[*rpc.NodeError](err); is {
			return nil
		}
		if err == nil {
			err = json.Unmarshal(result, &out)
		}
		return err
	})
	return out, no, err
}

// quantity is a number as JSON-RPC writes it: 0x and digits, at most 256 bits.
type quantity struct{ big.Int }

func (q *quantity) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || digits == "" || len(digits) > 64 || strings.Trim(digits, "0123456789abcdefABCDEF") != "" {
		return fmt.Errorf("%.80q is not a quantity", text)
	}
	q.SetString(digits, 16)
	return nil
}

func (q *quantity) small() (uint64, error) {
	if !q.IsUint64() || q.Uint64() > 1<<62 {
		return 0, fmt.Errorf("%s is too large", &q.Int)
	}
	return q.Uint64(), nil
}

func at(height int64) string {
	if height < 0 {
		return "latest"
	}
	return "0x" + strconv.FormatInt(height, 16)
}

// Nonce is the number of an address's transactions in the chain up to a height; -1 for the head.
func (d *Driver) Nonce(ctx context.Context, of string, height int64) (uint64, error) {
	n, err := ask[quantity](ctx, d, "eth_getTransactionCount", of, at(height))
	if err != nil {
		return 0, err
	}
	return n.small()
}

// Coins is an address's balance of the network's own coin at the head.
func (d *Driver) Coins(ctx context.Context, of string) (*big.Int, error) {
	n, err := ask[quantity](ctx, d, "eth_getBalance", of, "latest")
	return &n.Int, err
}

// balance is a token's balance as a call answers it.
type balance struct {
	quantity
	none bool // the call returned nothing: no contract there has such a function, which is no fault of the endpoint
}

func (b *balance) UnmarshalJSON(text []byte) error {
	if b.none = string(text) == `"0x"`; b.none {
		return nil
	}
	return b.quantity.UnmarshalJSON(text)
}

func (b *balance) of(contract string) (*big.Int, error) {
	if b.none {
		return nil, fmt.Errorf("%w: %s", chain.ErrNoToken, contract)
	}
	return &b.Int, nil
}

// Tokens is an address's balance of a token at the head; chain.ErrNoToken where the address has no such contract.
func (d *Driver) Tokens(ctx context.Context, contract, of string) (*big.Int, error) {
	a, err := evmtx.ParseAccount(of)
	if err != nil {
		return nil, err
	}
	call := map[string]string{"to": contract, "data": "0x" + hex.EncodeToString(evmtx.BalanceCall(a))}
	n, err := ask[balance](ctx, d, "eth_call", call, "latest")
	if err != nil {
		return nil, err
	}
	return n.of(contract)
}

// TokensAt is an address's balance of a token after a block; ErrNoState when no endpoint keeps that.
func (d *Driver) TokensAt(ctx context.Context, contract, of string, height int64) (*big.Int, error) {
	a, err := evmtx.ParseAccount(of)
	if err != nil {
		return nil, err
	}
	call := map[string]string{"to": contract, "data": "0x" + hex.EncodeToString(evmtx.BalanceCall(a))}
	n, no, err := judged[balance](ctx, d, "eth_call", call, at(height))
	if err == nil && no != nil {
		err = fmt.Errorf("%w: %w", chain.ErrNoState, no)
	}
	if err != nil {
		return nil, err
	}
	return n.of(contract)
}

// Market is the network's present price per gas: the base fee of the newest block and the node's recommended tip.
func (d *Driver) Market(ctx context.Context) (m sweep.Market, err error) {
	type header struct {
		Base *quantity `json:"baseFeePerGas"`
		Time *quantity `json:"timestamp"`
	}
	h, err := ask[header](ctx, d, "eth_getBlockByNumber", "latest", false)
	if err != nil {
		return m, err
	}
	if h.Base == nil || h.Time == nil || !h.Time.IsInt64() {
		return m, errors.New("the newest block has no base fee or no time")
	}
	tip, err := ask[quantity](ctx, d, "eth_maxPriorityFeePerGas")
	return sweep.Market{Base: &h.Base.Int, Tip: &tip.Int, At: time.Unix(h.Time.Int64(), 0)}, err
}

// Separator is the domain of a token's contract (EIP-712).
func (d *Driver) Separator(ctx context.Context, contract string) ([32]byte, error) {
	return d.word(ctx, contract, evmtx.SeparatorCall())
}

// Taken reports whether a token's contract has taken an authorization of an address and nonce.
func (d *Driver) Taken(ctx context.Context, contract, owner string, nonce [32]byte) (bool, error) {
	from, err := evmtx.ParseAccount(owner)
	if err != nil {
		return false, err
	}
	word, err := d.word(ctx, contract, evmtx.StateCall(from, nonce))
	return word != [32]byte{}, err
}

// logsMost bounds the blocks that one call reads the logs of.
const logsMost = 1_000

// Presented finds the transaction of a block between two heights whose authorization a token's contract has taken.
func (d *Driver) Presented(ctx context.Context, use sweep.Authorization, from, to int64) (p sweep.Presented, found bool, err error) {
	owner, err := evmtx.ParseAccount(use.Owner)
	if err != nil {
		return p, false, err
	}
	topics := []string{authorizationTopic, "0x" + strings.Repeat("00", 12) + hex.EncodeToString(owner[:]), "0x" + hex.EncodeToString(use.Nonce[:])}
	for ; from <= to; from += logsMost {
		filter := map[string]any{"address": use.Contract, "topics": topics, "fromBlock": at(from), "toBlock": at(min(to, from+logsMost-1))}
		logs, err := ask[[]struct {
			Hash string `json:"transactionHash"`
		}](ctx, d, "eth_getLogs", filter)
		if err != nil || len(logs) == 0 {
			if err != nil {
				return p, false, err
			}
			continue
		}
		tx, err := ask[*struct {
			From  string   `json:"from"`
			Nonce quantity `json:"nonce"`
		}](ctx, d, "eth_getTransactionByHash", logs[0].Hash)
		if err != nil || tx == nil {
			return p, false, err
		}
		sender, err := evmtx.ParseAccount(tx.From)
		if err != nil {
			return p, false, err
		}
		p = sweep.Presented{TxHash: strings.ToLower(logs[0].Hash), Sender: sender.String()}
		p.Nonce, err = tx.Nonce.small()
		return p, err == nil, err
	}
	return p, false, nil
}

// authorizationTopic is keccak256("AuthorizationUsed(address,bytes32)").
const authorizationTopic = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"

// word asks a contract for 32 bytes. They are zero when it has no such function.
func (d *Driver) word(ctx context.Context, contract string, data []byte) (word [32]byte, err error) {
	call := map[string]string{"to": contract, "data": "0x" + hex.EncodeToString(data)}
	text, no, err := judged[string](ctx, d, "eth_call", call, "latest")
	if err != nil || no != nil || !unhex(word[:], text, 0) {
		return [32]byte{}, err
	}
	return word, nil
}

// Gas estimates the gas of a transfer, with a quarter on top. A refused estimate means that the transfer would fail:
// that is ErrReverts.
func (d *Driver) Gas(ctx context.Context, from, to, contract string, amount *big.Int) (uint64, error) {
	receiver, err := evmtx.ParseAccount(to)
	if err != nil {
		return 0, err
	}
	call := map[string]string{"from": from, "to": to, "value": "0x" + amount.Text(16)}
	if contract != "" {
		call = map[string]string{"from": from, "to": contract, "data": "0x" + hex.EncodeToString(evmtx.TransferCall(receiver, amount))}
	}
	n, no, err := judged[quantity](ctx, d, "eth_estimateGas", call)
	switch {
	case err != nil:
		return 0, err
	case no != nil:
		return 0, fmt.Errorf("%w: %.200s", sweep.ErrReverts, no.Message)
	}
	gas, err := n.small()
	return gas + gas/4, err
}

// Send sends signed bytes to a node. It succeeds if the node knows them already; any other refusal is the error, and
// Receipt shows whether the bytes were mined nevertheless.
func (d *Driver) Send(ctx context.Context, raw []byte) error {
	_, no, err := judged[string](ctx, d, "eth_sendRawTransaction", "0x"+hex.EncodeToString(raw))
	if err != nil || no == nil {
		return err
	}
	if text := strings.ToLower(no.Message); strings.Contains(text, "already known") || strings.Contains(text, "already imported") {
		return nil
	}
	return fmt.Errorf("%w: %.200s", sweep.ErrRefused, no.Message)
}

// answered is a receipt as nodes write it.
type answered struct {
	Hash   string    `json:"transactionHash"`
	Number *quantity `json:"blockNumber"`
	Block  string    `json:"blockHash"`
	Status *quantity `json:"status"`
	Used   *quantity `json:"gasUsed"`
	Price  *quantity `json:"effectiveGasPrice"`
	L1Fee  *quantity `json:"l1Fee"`
	Logs   []struct {
		Address string   `json:"address"`
		Topics  []string `json:"topics"`
		Data    string   `json:"data"`
	} `json:"logs"`
}

// of checks that the receipt is whole and of that transaction, and returns the height of its block.
func (a *answered) of(hash string) (int64, error) {
	if !strings.EqualFold(a.Hash, hash) || a.Number == nil || a.Status == nil || a.Used == nil || a.Price == nil || a.Block == "" {
		return 0, errors.New("the receipt of " + hash + " is of another transaction, or fields are missing")
	}
	height, err := a.Number.small()
	return int64(height), err //nolint:gosec // a height has far fewer bits
}

// fee is the fee that the network took.
func (a *answered) fee() *big.Int {
	out := new(big.Int).Mul(&a.Used.Int, &a.Price.Int)
	if a.L1Fee != nil {
		out.Add(out, &a.L1Fee.Int)
	}
	return out
}

// Receipt reads the receipt of a mined transaction. It reports false when no block holds the transaction.
func (d *Driver) Receipt(ctx context.Context, hash string) (r sweep.Receipt, found bool, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) (err error) {
		r, found, err = receiptOf(ctx, e, hash)
		return err
	})
	return r, found, err
}

// Agreed is Receipt with a second answer: where the endpoints are on several hosts, two hosts must show the transaction
// in the same block, with the same result and the same movements of tokens.
func (d *Driver) Agreed(ctx context.Context, hash string) (sweep.Receipt, bool, error) {
	r, found, err := rpc.Agreed(ctx, d.pool, func(e *rpc.Endpoint) (sweep.Receipt, bool, error) { return receiptOf(ctx, e, hash) })
	if err != nil {
		return r, false, fmt.Errorf("the receipt of %s: %w", hash, err)
	}
	return r, found, nil
}

// receiptOf asks one endpoint for a receipt.
func receiptOf(ctx context.Context, e *rpc.Endpoint, hash string) (sweep.Receipt, bool, error) {
	a, err := query[*answered](ctx, e, "eth_getTransactionReceipt", hash)
	if err != nil || a == nil {
		return sweep.Receipt{}, false, err
	}
	height, err := a.of(hash)
	if err != nil {
		return sweep.Receipt{}, false, err
	}
	r := sweep.Receipt{TxHash: hash, Height: height, Block: strings.ToLower(a.Block), OK: a.Status.Cmp(big.NewInt(1)) == 0, Fee: a.fee()}
	for _, l := range a.Logs {
		if m, ok := move(l.Address, l.Topics, l.Data); ok {
			r.Moved = append(r.Moved, m)
		}
	}
	return r, true, nil
}

// move reads a token's Transfer log.
func move(contract string, topics []string, data string) (m sweep.Move, ok bool) {
	var token, from, to evmtx.Account
	if len(topics) != 3 || !strings.EqualFold(topics[0], transferTopic.String()) || !unhex(token[:], contract, 0) ||
		!unhex(from[:], topics[1], 12) || !unhex(to[:], topics[2], 12) {
		return m, false
	}
	var word [32]byte
	if !unhex(word[:], data, 0) {
		return m, false
	}
	return sweep.Move{Contract: token.String(), From: from.String(), To: to.String(), Amount: new(big.Int).SetBytes(word[:])}, true
}

// unhex decodes 0x and digits behind so many zero bytes into out, which they must fill.
func unhex(out []byte, text string, zeros int) bool {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return false
	}
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != zeros+len(out) {
		return false
	}
	for _, z := range b[:zeros] {
		if z != 0 {
			return false
		}
	}
	copy(out, b[zeros:])
	return true
}

// Locate is the height of the block that holds a transaction; false when no block does.
func (d *Driver) Locate(ctx context.Context, tx string) (height int64, found bool, err error) {
	r, found, err := d.Receipt(ctx, tx)
	return r.Height, found, err
}

// Rival shows at every endpoint that another transaction, in a block up to a final one, has used the nonce of an own
// one, and that no form of the own one is in a block.
func (d *Driver) Rival(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (sweep.Rival, error) {
	return rpc.Unanimous(ctx, d.pool, hash, func(e *rpc.Endpoint) (sweep.Rival, error) { return rivalAt(ctx, e, o, hash, final) })
}

// sent is the part of a transaction that says who sent it.
type sent struct {
	From  string   `json:"from"`
	Nonce quantity `json:"nonce"`
}

// finalAt reads a transaction and its receipt from one endpoint, which must have it in a block up to a final one.
func finalAt(ctx context.Context, e *rpc.Endpoint, hash string, final chain.Header) (r sweep.Receipt, tx *sent, err error) {
	r, found, err := receiptOf(ctx, e, hash)
	if err != nil {
		return r, nil, err
	}
	if !found {
		return r, nil, sweep.ErrUnmined
	}
	if r.Height > final.Height {
		return r, nil, fmt.Errorf("%w: it is %d, and the newest final one is %d", sweep.ErrNotFinal, r.Height, final.Height)
	}
	for height, want := range map[int64]string{r.Height: r.Block, final.Height: final.Hash} {
		b, err := numbered(ctx, e, height, false)
		if err != nil {
			return r, nil, err
		}
		if got := b.header().Hash; !strings.EqualFold(got, want) {
			return r, nil, fmt.Errorf("%w: block %d is %s, and not %s", sweep.ErrDiffer, height, got, want)
		}
	}
	if tx, err = query[*sent](ctx, e, "eth_getTransactionByHash", hash); err == nil && tx == nil {
		err = sweep.ErrUnmined
	}
	return r, tx, err
}

// rivalAt asks one endpoint about a rival.
func rivalAt(ctx context.Context, e *rpc.Endpoint, o sweep.Outgoing, hash string, final chain.Header) (r sweep.Rival, err error) {
	var tx *sent
	if r.Receipt, tx, err = finalAt(ctx, e, hash, final); err != nil {
		return r, err
	}
	nonce, err := tx.Nonce.small()
	if err != nil {
		return r, err
	}
	if !strings.EqualFold(tx.From, o.Sender) || nonce != o.Nonce {
		return r, fmt.Errorf("%w: it has nonce %d of %s, and the refund has nonce %d of %s", sweep.ErrBeside, nonce, tx.From, o.Nonce, o.Sender)
	}
	for _, own := range o.Signed() {
		if _, found, err := receiptOf(ctx, e, own); err != nil || found {
			return r, cmp.Or(err, fmt.Errorf("%w: a block holds %s", sweep.ErrOwn, own))
		}
	}
	return r, nil
}

// Lost shows at every endpoint that another transaction, in a block up to a final one, has moved the asset of a sweep
// away from its address, and that the address has less than the sweep after the final block.
func (d *Driver) Lost(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (sweep.Rival, error) {
	return rpc.Unanimous(ctx, d.pool, hash, func(e *rpc.Endpoint) (r sweep.Rival, err error) {
		var tx *sent
		if r.Receipt, tx, err = finalAt(ctx, e, hash, final); err != nil {
			return r, err
		}
		w := o.Sweep
		moves := w.Native() && strings.EqualFold(tx.From, w.Address) // only its key moves the coin of an address
		for _, m := range r.Moved {
			moves = moves || m.Contract == w.Contract && m.From == w.Address && m.Amount.Sign() > 0
		}
		if !moves {
			return r, fmt.Errorf("%w: it moves no %s from %s", sweep.ErrBeside, w.Asset, w.Address)
		}
		has, err := hasAt(ctx, e, w, final.Height)
		if err != nil {
			return r, err
		}
		return r, w.Short(has)
	})
}

// hasAt asks one endpoint what the address of a sweep has after a block.
func hasAt(ctx context.Context, e *rpc.Endpoint, w sweep.Sweep, height int64) (*big.Int, error) {
	if w.Native() {
		n, err := query[quantity](ctx, e, "eth_getBalance", w.Address, at(height))
		return &n.Int, err
	}
	owner, err := evmtx.ParseAccount(w.Address)
	if err != nil {
		return nil, err
	}
	call := map[string]string{"to": w.Contract, "data": "0x" + hex.EncodeToString(evmtx.BalanceCall(owner))}
	n, err := query[balance](ctx, e, "eth_call", call, at(height))
	if err != nil {
		return nil, err
	}
	return n.of(w.Contract)
}
