package tron

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
)

// inner is the API's port, behind the front door.
type inner struct {
	url    string
	server *http.Server
}

func (i *inner) close() error {
	if i == nil {
		return nil
	}
	return i.server.Close()
}

// object is a JSON object. For an unknown object a node answers {} or [], never an error.
type object map[string]any

func (c *chain) serve() (*inner, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening the API's port: %w", err)
	}
	mux := http.NewServeMux()
	for _, view := range []string{"wallet", "walletsolidity"} {
		tip := c.head
		if view == "walletsolidity" {
			tip = c.solid
		}
		c.handle(mux, "/"+view+"/getnowblock", func(object) any { return tip().json(true) })
		c.handle(mux, "/"+view+"/getblock", func(r object) any { return c.block(r, tip().number) })
		c.handle(mux, "/"+view+"/getblockbynum", func(r object) any {
			return c.block(object{"id_or_num": fmt.Sprint(r["num"]), "detail": true}, tip().number)
		})
		c.handle(mux, "/"+view+"/getblockbylimitnext", func(r object) any { return c.span(r, tip().number) })
		c.handle(mux, "/"+view+"/gettransactioninfobyblocknum", func(r object) any { return c.infos(r, tip().number) })
		c.handle(mux, "/"+view+"/gettransactioninfobyid", func(r object) any { return c.info(r, tip().number) })
		c.handle(mux, "/"+view+"/getaccount", func(r object) any { return c.account(r, tip().number) })
		c.handle(mux, "/"+view+"/triggerconstantcontract", func(r object) any { return c.constant(r, tip().number) })
	}
	c.handle(mux, "/wallet/getaccountresource", c.resources)
	c.handle(mux, "/wallet/getcandelegatedmaxsize", c.lendable)
	c.handle(mux, "/wallet/getdelegatedresourcev2", c.lent)
	c.handle(mux, "/wallet/getchainparameters", c.parameters)
	c.handle(mux, "/wallet/broadcasthex", c.broadcastHex)
	i := &inner{url: "http://" + listener.Addr().String(), server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
	go func() { _ = i.server.Serve(listener) }()
	return i, nil
}

// handle answers a method. Bodies are JSON whatever the content type says, and may be empty.
func (c *chain) handle(mux *http.ServeMux, path string, f func(object) any) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		request := object{}
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
		decoder.UseNumber()
		if err := decoder.Decode(&request); err != nil && !errors.Is(err, io.EOF) {
			_ = json.NewEncoder(w).Encode(object{"Error": "class com.alibaba.fastjson.JSONException : " + err.Error()})
			return
		}
		c.mu.Lock()
		answer := f(request)
		c.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// json writes a block. Zero values are left out, as protobuf's JSON does.
func (b block) json(detail bool) object {
	raw := object{"txTrieRoot": strings.Repeat("0", 64), "parentHash": hex.EncodeToString(b.parent), "version": 30}
	if b.number > 0 {
		raw["number"], raw["timestamp"] = b.number, b.time
		raw["witness_address"] = hex.EncodeToString(tokenAddress("witness"))
	}
	out := object{"blockID": hex.EncodeToString(b.id), "block_header": object{"raw_data": raw, "witness_signature": strings.Repeat("0", 130)}}
	if detail && len(b.txs) > 0 {
		var list []object
		for _, t := range b.txs {
			list = append(list, t.json())
		}
		out["transactions"] = list
	}
	return out
}

func (t *tx) json() object {
	value := object{"owner_address": hex.EncodeToString(t.data.Owner)}
	if t.data.lends() {
		value["receiver_address"], value["balance"], value["resource"] = hex.EncodeToString(t.data.To), t.data.Amount, "ENERGY"
	} else if t.data.Type == transferContract {
		value["to_address"], value["amount"] = hex.EncodeToString(t.data.To), t.data.Amount
	} else {
		value["contract_address"], value["data"] = hex.EncodeToString(t.data.To), hex.EncodeToString(t.data.Data)
		if t.data.Amount > 0 {
			value["call_value"] = t.data.Amount
		}
	}
	contract := object{"parameter": object{"value": value, "type_url": typeURLs[t.data.Type]}, "type": typeNames[t.data.Type]}
	return object{
		"ret": []object{{"contractRet": t.result()}}, "signature": []string{hex.EncodeToString(t.signature)}, "txID": t.id,
		"raw_data": object{
			"contract": []object{contract}, "ref_block_bytes": hex.EncodeToString(t.data.RefBytes), "ref_block_hash": hex.EncodeToString(t.data.RefHash),
			"expiration": t.data.Expiration, "timestamp": t.data.Timestamp,
		},
		"raw_data_hex": hex.EncodeToString(t.raw),
	}
}

func (t *tx) result() string {
	switch {
	case t.outcome != "":
		return t.outcome
	case t.failed:
		return "REVERT"
	}
	return "SUCCESS"
}

func (t *tx) infoJSON(b block) object {
	out := object{"id": t.id, "blockNumber": b.number, "blockTimeStamp": b.time, "contractResult": []string{""}, "receipt": object{"net_usage": 345}}
	if t.fee > 0 {
		out["fee"] = t.fee
	}
	if t.data.Type != triggerContract {
		return out
	}
	out["contract_address"] = hex.EncodeToString(t.data.To)
	out["receipt"] = object{"energy_usage_total": max(t.energy, 64285), "net_usage": 345, "result": t.result()}
	if t.failed {
		out["result"] = "FAILED"
		return out
	}
	var logs, internal []object
	for _, m := range t.logs {
		topics := []string{hex.EncodeToString(crypto.Keccak256([]byte("Transfer(address,address,uint256)"))), hex.EncodeToString(word(m.from[1:])), hex.EncodeToString(word(m.to[1:]))}
		logs = append(logs, object{"address": hex.EncodeToString(m.contract[1:]), "topics": topics, "data": hex.EncodeToString(word(m.amount.Bytes()))})
	}
	for i, m := range t.internal {
		internal = append(internal, object{
			"hash": fmt.Sprintf("%064x", i), "caller_address": hex.EncodeToString(m.from), "transferTo_address": hex.EncodeToString(m.to),
			"callValueInfo": []object{{"callValue": m.amount.Int64()}}, "note": "63616c6c",
		})
	}
	if logs != nil {
		out["log"] = logs
	}
	if internal != nil {
		out["internal_transactions"] = internal
	}
	return out
}

func (c *chain) block(r object, tip int64) any {
	detail, _ := r["detail"].(bool)
	text := fmt.Sprint(r["id_or_num"])
	if n, ok := number(text); ok && len(text) < 64 {
		if n < 0 || n > tip {
			return object{}
		}
		return c.blocks[n].json(detail)
	}
	for _, b := range c.blocks[:tip+1] {
		if hex.EncodeToString(b.id) == text {
			return b.json(detail)
		}
	}
	return object{}
}

func (c *chain) span(r object, tip int64) any {
	from, okFrom := number(fmt.Sprint(r["startNum"]))
	to, okTo := number(fmt.Sprint(r["endNum"]))
	list := []object{}
	if !okFrom || !okTo || from < 0 || to-from > 100 {
		return object{}
	}
	for n := from; n < to && n <= tip; n++ {
		list = append(list, c.blocks[n].json(true))
	}
	return object{"block": list}
}

func (c *chain) infos(r object, tip int64) any {
	list := []object{}
	if n, ok := number(fmt.Sprint(r["num"])); ok && n >= 0 && n <= tip {
		for _, t := range c.blocks[n].txs {
			list = append(list, t.infoJSON(c.blocks[n]))
		}
	}
	return list
}

func (c *chain) info(r object, tip int64) any {
	for _, b := range c.blocks[:tip+1] {
		for _, t := range b.txs {
			if t.id == r["value"] {
				return t.infoJSON(b)
			}
		}
	}
	return object{}
}

// balance adds up what reached an address, what left it, and its fees; the payer's is never checked.
func (c *chain) balance(contract, who []byte, tip int64) *big.Int {
	sum := new(big.Int)
	for _, b := range c.blocks[:tip+1] {
		for _, t := range b.txs {
			if contract == nil && string(t.data.Owner) == string(who) {
				sum.Sub(sum, big.NewInt(t.fee))
			}
			if t.failed {
				continue
			}
			moves := append(append([]movement{}, t.logs...), t.internal...)
			if t.data.Type == transferContract {
				moves = append(moves, movement{from: t.data.Owner, to: t.data.To, amount: new(big.Int).SetUint64(t.data.Amount)})
			}
			for _, m := range moves {
				if string(m.contract) != string(contract) {
					continue
				}
				if string(m.to) == string(who) {
					sum.Add(sum, m.amount)
				}
				if string(m.from) == string(who) {
					sum.Sub(sum, m.amount)
				}
			}
		}
	}
	return sum
}

func (c *chain) account(r object, tip int64) any {
	who, err := hex.DecodeString(fmt.Sprint(r["address"]))
	if err != nil || len(who) != 21 {
		return object{}
	}
	if c.contract(who) {
		return object{"address": hex.EncodeToString(who), "type": "Contract"}
	}
	if tip == c.head().number {
		a := c.state.accounts[string(who)]
		switch {
		case a == nil:
			return object{} // nobody has sent it TRX
		case a.coins == 0:
			return object{"address": hex.EncodeToString(who)}
		}
		return object{"address": hex.EncodeToString(who), "balance": a.coins}
	}
	if sum := c.balance(nil, who, tip); sum.Sign() > 0 {
		return object{"address": hex.EncodeToString(who), "balance": sum.Int64()}
	}
	return object{}
}

// contract reports an address of a token's contract.
func (c *chain) contract(who []byte) bool {
	for _, at := range c.tokens {
		if bytes.Equal(at, who) {
			return true
		}
	}
	return false
}

func (c *chain) constant(r object, tip int64) any {
	contract, err := hex.DecodeString(fmt.Sprint(r["contract_address"]))
	known := false
	for _, at := range c.tokens {
		known = known || (err == nil && string(at) == string(contract))
	}
	parameter, _ := hex.DecodeString(fmt.Sprint(r["parameter"]))
	selector := fmt.Sprint(r["function_selector"])
	if data, _ := hex.DecodeString(fmt.Sprint(r["data"])); known && len(data) >= 4 && r["data"] != nil {
		switch hex.EncodeToString(data[:4]) {
		case balanceSelector:
			selector, parameter = "balanceOf(address)", data[4:]
		case transferSelector:
			return c.estimate(r, contract, data)
		}
	}
	var value *big.Int
	switch {
	case known && selector == "decimals()":
		value = big.NewInt(6)
	case known && selector == "balanceOf(address)" && len(parameter) == 32:
		value = c.balance(contract, append([]byte{0x41}, parameter[12:]...), tip)
	default:
		return object{"result": object{"code": "CONTRACT_VALIDATE_ERROR", "message": hex.EncodeToString([]byte("Smart contract is not exist."))}}
	}
	return object{"result": object{"result": true}, "energy_used": 500, "constant_result": []string{hex.EncodeToString(word(value.Bytes()))}}
}

// estimate carries a token's transfer out without effect.
func (c *chain) estimate(r object, contract, data []byte) any {
	owner, err := hex.DecodeString(fmt.Sprint(r["owner_address"]))
	t := &tx{data: rawData{Type: triggerContract, Owner: owner, To: contract, Data: data}}
	t.run(c.tokens)
	if err != nil || t.failed || !c.state.covers(t) {
		return object{
			"result": object{"result": true, "message": ""}, "energy_used": 600, "constant_result": []string{""},
			"transaction": object{"ret": []object{{"ret": "FAILED"}}},
		}
	}
	return object{
		"result": object{"result": true}, "energy_used": c.state.needs(t), "constant_result": []string{hex.EncodeToString(word([]byte{1}))},
		"transaction": object{"ret": []object{{}}},
	}
}

func (c *chain) broadcastHex(r object) any {
	b, err := hex.DecodeString(fmt.Sprint(r["transaction"]))
	var raw, signature []byte
	if err == nil {
		raw, signature, err = unpack(b)
	}
	if err != nil {
		return object{"result": false, "code": "OTHER_ERROR", "message": err.Error()}
	}
	id, err := c.broadcast(raw, signature)
	if err == nil {
		return object{"result": true, "code": "SUCCESS", "message": "", "txid": id}
	}
	code := "CONTRACT_VALIDATE_ERROR"
	for _, known := range []error{errExpired, errTapos, errDuplicate, errBandwidth} {
		if errors.Is(err, known) {
			code = known.Error()
		}
	}
	return object{"result": false, "code": code, "message": err.Error()}
}
