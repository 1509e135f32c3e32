package chain

import (
	"context"
	"math/big"
	"strings"
)

// tronSpan is how many blocks one request of a node returns.
const tronSpan = 100

// tronTx is what we read of a transaction.
type tronTx struct {
	TxID string `json:"txID"`
	Ret  []struct {
		ContractRet string `json:"contractRet"`
	} `json:"ret"`
	RawData struct {
		Contract []struct {
			Type      string `json:"type"`
			Parameter struct {
				Value struct {
					Owner  string `json:"owner_address"`
					To     string `json:"to_address"`
					Amount int64  `json:"amount"`
				} `json:"value"`
			} `json:"parameter"`
		} `json:"contract"`
	} `json:"raw_data"`
}

type tronBlock struct {
	Header struct {
		Raw struct {
			Number int64 `json:"number"`
		} `json:"raw_data"`
	} `json:"block_header"`
	Transactions []tronTx `json:"transactions"`
}

func (s Subject) readTron(ctx context.Context, r *reading) error {
	var head tronBlock
	if err := s.tron(ctx, "getnowblock", nil, &head); err != nil {
		return err
	}
	for from := int64(0); from <= head.Header.Raw.Number; from += tronSpan {
		var span struct {
			Block []tronBlock `json:"block"`
		}
		if err := s.tron(ctx, "getblockbylimitnext", map[string]any{"startNum": from, "endNum": from + tronSpan}, &span); err != nil {
			return err
		}
		for _, b := range span.Block {
			if err := s.followTron(ctx, b, r); err != nil {
				return err
			}
		}
	}
	return s.balancesTron(ctx, r)
}

// followTron notes the moves of a block.
func (s Subject) followTron(ctx context.Context, b tronBlock, r *reading) error {
	calls := false
	for _, tx := range b.Transactions {
		for _, c := range tx.RawData.Contract {
			v := c.Parameter.Value
			if c.Type == "TransferContract" && len(tx.Ret) > 0 && tx.Ret[0].ContractRet == "SUCCESS" {
				r.moved(Move{Tx: tx.TxID, Asset: s.Coin, From: v.Owner, To: v.To, Units: big.NewInt(v.Amount)})
			}
			calls = calls || c.Type == "TriggerSmartContract"
		}
	}
	if !calls {
		return nil
	}
	var infos []struct {
		ID  string `json:"id"`
		Log []struct {
			Address string   `json:"address"`
			Topics  []string `json:"topics"`
			Data    string   `json:"data"`
		} `json:"log"`
		Internal []struct {
			Caller string `json:"caller_address"`
			To     string `json:"transferTo_address"`
			Values []struct {
				Value int64 `json:"callValue"`
			} `json:"callValueInfo"`
		} `json:"internal_transactions"`
	}
	if err := s.tron(ctx, "gettransactioninfobyblocknum", map[string]any{"num": b.Header.Raw.Number}, &infos); err != nil {
		return err
	}
	contracts := map[string]string{} // a log names its contract without the first byte
	for symbol, at := range s.Tokens {
		number, err := tronHex(at)
		if err != nil {
			return err
		}
		contracts[number[2:]] = symbol
	}
	for _, i := range infos {
		for _, l := range i.Log {
			if len(l.Topics) != 3 || l.Topics[0] != transferTopic[2:] {
				continue
			}
			asset := contracts[l.Address]
			if asset == "" {
				asset = l.Address
			}
			from, to := "41"+strings.TrimPrefix(evmAddress(l.Topics[1]), "0x"), "41"+strings.TrimPrefix(evmAddress(l.Topics[2]), "0x")
			r.moved(Move{Tx: i.ID, Asset: asset, From: from, To: to, Units: hexadecimal(l.Data)})
		}
		for _, m := range i.Internal {
			for _, v := range m.Values {
				r.moved(Move{Tx: i.ID, Asset: s.Coin, From: m.Caller, To: m.To, Units: big.NewInt(v.Value)})
			}
		}
	}
	return nil
}

func (s Subject) balancesTron(ctx context.Context, r *reading) error {
	for number := range r.touched {
		var account struct {
			Balance int64 `json:"balance"`
		}
		if err := s.tron(ctx, "getaccount", map[string]any{"address": number}, &account); err != nil {
			return err
		}
		r.holds(number, s.Coin, big.NewInt(account.Balance))
		for symbol, at := range s.Tokens {
			contract, err := tronHex(at)
			if err != nil {
				return err
			}
			var told struct {
				Result []string `json:"constant_result"`
			}
			query := map[string]any{
				"owner_address": number, "contract_address": contract, "function_selector": "balanceOf(address)", "parameter": word(number[2:]),
			}
			if err := s.tron(ctx, "triggerconstantcontract", query, &told); err != nil {
				return err
			}
			held := new(big.Int)
			if len(told.Result) == 1 {
				held = hexadecimal(told.Result[0])
			}
			r.holds(number, symbol, held)
		}
	}
	return nil
}

func (s Subject) tron(ctx context.Context, method string, body map[string]any, answer any) error {
	return Ask(ctx, s.URL+"/wallet/"+method, body, answer)
}
