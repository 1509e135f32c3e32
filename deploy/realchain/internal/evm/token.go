package evm

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"causeway.internal/deploy/realchain/internal/node"
)

// The token's deployment bytecode and interface; source, compiler and how to rebuild: testdata/README.md.
//
//go:embed testdata/TestToken.hex
var tokenHex string

//go:embed testdata/TestToken.abi.json
var tokenABI []byte

var tokenCode = sync.OnceValues(func() ([]byte, error) { return hex.DecodeString(strings.TrimSpace(tokenHex)) })

var tokenInterface = sync.OnceValues(func() (abi.ABI, error) { return abi.JSON(bytes.NewReader(tokenABI)) })

// Names under which transfers name the tokens. FAKE calls itself USDT on chain and must never be credited.
const (
	usdt = "USDT"
	usdc = "USDC"
	fake = "FAKE"
)

// wholeDigits: each account holds 10^12 whole tokens.
const wholeDigits = 12

// deployTokens deploys the three tokens from account 0 in one block. The addresses depend on nothing but the account
// and its nonce, so they are the same on every run.
func (c *chain) deployTokens(ctx context.Context, decimals int64) error {
	code, err := tokenCode()
	if err != nil {
		return fmt.Errorf("reading the token's bytecode: %w", err)
	}
	contract, err := tokenInterface()
	if err != nil {
		return fmt.Errorf("reading the token's interface: %w", err)
	}
	holders := make([]common.Address, len(c.accounts))
	for i, a := range c.accounts {
		holders[i] = a.address
	}
	each := new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals+wholeDigits), nil)
	owner := c.accounts[0]
	for nonce, name := range []string{usdt, usdc, fake} {
		symbol := name
		if name == fake {
			symbol = usdt
		}
		args, err := contract.Pack("", "Test "+symbol, symbol, uint8(decimals), holders, each) //nolint:gosec // 0..18
		if err != nil {
			return fmt.Errorf("encoding the constructor of %s: %w", name, err)
		}
		tx, err := c.sign(owner, types.DynamicFeeTx{
			Nonce: uint64(nonce), Value: new(big.Int), Data: append(bytes.Clone(code), args...), Gas: 5_000_000, GasTipCap: big.NewInt(transferTip), //nolint:gosec // 0..2
		})
		if err != nil {
			return err
		}
		if err := c.send(ctx, tx); err != nil {
			return err
		}
		c.tokens[name] = crypto.CreateAddress(owner.address, uint64(nonce)) //nolint:gosec // 0..2
	}
	// The pool sorts what it is sent in the background, so the first block may come too early for one of the three.
	var missing error
	for range deployBlocks {
		if _, err := c.mine(ctx, 1); err != nil {
			return err
		}
		if missing = c.deployed(ctx); missing == nil {
			return nil
		}
	}
	return missing
}

// deployBlocks bounds how many blocks the deployment may take.
const deployBlocks = 20

// deployed says which token has no code yet.
func (c *chain) deployed(ctx context.Context) error {
	for name, address := range c.tokens {
		code, err := c.backend.Client().CodeAt(ctx, address, nil)
		if err != nil || len(code) == 0 {
			return errors.Join(fmt.Errorf("deploying %s: no code at %s", name, address), err)
		}
	}
	return nil
}

func parse(p node.Payment) (common.Address, *big.Int, error) {
	if !common.IsHexAddress(p.To) {
		return common.Address{}, nil, node.Refusal("to must be an address, got %q", p.To)
	}
	amount, ok := new(big.Int).SetString(p.Amount, 10)
	if !ok || amount.Sign() < 0 || amount.BitLen() > 256 {
		return common.Address{}, nil, node.Refusal("amount must be base units, got %q", p.Amount)
	}
	return common.HexToAddress(p.To), amount, nil
}

// transferData is the target, value and call data that move payments in one transaction: a plain transfer for one
// payment, a contract call that emits several logs (or makes several internal transfers) for more.
func (c *chain) transferData(token string, payments []node.Payment) (to common.Address, value *big.Int, data []byte, err error) {
	if len(payments) == 0 || len(payments) > 100 {
		return to, nil, nil, node.Refusal("1..100 payments in one transaction")
	}
	receivers, amounts, sum := make([]common.Address, len(payments)), make([]*big.Int, len(payments)), new(big.Int)
	for i, p := range payments {
		if receivers[i], amounts[i], err = parse(p); err != nil {
			return to, nil, nil, err
		}
		sum.Add(sum, amounts[i])
	}
	contract, err := tokenInterface()
	if err != nil {
		return to, nil, nil, fmt.Errorf("reading the token's interface: %w", err)
	}
	if token == "" {
		if len(payments) == 1 {
			return receivers[0], sum, nil, nil
		}
		data, err = contract.Pack("payNative", receivers, amounts)
		return c.tokens[usdt], sum, data, err
	}
	address, known := c.tokens[token]
	if !known {
		return to, nil, nil, node.Refusal("unknown token %q", token)
	}
	if len(payments) == 1 {
		data, err = contract.Pack("transfer", receivers[0], amounts[0])
	} else {
		data, err = contract.Pack("batchTransfer", receivers, amounts)
	}
	return address, new(big.Int), data, err
}

// transfer signs and sends one transaction; it waits in the pool until a block is mined.
func (c *chain) transfer(ctx context.Context, token string, payments []node.Payment, tip int64) (*types.Transaction, error) {
	to, value, data, err := c.transferData(token, payments)
	if err != nil {
		return nil, err
	}
	from, nonce, err := c.idleAccount(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := c.sign(from, types.DynamicFeeTx{
		Nonce: nonce, To: &to, Value: value, Data: data, Gas: transferGas + uint64(len(payments))*60_000, GasTipCap: big.NewInt(tip),
	})
	if err != nil {
		return nil, err
	}
	return tx, c.send(ctx, tx)
}
