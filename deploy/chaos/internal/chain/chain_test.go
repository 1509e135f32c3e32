package chain

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// shown writes moves and balances in an order of their own.
func shown(r Reading) string {
	var lines []string
	for _, m := range r.Moves {
		line := fmt.Sprintf("%s %s %s>%s %s", m.Tx, m.Asset, m.From, m.To, m.Units)
		if m.Rent {
			line += " of rent"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, address := range slices.Sorted(maps.Keys(r.Balances)) {
		for _, asset := range slices.Sorted(maps.Keys(r.Balances[address])) {
			lines = append(lines, fmt.Sprintf("%s has %s %s", address, r.Balances[address][asset], asset))
		}
	}
	return strings.Join(lines, "; ")
}

// node answers calls of JSON-RPC, by method and parameters.
func node(t *testing.T, answers map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Method string
			Params json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		name := call.Method + string(call.Params)
		for key, answer := range answers {
			if strings.HasPrefix(name, key) {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, answer)
				return
			}
		}
		t.Errorf("the node is asked for %s", name)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Money that leaves a known address is a move, in whichever way; failed transactions move nothing.
func TestRead_evm(t *testing.T) {
	topic := func(a string) string { return "0x" + strings.Repeat("0", 24) + a[2:] }
	station, deposit, treasury := "0x"+strings.Repeat("a", 40), "0x"+strings.Repeat("d", 40), "0x"+strings.Repeat("7", 40)
	url := node(t, map[string]string{
		"eth_blockNumber":                `"0x1"`,
		`eth_getBlockByNumber["0x0"`:     `{"transactions":[]}`,
		`eth_getBlockByNumber["0x1"`:     `{"transactions":[{"hash":"0x1","from":"` + "0x" + strings.ToUpper(station[2:]) + `","to":"` + deposit + `","value":"0x9"},{"hash":"0x2","from":"` + station + `","to":"` + deposit + `","value":"0x7"}]}`,
		`eth_getTransactionReceipt["0x1`: `{"status":"0x1"}`, `eth_getTransactionReceipt["0x2`: `{"status":"0x0"}`,
		"eth_getLogs":    `[{"address":"0xC0","transactionHash":"0x3","data":"0x19","topics":["` + transferTopic + `","` + topic(deposit) + `","` + topic(treasury) + `"]}]`,
		"eth_getBalance": `"0x5"`, "eth_call": `"0x6"`,
	})
	s := Subject{Family: "evm", URL: url, Coin: "ETH", Tokens: map[string]string{"USDT": "0xc0"}}
	got, err := s.Read(t.Context(), []string{station, deposit, "0x" + strings.Repeat("e", 40)})
	want := "0x1 ETH " + station + ">" + deposit + " 9; 0x3 USDT " + deposit + ">" + treasury + " 25; " +
		station + " has 5 ETH; " + station + " has 6 USDT; " + deposit + " has 5 ETH; " + deposit + " has 6 USDT"
	if text := shown(got); err != nil || text != want {
		t.Errorf("read the chain: got %s, %v, want %s", text, err, want)
	}
}

// A transaction that spends an output of a known address moves all its outputs from there, also to a thief.
func TestRead_bitcoin(t *testing.T) {
	tx := func(id, in, outs string) string {
		return `{"txid":"` + id + `","vin":[` + in + `],"vout":[` + outs + `]}`
	}
	out := func(n int, value, to string) string {
		return fmt.Sprintf(`{"n":%d,"value":%s,"scriptPubKey":{"addresses":[%q]}}`, n, value, to)
	}
	url := node(t, map[string]string{
		"getblockcount": "1", "getblockhash[1]": `"b"`,
		"getblock[": `{"tx":[` + tx("pays", `{"coinbase":"00"}`, out(0, "0.5", "ours")+","+out(1, "0.00000001", "ours")) + "," +
			tx("sweeps", `{"txid":"pays","vout":0}`, out(0, "0.4", "treasury")+","+out(1, "0.09999", "thief")) + `]}`,
	})
	got, err := Subject{Family: "bitcoin", URL: url, Coin: "BTC"}.Read(t.Context(), []string{"ours", "treasury"})
	want := "sweeps BTC ours>thief 9999000; sweeps BTC ours>treasury 40000000; ours has 1 BTC; treasury has 40000000 BTC"
	if text := shown(got); err != nil || text != want {
		t.Errorf("read the chain: got %s, %v, want %s", text, err, want)
	}
}

// In a transaction after which a known address has less, it has moved all that others have more. Coins in a token
// account that the transaction opened are rent.
func TestRead_solana(t *testing.T) {
	url := node(t, map[string]string{
		"getTokenAccountsByOwner": `{"value":[{"account":{"data":["` + base64.StdEncoding.EncodeToString(append(make([]byte, 64), 7, 0, 0, 0, 0, 0, 0, 0)) + `","base64"]}}]}`,
		"getSlot":                 "3", "getBlocks": "[3]", "getMultipleAccounts": `{"value":[{"lamports":900},{"lamports":900},{"lamports":900}]}`,
		"getBlock[": `{"transactions":[{"transaction":{"signatures":["p"],"message":{"accountKeys":["payer","atas"]}},"meta":{
			"preBalances":[90,0],"postBalances":[40,50],"preTokenBalances":[{"accountIndex":3,"mint":"M","owner":"payer","uiTokenAmount":{"amount":"30"}}],
			"postTokenBalances":[{"accountIndex":1,"mint":"M","owner":"deposit","uiTokenAmount":{"amount":"25"}},
				{"accountIndex":3,"mint":"M","owner":"payer","uiTokenAmount":{"amount":"5"}}]}},{"transaction":{"signatures":["s"],"message":{"accountKeys":["station","atas","atat","thief"]}},"meta":{
			"preBalances":[1000,50,0,0],"postBalances":[900,0,20,120],
			"preTokenBalances":[],
			"postTokenBalances":[{"accountIndex":2,"mint":"M","owner":"treasury","uiTokenAmount":{"amount":"25"}}]}},
			{"transaction":{"signatures":["r"],"message":{"accountKeys":["atar","atap"]}},"meta":{"preBalances":[50,50],"postBalances":[50,50],
			"preTokenBalances":[{"accountIndex":0,"mint":"M","owner":"refunds","uiTokenAmount":{"amount":"9"}}],
			"postTokenBalances":[{"accountIndex":0,"mint":"M","owner":"refunds","uiTokenAmount":{"amount":"5"}},
				{"accountIndex":1,"mint":"M","owner":"payer","uiTokenAmount":{"amount":"4"}}]}}]}`,
	})
	s := Subject{Family: "solana", URL: url, Coin: "SOL", Tokens: map[string]string{"USDC": "M"}}
	got, err := s.Read(t.Context(), []string{"station", "deposit", "refunds"})
	want := "r USDC refunds>payer 4; s SOL station>thief 120; s SOL station>treasury 20 of rent; s USDC deposit>treasury 25; deposit has 900 SOL; deposit has 7 USDC; refunds has 900 SOL; refunds has 7 USDC; station has 900 SOL; station has 7 USDC"
	if text := shown(got); err != nil || text != want {
		t.Errorf("read the chain: got %s, %v, want %s", text, err, want)
	}
}

func TestTronHex(t *testing.T) {
	got, err := tronHex("TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC")
	if err != nil || len(got) != 42 || !strings.HasPrefix(got, "41") {
		t.Errorf("write an address as nodes do: got %s, %v, want 21 bytes that begin with 41", got, err)
	}
	if _, err := tronHex("TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HD"); err == nil {
		t.Error("write an address with a wrong checksum: got no error")
	}
	if b, err := Base58("11111111111111111111111111111111"); err != nil || len(b) != 32 || new(big.Int).SetBytes(b).Sign() != 0 {
		t.Errorf("read the system program's address: got %x, %v, want 32 zeros", b, err)
	}
}
