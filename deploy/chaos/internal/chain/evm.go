package chain

import (
	"context"
	"fmt"
	"math/big"
	"strings"
)

// transferTopic is the event Transfer(address,address,uint256), and balanceOf the selector of balanceOf(address).
const (
	transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
	balanceOf     = "0x70a08231"
	wordDigits    = 64 // of an argument
	evmDigits     = 40 // of an address
)

func (s Subject) readEVM(ctx context.Context, r *reading) error {
	var head string
	if err := s.call(ctx, &head, "eth_blockNumber"); err != nil {
		return err
	}
	for n := int64(0); n <= hexadecimal(head).Int64(); n++ {
		var block struct {
			Transactions []struct{ Hash, From, To, Value string }
		}
		if err := s.call(ctx, &block, "eth_getBlockByNumber", fmt.Sprintf("0x%x", n), true); err != nil {
			return err
		}
		for _, tx := range block.Transactions {
			m := Move{Tx: tx.Hash, Asset: s.Coin, From: strings.ToLower(tx.From), To: strings.ToLower(tx.To), Units: hexadecimal(tx.Value)}
			if m.Units.Sign() == 0 || !r.known[m.From] && !r.known[m.To] {
				continue
			}
			var receipt struct{ Status string }
			if err := s.call(ctx, &receipt, "eth_getTransactionReceipt", tx.Hash); err != nil {
				return err
			}
			if receipt.Status == "0x1" {
				r.moved(m)
			}
		}
	}
	var logs []struct {
		Address, Data, TransactionHash string
		Topics                         []string
	}
	filter := map[string]any{"fromBlock": "0x0", "toBlock": "latest", "topics": []string{transferTopic}}
	if err := s.call(ctx, &logs, "eth_getLogs", filter); err != nil {
		return err
	}
	for _, l := range logs {
		if len(l.Topics) == 3 {
			r.moved(Move{
				Tx: l.TransactionHash, Asset: s.symbol(l.Address), From: evmAddress(l.Topics[1]), To: evmAddress(l.Topics[2]), Units: hexadecimal(l.Data),
			})
		}
	}
	return s.balancesEVM(ctx, r)
}

func (s Subject) balancesEVM(ctx context.Context, r *reading) error {
	for address := range r.touched {
		var coins string
		if err := s.call(ctx, &coins, "eth_getBalance", address, "latest"); err != nil {
			return err
		}
		r.holds(address, s.Coin, hexadecimal(coins))
		for symbol, contract := range s.Tokens {
			var tokens string
			query := map[string]string{"to": contract, "data": balanceOf + word(address[2:])}
			if err := s.call(ctx, &tokens, "eth_call", query, "latest"); err != nil {
				return err
			}
			r.holds(address, symbol, hexadecimal(tokens))
		}
	}
	return nil
}

// word fills hexadecimal digits up to an argument.
func word(digits string) string {
	return strings.Repeat("0", max(0, wordDigits-len(digits))) + digits
}

// evmAddress is the address in a word.
func evmAddress(word string) string {
	return "0x" + strings.ToLower(word[max(0, len(word)-evmDigits):])
}

// sum adds amounts, of which the first may be nil.
func sum(a, b *big.Int) *big.Int {
	if a == nil {
		a = new(big.Int)
	}
	return new(big.Int).Add(a, b)
}
