package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
)

// satoshi is how many make a bitcoin.
var satoshi = big.NewRat(100_000_000, 1)

// output is money that a transaction left at an address.
type output struct {
	address string
	units   *big.Int
}

// readBitcoin follows every output of the chain. A transaction that spends an output of a known address moves each of
// its own outputs from there.
func (s Subject) readBitcoin(ctx context.Context, r *reading) error {
	var head int64
	if err := s.call(ctx, &head, "getblockcount"); err != nil {
		return err
	}
	unspent := map[string]output{}
	for n := int64(1); n <= head; n++ {
		var hash string
		if err := s.call(ctx, &hash, "getblockhash", n); err != nil {
			return err
		}
		var block struct {
			RawTx, Tx []bitcoinTx
		}
		if err := s.call(ctx, &block, "getblock", hash, 2); err != nil {
			return err
		}
		for _, tx := range append(block.Tx, block.RawTx...) {
			tx.follow(s.Coin, unspent, r)
		}
	}
	for address := range r.touched {
		r.holds(address, s.Coin, new(big.Int))
	}
	for _, o := range unspent {
		if r.known[o.address] {
			r.holds(o.address, s.Coin, sum(r.Balances[o.address][s.Coin], o.units))
		}
	}
	return nil
}

type bitcoinTx struct {
	TxID string
	Vin  []struct {
		TxID string
		Vout int
	}
	Vout []struct {
		N            int
		Value        json.Number
		ScriptPubKey struct {
			Address   string
			Addresses []string
		}
	}
}

// follow spends the inputs of a transaction and keeps its outputs.
func (tx bitcoinTx) follow(coin string, unspent map[string]output, r *reading) {
	senders := map[string]bool{"": true}
	for _, in := range tx.Vin {
		key := fmt.Sprintf("%s:%d", in.TxID, in.Vout)
		if spent, there := unspent[key]; there && r.known[spent.address] {
			senders[spent.address] = true
		}
		delete(unspent, key)
	}
	for _, out := range tx.Vout {
		value, ok := new(big.Rat).SetString(out.Value.String())
		if !ok {
			continue
		}
		to := out.ScriptPubKey.Address
		if len(out.ScriptPubKey.Addresses) > 0 {
			to = out.ScriptPubKey.Addresses[0]
		}
		o := output{to, new(big.Int).Set(value.Mul(value, satoshi).Num())}
		unspent[fmt.Sprintf("%s:%d", tx.TxID, out.N)] = o
		for from := range senders {
			r.moved(Move{Tx: tx.TxID, Asset: coin, From: from, To: to, Units: o.units})
		}
	}
}
