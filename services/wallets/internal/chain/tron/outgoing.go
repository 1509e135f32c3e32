package tron

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/trontx"
)

// The queries of a sweep. Their answers are small, so encoding/json reads them. A false answer delays a sweep or makes
// it dearer; the signer's policy bounds both.

// ask posts one request to an endpoint that works and decodes its answer.
func ask[T any](ctx context.Context, d *Driver, path string, body map[string]any) (out T, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		answer, err := e.Post(ctx, path, body)
		if err == nil {
			out, err = decoded[T](answer)
		}
		if err != nil {
			return fmt.Errorf("%s at endpoint %s: %w", path, e.Name, err)
		}
		return nil
	})
	return out, err
}

// decoded reads an answer. A node reports a failure of its own in the member Error.
func decoded[T any](answer []byte) (out T, err error) {
	var failed struct {
		Error string
	}
	if err := json.Unmarshal(answer, &failed); err == nil && failed.Error != "" {
		return out, fmt.Errorf("the node fails: %.200s", failed.Error)
	}
	return out, json.Unmarshal(answer, &out)
}

func addressOf(text string) (string, error) {
	a, err := trontx.ParseAccount(text)
	return a.Hex(), err
}

// most bounds the numbers of nodes, so that sums of them stay far below 63 bits.
const most = 1 << 56

// amount is a number of a node's answer, 0 where it leaves the member out.
type amount int64

func (a *amount) UnmarshalJSON(b []byte) error {
	var n int64
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	if n < 0 || n > most {
		return fmt.Errorf("%d is out of bounds", n)
	}
	*a = amount(n)
	return nil
}

// resources are the answer of getaccountresource.
type resources struct {
	FreeNetUsed, FreeNetLimit           amount
	NetUsed, NetLimit                   amount
	EnergyUsed, EnergyLimit             amount
	TotalEnergyLimit, TotalEnergyWeight amount
}

// accountAnswer is the answer of getaccount; {} for an address that is no account yet.
type accountAnswer struct {
	Address string `json:"address"`
	Balance amount `json:"balance"`
	Type    string `json:"type"`
}

// Means are the coins and the resources of an account at the head.
func (d *Driver) Means(ctx context.Context, of string) (m sweep.Means, err error) {
	at, err := addressOf(of)
	if err != nil {
		return m, err
	}
	a, err := ask[accountAnswer](ctx, d, "/wallet/getaccount", map[string]any{"address": at})
	if err != nil || a.Address == "" {
		return m, err
	}
	r, err := ask[resources](ctx, d, "/wallet/getaccountresource", map[string]any{"address": at})
	return sweep.Means{
		Active: true, Contract: a.Type == "Contract", Coins: int64(a.Balance), Energy: max(0, int64(r.EnergyLimit-r.EnergyUsed)),
		Bandwidth: max(0, int64(r.FreeNetLimit-r.FreeNetUsed), int64(r.NetLimit-r.NetUsed)),
	}, err
}

// Lendable is the staked TRX of an account, in sun, whose energy it can lend now.
func (d *Driver) Lendable(ctx context.Context, of string) (int64, error) {
	at, err := addressOf(of)
	if err != nil {
		return 0, err
	}
	type answer struct {
		Most amount `json:"max_size"`
	}
	out, err := ask[answer](ctx, d, "/wallet/getcandelegatedmaxsize", map[string]any{"owner_address": at, "type": 1})
	return int64(out.Most), err
}

// Lent is the staked TRX of an account, in sun, whose energy another one uses.
func (d *Driver) Lent(ctx context.Context, from, to string) (sum int64, err error) {
	lender, lenderErr := addressOf(from)
	user, userErr := addressOf(to)
	if err := errors.Join(lenderErr, userErr); err != nil {
		return 0, err
	}
	type answer struct {
		Resources []struct {
			Energy amount `json:"frozen_balance_for_energy"`
		} `json:"delegatedResource"`
	}
	out, err := ask[answer](ctx, d, "/wallet/getdelegatedresourcev2", map[string]any{"fromAddress": lender, "toAddress": user})
	for _, r := range out.Resources {
		sum += int64(r.Energy)
	}
	return sum, err
}

// Rates are the network's present prices; the station is any account.
func (d *Driver) Rates(ctx context.Context, station string) (r sweep.Rates, err error) {
	type answer struct {
		Parameters []struct {
			Key   string `json:"key"`
			Value *int64 `json:"value"`
		} `json:"chainParameter"`
	}
	out, err := ask[answer](ctx, d, "/wallet/getchainparameters", map[string]any{})
	if err != nil {
		return r, err
	}
	wanted := map[string]int64{
		"getEnergyFee": -1, "getTransactionFee": -1, "getCreateNewAccountFeeInSystemContract": -1, "getCreateAccountFee": -1, "getFreeNetLimit": -1,
	}
	for _, p := range out.Parameters {
		if _, is := wanted[p.Key]; is && p.Value != nil {
			wanted[p.Key] = *p.Value
		}
	}
	for key, value := range wanted {
		if value < 0 || value > 1e12 {
			return r, fmt.Errorf("the chain parameter %s is %d, or missing", key, value)
		}
	}
	at, err := addressOf(station)
	if err != nil {
		return r, err
	}
	total, err := ask[resources](ctx, d, "/wallet/getaccountresource", map[string]any{"address": at})
	r = sweep.Rates{
		Energy: wanted["getEnergyFee"], Byte: wanted["getTransactionFee"], FreeBytes: wanted["getFreeNetLimit"],
		Open: wanted["getCreateNewAccountFeeInSystemContract"] + wanted["getCreateAccountFee"],
		// The weight is in TRX.
		StakeOf: new(big.Int).Mul(big.NewInt(int64(total.TotalEnergyWeight)), big.NewInt(1_000_000)), EnergyOf: big.NewInt(int64(total.TotalEnergyLimit)),
	}
	if err == nil && (r.EnergyOf.Sign() == 0 || r.StakeOf.Sign() == 0) { // nobody has a stake: none could be lent
		r.StakeOf, r.EnergyOf = big.NewInt(most), big.NewInt(1)
	}
	return r, err
}

// called is the answer of triggerconstantcontract.
type called struct {
	Result struct {
		Result  bool   `json:"result"`
		Code    string `json:"code"`
		Message string `json:"message"` // in hex
	} `json:"result"`
	Energy      amount   `json:"energy_used"`
	Words       []string `json:"constant_result"`
	Transaction struct {
		Ret []struct {
			Ret string `json:"ret"`
		} `json:"ret"`
	} `json:"transaction"`
}

// fault is why a call would fail; "" when it would not.
func (c called) fault() string {
	for _, r := range c.Transaction.Ret {
		if r.Ret == "FAILED" {
			return "the contract reverts"
		}
	}
	if !c.Result.Result {
		text, _ := hex.DecodeString(c.Result.Message)
		return fmt.Sprintf("%.40s %.200q", c.Result.Code, text)
	}
	return ""
}

func (d *Driver) call(ctx context.Context, from, contract string, data []byte) (c called, err error) {
	owner, ownerErr := addressOf(from)
	token, tokenErr := addressOf(contract)
	if err := errors.Join(ownerErr, tokenErr); err != nil {
		return c, err
	}
	return ask[called](ctx, d, "/wallet/triggerconstantcontract", map[string]any{
		"owner_address": owner, "contract_address": token, "data": hex.EncodeToString(data),
	})
}

// Tokens is an address's balance of a token at the head.
func (d *Driver) Tokens(ctx context.Context, contract, of string) (*big.Int, error) {
	a, err := trontx.ParseAccount(of)
	if err != nil {
		return nil, err
	}
	c, err := d.call(ctx, of, contract, evmtx.BalanceCall(evmtx.Account(a)))
	if err != nil {
		return nil, err
	}
	sum, err := c.word()
	if err != nil {
		return nil, fmt.Errorf("the balance of %s: %w", of, err)
	}
	return sum, nil
}

// Energy is what a token's transfer uses at present. ErrReverts means that it would fail.
func (d *Driver) Energy(ctx context.Context, contract, from, to string, sum *big.Int) (int64, error) {
	receiver, err := trontx.ParseAccount(to)
	if err != nil {
		return 0, err
	}
	c, err := d.call(ctx, from, contract, trontx.TokenTransfer(receiver, sum))
	if err != nil {
		return 0, err
	}
	if fault := c.fault(); fault != "" {
		return 0, fmt.Errorf("%w: %s", sweep.ErrReverts, fault)
	}
	if c.Energy == 0 {
		return 0, errors.New("the node estimates no energy for a token's transfer")
	}
	return int64(c.Energy), nil
}

// Send sends signed bytes to a node. It succeeds if the node knows them already; any other refusal is the error, and
// Receipt shows whether a block holds the transaction nevertheless.
func (d *Driver) Send(ctx context.Context, raw []byte) error {
	type answer struct {
		Result  bool   `json:"result"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	out, err := ask[answer](ctx, d, "/wallet/broadcasthex", map[string]any{"transaction": hex.EncodeToString(raw)})
	switch {
	case err != nil:
		return err
	case out.Result, out.Code == "DUP_TRANSACTION_ERROR":
		return nil
	case out.Code == "":
		return errors.New("the node neither takes nor refuses the transaction")
	case out.Code == "SERVER_BUSY", out.Code == "NO_CONNECTION", out.Code == "NOT_ENOUGH_EFFECTIVE_CONNECTION", out.Code == "BLOCK_UNSOLIDIFIED":
		return fmt.Errorf("the node takes no transactions now: %.40s", out.Code)
	}
	return fmt.Errorf("%w: %.40s %.200s", sweep.ErrRefused, out.Code, out.Message)
}

// outcome is the answer of gettransactioninfobyid; {} for a transaction that no block holds.
type outcome struct {
	ID      string `json:"id"`
	Fee     amount `json:"fee"`
	Height  amount `json:"blockNumber"`
	Result  string `json:"result"` // FAILED, or left out
	Receipt struct {
		Result string `json:"result"` // of a call
	} `json:"receipt"`
	Logs []struct {
		Address string   `json:"address"`
		Topics  []string `json:"topics"`
		Data    string   `json:"data"`
	} `json:"log"`
}

// Receipt reads the result of a transaction. It reports false unless the block that the node names holds it.
func (d *Driver) Receipt(ctx context.Context, id string) (r sweep.Receipt, found bool, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) (err error) {
		r, found, err = receiptOf(ctx, e, id)
		return err
	})
	return r, found && err == nil, err
}

// Agreed is Receipt with a second answer: where the endpoints are on several hosts, two hosts must show the transaction
// in the same block, with the same result and the same movements of tokens.
func (d *Driver) Agreed(ctx context.Context, id string) (sweep.Receipt, bool, error) {
	r, found, err := rpc.Agreed(ctx, d.pool, func(e *rpc.Endpoint) (sweep.Receipt, bool, error) { return receiptOf(ctx, e, id) })
	if err != nil {
		return r, false, fmt.Errorf("the result of %s: %w", id, err)
	}
	return r, found, nil
}

// receiptOf asks one endpoint for the result of a transaction.
func receiptOf(ctx context.Context, e *rpc.Endpoint, id string) (r sweep.Receipt, found bool, err error) {
	answer, err := e.Post(ctx, "/wallet/gettransactioninfobyid", map[string]any{"value": id})
	if err != nil {
		return r, false, err
	}
	o, err := decoded[outcome](answer)
	if err != nil || o.ID == "" {
		return r, false, err
	}
	if o.ID != id {
		return r, false, fmt.Errorf("the result of %s at endpoint %s is that of %.80q", id, e.Name, o.ID)
	}
	b, err := numbered(ctx, e, int64(o.Height), true)
	if errors.Is(err, chain.ErrNoBlock) { // it has just left the chain
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	return o.receipt(b), b.holds(id), nil
}

func (b *block) holds(id string) bool {
	for _, tx := range b.txs {
		if tx.String() == id {
			return true
		}
	}
	return false
}

func (o outcome) receipt(b *block) sweep.Receipt {
	ok := o.Result != "FAILED" && (o.Receipt.Result == "" || o.Receipt.Result == "SUCCESS")
	r := sweep.Receipt{
		TxHash: o.ID, Height: b.number, Block: b.id.String(), OK: ok, Fee: big.NewInt(int64(o.Fee)),
		Starved: o.Receipt.Result == "OUT_OF_ENERGY" || o.Receipt.Result == "OUT_OF_TIME",
	}
	for _, l := range o.Logs {
		if m, is := move(l.Address, l.Topics, l.Data); is && ok {
			r.Moved = append(r.Moved, m)
		}
	}
	return r
}

// move reads a token's Transfer log.
func move(contract string, topics []string, data string) (m sweep.Move, ok bool) {
	var token, from, to trontx.Account
	if len(topics) != 3 || topics[0] != transferTopic.String() || !unhex(token[:], contract, 0) ||
		!unhex(from[:], topics[1], 12) || !unhex(to[:], topics[2], 12) {
		return m, false
	}
	var word [32]byte
	if !unhex(word[:], data, 0) {
		return m, false
	}
	return sweep.Move{Contract: token.String(), From: from.String(), To: to.String(), Amount: new(big.Int).SetBytes(word[:])}, true
}

// unhex decodes the bytes behind so many others into out, which they must fill.
func unhex(out []byte, text string, before int) bool {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != before+len(out) {
		return false
	}
	copy(out, b[before:])
	return true
}

// Lacks reads a block at every endpoint: each must show it, with the results of all its transactions, and none may hold
// the named one. One endpoint that hides a transaction, or lags, can therefore not make a transaction count as expired.
func (d *Driver) Lacks(ctx context.Context, height int64, id string) (h chain.Header, lacks bool, err error) {
	lacks = true
	err = d.pool.All(ctx, func(e *rpc.Endpoint) error {
		b, err := numbered(ctx, e, height, true)
		if err != nil {
			return err
		}
		if _, err := infosOf(ctx, e, b); err != nil {
			return err
		}
		if h.Hash != "" && h != b.header() {
			return fmt.Errorf("block %d: %w", height, errDisagree)
		}
		h, lacks = b.header(), lacks && !b.holds(id)
		return nil
	})
	return h, lacks && err == nil, err
}

var errDisagree = errors.New("two endpoints show different blocks")

// Locate is the height of the block that holds a transaction; false when no block does.
func (d *Driver) Locate(ctx context.Context, tx string) (height int64, found bool, err error) {
	r, found, err := d.Receipt(ctx, tx)
	return r.Height, found, err
}

// Rival shows at every endpoint that another transaction of the sender of an own one is in a block up to a final one.
// It says nothing about the forms of the own one: on tron only their expiration ends them.
func (d *Driver) Rival(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (sweep.Rival, error) {
	return rpc.Unanimous(ctx, d.pool, hash, func(e *rpc.Endpoint) (sweep.Rival, error) { return rivalAt(ctx, e, o, hash, final) })
}

// Lost shows at every endpoint that another transaction of the address of a sweep is in a block up to a final one, and
// that the address has less than the sweep after that block.
func (d *Driver) Lost(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (sweep.Rival, error) {
	return rpc.Unanimous(ctx, d.pool, hash, func(e *rpc.Endpoint) (sweep.Rival, error) {
		r, err := rivalAt(ctx, e, o, hash, final)
		if err != nil {
			return r, err
		}
		view, newest, err := settled(ctx, e)
		if err != nil {
			return r, err
		}
		if newest.number < r.Height {
			return r, fmt.Errorf("%w: the balance is of block %d, and it is in %d", sweep.ErrNotFinal, newest.number, r.Height)
		}
		has, err := holds(ctx, e, view, chain.Account{Address: o.Sweep.Address, Contract: o.Sweep.Contract})
		if err != nil {
			return r, err
		}
		return r, o.Sweep.Short(has)
	})
}

// rivalAt asks one endpoint about a transaction of the sender.
func rivalAt(ctx context.Context, e *rpc.Endpoint, o sweep.Outgoing, hash string, final chain.Header) (r sweep.Rival, err error) {
	found := false
	if r.Receipt, found, err = receiptOf(ctx, e, hash); err != nil {
		return r, err
	}
	if !found {
		return r, sweep.ErrUnmined
	}
	if r.Height > final.Height {
		return r, fmt.Errorf("%w: it is %d, and the newest final one is %d", sweep.ErrNotFinal, r.Height, final.Height)
	}
	b, err := numbered(ctx, e, final.Height, false)
	if err != nil {
		return r, err
	}
	if got := b.header().Hash; got != final.Hash {
		return r, fmt.Errorf("%w: block %d is %s, and not %s", sweep.ErrDiffer, final.Height, got, final.Hash)
	}
	sender, err := addressOf(o.Sender)
	if err != nil {
		return r, err
	}
	answer, err := e.Post(ctx, "/wallet/getblock", map[string]any{"id_or_num": strconv.FormatInt(r.Height, 10), "detail": true})
	if err != nil {
		return r, err
	}
	held, err := decoded[signedBlock](answer)
	if err != nil {
		return r, err
	}
	for _, tx := range held.Transactions {
		if tx.ID == hash && len(tx.Raw.Contract) == 1 && tx.Raw.Contract[0].Parameter.Value.Owner == sender {
			return r, nil
		}
	}
	return r, fmt.Errorf("%w: it is not from %s", sweep.ErrBeside, o.Sender)
}

// signedBlock is a block with the senders of its transactions.
type signedBlock struct {
	Transactions []struct {
		ID  string `json:"txID"`
		Raw struct {
			Contract []struct {
				Parameter struct {
					Value struct {
						Owner string `json:"owner_address"`
					} `json:"value"`
				} `json:"parameter"`
			} `json:"contract"`
		} `json:"raw_data"`
	} `json:"transactions"`
}
