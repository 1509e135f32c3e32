package evm

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"causeway.internal/services/wallets/internal/chain"
)

const ours = "9858effd232b4033e47d90003d41ec34ecaeda94"

// act is a transaction with call data, as a node writes it.
func act(id int, from, to, value, input string) string {
	return fmt.Sprintf(`{"hash":%q,"from":%q,"to":%q,"value":%q,"input":%q,"type":"0x2"}`, h32(id), from, strings.ToLower(to), value, input)
}

// paidReceipt is a receipt with a cost: 10 gas at 3 wei.
func paidReceipt(id, status int) string {
	return fmt.Sprintf(`{"transactionHash":%q,"blockNumber":"0x5","blockHash":%q,"status":"0x%x","gasUsed":"0xa","effectiveGasPrice":"0x3","logs":[]}`, h32(id), h32(105), status)
}

// contractPays is a node whose block 5 holds transactions, with the address's balances before and after; a negative
// balance means that it keeps none.
func contractPays(t *testing.T, before, after int64, failed []int, txs ...string) *fake {
	t.Helper()
	f := newFake(t)
	block := blockJSON(5, 105, 104, "", txs...)
	f.set("eth_getBlockByNumber 0x5", strings.Replace(blockJSON(5, 105, 104, ""), `"withdrawals"`, `"uncle"`, 1))
	f.set("eth_getBlockByHash "+h32(105), block)
	for id := range 40 {
		status := 1
		if slices.Contains(failed, id) {
			status = 0
		}
		f.set("eth_getTransactionReceipt "+h32(id), paidReceipt(id, status))
	}
	f.set("eth_getTransactionReceipt "+h32(99), "null")
	if after >= 0 {
		f.set("eth_getBalance map[blockHash:"+h32(104)+"]", fmt.Sprintf(`"0x%x"`, before))
		f.set("eth_getBalance map[blockHash:"+h32(105)+"]", fmt.Sprintf(`"0x%x"`, after))
	}
	return f
}

func TestEffect(t *testing.T) {
	key, err := hex.DecodeString(ours)
	if err != nil {
		t.Fatal(err)
	}
	names := "0xa9059cbb" + strings.Repeat("0", 24) + ours + strings.Repeat("0", 64)
	const safe = "0x00000000000000000000000000000000000000cc"
	pays := act(1, payer, safe, "0x0", names)
	for name, c := range map[string]struct {
		tx            int
		before, after int64
		failed        []int
		txs           []string
		want          chain.Effect
		err           error
	}{
		"a contract pays":                 {txs: []string{pays}, before: 7, after: 107, want: chain.Effect{Amount: big.NewInt(100)}},
		"and so does a plain transfer":    {txs: []string{pays, act(2, other, ourHex, "0x28", "0x")}, after: 140, want: chain.Effect{Amount: big.NewInt(100)}},
		"and one that fails":              {txs: []string{pays, act(2, other, ourHex, "0x28", "0x")}, failed: []int{2}, after: 100, want: chain.Effect{Amount: big.NewInt(100)}},
		"and we sweep a token":            {txs: []string{pays, act(2, ourHex, usdt, "0x0", "0x")}, before: 50, after: 120, want: chain.Effect{Amount: big.NewInt(100)}},
		"and we sweep the coin":           {txs: []string{act(2, ourHex, other, "0x14", "0x"), pays}, before: 50, after: 100, want: chain.Effect{Amount: big.NewInt(100)}},
		"and our sweep fails":             {txs: []string{act(2, ourHex, other, "0x14", "0x"), pays}, failed: []int{2}, before: 50, after: 120, want: chain.Effect{Amount: big.NewInt(100)}},
		"another one names the address":   {txs: []string{pays, act(2, other, safe, "0x0", names)}, after: 100, want: chain.Effect{Amount: big.NewInt(100), Doubt: "another transaction of the block names the address too"}},
		"another one that failed does":    {txs: []string{pays, act(2, other, safe, "0x0", names)}, failed: []int{2}, after: 100, want: chain.Effect{Amount: big.NewInt(100)}},
		"it does not name the address":    {txs: []string{act(1, payer, safe, "0x64", "0x1234")}, after: 100, want: chain.Effect{Amount: big.NewInt(100), Doubt: "the transaction does not name the address"}},
		"it names it and pays nothing":    {txs: []string{pays}, before: 9, after: 9, want: chain.Effect{Amount: big.NewInt(0)}},
		"it failed":                       {txs: []string{pays}, failed: []int{1}, after: 100, want: chain.Effect{Amount: big.NewInt(0), Failed: true}},
		"it is a plain transfer":          {txs: []string{act(1, payer, ourHex, "0x64", "0x")}, after: 100, want: chain.Effect{Amount: big.NewInt(0), Plain: true}},
		"it is our own":                   {txs: []string{act(1, ourHex, safe, "0x64", "0x")}, before: 200, want: chain.Effect{Amount: big.NewInt(0), Ours: true}},
		"a validator's withdrawal":        {txs: []string{pays}, after: 100, want: chain.Effect{Amount: big.NewInt(100), Doubt: "the block itself pays the address"}},
		"a transaction that nobody knows": {tx: 99, txs: []string{pays}, err: chain.ErrNoTransaction},
		"one that is not in its block":    {tx: 3, txs: []string{pays}, err: errors.New("the chain moved while it was read")},
		"a node without old balances":     {txs: []string{pays}, after: -1, err: chain.ErrNoState},
	} {
		t.Run(name, func(t *testing.T) {
			f := contractPays(t, c.before, c.after, c.failed, c.txs...)
			if strings.HasPrefix(c.want.Doubt, "the block itself") {
				f.set("eth_getBlockByHash "+h32(105), strings.Replace(blockJSON(5, 105, 104, "", c.txs...), `"amount":"0x2"`, `"amount":"0x2","address":"0x`+ours+`"`, 1))
			}
			d := newDriver(t, f.URL)
			got, err := d.Effect(t.Context(), h32(max(c.tx, 1)), key)
			if c.err != nil {
				if err == nil || (!errors.Is(err, c.err) && err.Error() != c.err.Error()) {
					t.Fatalf("read the effect: got %+v, %v, want %v", got, err, c.err)
				}
				if _, err := d.Header(t.Context(), 5); err != nil {
					t.Errorf("the endpoint is left because of what a payer named: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Height != 5 || got.Hash != h32(105) || got.Amount.Cmp(c.want.Amount) != 0 || got.Doubt != c.want.Doubt ||
				got.Failed != c.want.Failed || got.Plain != c.want.Plain || got.Ours != c.want.Ours {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if name == "a contract pays" && (len(got.Senders) != 2 || !strings.EqualFold(got.Senders[0], payer) || !strings.EqualFold(got.Senders[1], safe)) {
				t.Errorf("sent by %v", got.Senders)
			}
		})
	}
}

// A block in which very many transactions name the address goes to an operator, and costs no more calls than others.
func TestEffect_bounded(t *testing.T) {
	key, _ := hex.DecodeString(ours)
	var txs []string
	for id := range effectMost + 1 {
		txs = append(txs, act(id, payer, other, "0x0", "0x"+ours))
	}
	f := contractPays(t, 0, 100, nil, txs...)
	got, err := newDriver(t, f.URL).Effect(t.Context(), h32(1), key)
	if err != nil || got.Doubt != "too many transactions of the block are about the address" || f.count("eth_getTransactionReceipt") != 1 {
		t.Errorf("%+v, %v, %d receipts", got, err, f.count("eth_getTransactionReceipt"))
	}
}

// Where there are two endpoints, one alone cannot invent a payment by a contract.
func TestEffect_secondEndpoint(t *testing.T) {
	key, _ := hex.DecodeString(ours)
	pays := act(1, payer, other, "0x0", "0x"+ours)
	honest, liar, silent := contractPays(t, 0, 100, nil, pays), contractPays(t, 0, 900, nil, pays), contractPays(t, 0, -1, nil, pays)
	if got, err := newDriver(t, honest.URL, contractPays(t, 0, 100, nil, pays).URL).Effect(t.Context(), h32(1), key); err != nil || got.Amount.Int64() != 100 {
		t.Errorf("two that agree: %+v, %v", got, err)
	}
	for _, urls := range [][2]string{{honest.URL, liar.URL}, {liar.URL, honest.URL}, {honest.URL, silent.URL}} {
		if got, err := newDriver(t, urls[0], urls[1]).Effect(t.Context(), h32(1), key); err == nil {
			t.Errorf("believed %+v", got)
		}
	}
}
