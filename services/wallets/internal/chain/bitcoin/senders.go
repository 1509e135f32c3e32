package bitcoin

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"causeway.internal/libs/address"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// parentsMost bounds the previous transactions that are read to learn the senders. A payer with more inputs is judged
// by those.
const parentsMost = 50

// errRefused means that no endpoint returns a transaction: none has an index of them, or serves the method.
var errRefused = errors.New("no endpoint returns the transaction")

// senders are the addresses of a transaction's inputs. Each previous transaction is requested and proved by its id. A
// node without an index of transactions refuses that; then the block is requested with its previous outputs, which
// Bitcoin Core adds without a proof. Where neither is served the senders are unknown, and the result is empty. A
// transaction in no block has "" for a block. An error means that no endpoint answered, so the senders may become known
// later.
func (d *Driver) senders(ctx context.Context, tx transaction, block string) ([]string, error) {
	scripts, err := d.byParents(ctx, tx)
	if errors.Is(err, errRefused) && block != "" {
		var more [][]byte
		if more, err = d.byBlock(ctx, tx, block); err == nil && len(more) > 0 {
			scripts = more
		}
	}
	if err != nil && !errors.Is(err, errRefused) {
		return nil, fmt.Errorf("asking who sent %s: %w", tx.id, err)
	}
	var out []string
	for _, script := range scripts {
		if text, ok := address.OfScript(d.net, script); ok && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out, nil
}

// byParents requests the transactions whose outputs are spent. It returns errRefused and the senders so far when an
// endpoint refuses one: it would refuse the others too.
func (d *Driver) byParents(ctx context.Context, tx transaction) (scripts [][]byte, err error) {
	known := map[digest]transaction{}
	for _, from := range tx.inputs {
		parent, ok := known[from.tx]
		if !ok {
			if len(known) == parentsMost {
				break
			}
			if parent, err = d.tx(ctx, from.tx); err != nil {
				return scripts, err
			}
			known[from.tx] = parent
		}
		if int64(from.vout) < int64(len(parent.outputs)) {
			scripts = append(scripts, parent.outputs[from.vout].script)
		}
	}
	return scripts, nil
}

// tx requests a transaction by its id, which proves it.
func (d *Driver) tx(ctx context.Context, id digest) (tx transaction, err error) {
	err = d.ask(ctx, func(e *rpc.Endpoint) error {
		result, err := e.Call(ctx, "getrawtransaction", id.String(), 0)
		if err != nil {
			return err
		}
		raw, err := unhex(result)
		if err == nil {
			tx, err = parseTx(raw, id)
		}
		if err != nil {
			return fmt.Errorf("transaction %s at endpoint %s: %w", id, e.Name, err)
		}
		return nil
	})
	return tx, err
}

// ask is Read for calls that an endpoint may refuse without fault: then it asks another one, and if that refuses too
// the error is errRefused.
func (d *Driver) ask(ctx context.Context, f func(e *rpc.Endpoint) error) error {
	var refused error
	err := d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		err := f(e)
		if other := d.pool.Other(ctx, e); rpc.Refused(err) && other != nil {
			err = f(other)
		}
		if rpc.Refused(err) {
			refused = fmt.Errorf("%w: %w", errRefused, err)
			return nil
		}
		return err
	})
	return errors.Join(err, refused)
}

// spending is a block as Bitcoin Core 23 and later write it with verbosity 3.
type spending struct {
	Tx []struct {
		TxID string
		Vin  []struct {
			TxID    string
			Vout    uint32
			Prevout struct{ ScriptPubKey struct{ Hex string } }
		}
	}
}

// byBlock finds the scripts of a transaction's previous outputs in its block. A node that answers in another form does
// not have them.
func (d *Driver) byBlock(ctx context.Context, tx transaction, block string) (scripts [][]byte, err error) {
	answer, err := d.spending(ctx, block)
	if err != nil {
		return nil, err
	}
	for _, each := range answer.Tx {
		if each.TxID != tx.id.String() {
			continue
		}
		for _, in := range each.Vin {
			from := in.TxID + ":" + strconv.FormatUint(uint64(in.Vout), 10)
			spent := slices.ContainsFunc(tx.inputs, func(o outpoint) bool { return o.String() == from })
			script, err := hex.DecodeString(in.Prevout.ScriptPubKey.Hex)
			if spent && err == nil && len(script) > 0 {
				scripts = append(scripts, script)
			}
		}
	}
	return scripts, nil
}

// spending requests a block with its previous outputs, tens of megabytes, once for all of the block's deposits.
func (d *Driver) spending(ctx context.Context, block string) (answer spending, err error) {
	d.spentMu.Lock()
	defer d.spentMu.Unlock()
	if d.spentBlock == block {
		return d.spent, nil
	}
	err = d.ask(ctx, func(e *rpc.Endpoint) error {
		result, err := e.Call(ctx, "getblock", block, 3)
		if err == nil && json.Unmarshal(result, &answer) != nil {
			answer = spending{}
		}
		return err
	})
	if err == nil {
		d.spentBlock, d.spent = block, answer
	}
	return answer, err
}
