//go:build integration && long

package e2e

import (
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestLiveContract: coin that a contract sends is not seen without traces, and the product says so; the transaction
// that the payer names settles the payment, once, and gives nothing to anybody else who names it.
func TestLiveContract(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := liveStack(t, n)
	c, _ := liveMerchant(t, s)
	coin := api.Object{"network": "ethereum", "crypto": "ETH", "fiatAmount": 100000}
	made := create(t, c, transfer(coin))
	ref, address := made.Text(t, "payment.reference"), made.Text(t, "payment.depositAddress")
	public := c.With("")
	checkout := func(ref string) *api.Answer {
		return public.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(t, http.StatusOK)
	}
	name := func(ref, tx string, status int, code string) {
		t.Helper()
		a := public.Call(t, http.MethodPost, "/v1/checkout/"+ref+"/transaction", api.Object{"txHash": tx}, bad).Want(t, status)
		if code != "" && a.Text(t, "error.code") != code {
			t.Errorf("refused with %s, want %s", a.Body, code)
		}
	}

	api.Eventually(t, settle, "the product to say that it does not see contracts", func() bool {
		for i := range public.Call(t, http.MethodGet, "/v1/networks", nil).Want(t, http.StatusOK).Len(t, "networks") {
			a := public.Call(t, http.MethodGet, "/v1/networks", nil)
			if at := fmt.Sprintf("networks.%d.", i); a.Text(t, at+"network") == "ethereum" {
				coin, _ := a.At(at + "cryptos.0.seesContractTransfers")
				token, _ := a.At(at + "cryptos.1.seesContractTransfers")
				return coin == false && token == true
			}
		}
		return false
	})
	if takes, _ := checkout(ref).At("payment.takesTransactionHash"); takes != true {
		t.Errorf("the checkout says %s", checkout(ref).Body)
	}

	owed := new(big.Rat).Mul(made.Number(t, "payment.cryptoAmount"), new(big.Rat).SetInt64(1_000_000_000_000_000_000))
	n.pay(t, "", address, "1") // a first balance costs more gas than the node gives a batch; so little is no payment
	n.mine(t, 1)
	hash := n.payAll(t, address, owed.Num().String(), "0x00000000000000000000000000000000000000aa", "1")
	n.mine(t, 3)
	awaitPayment(t, c, ref, "the block of the contract scanned", func(a *api.Answer) bool {
		return a.Len(t, "payment.transfers") == 1 && a.Number(t, "payment.transfers.0.confirmations").Cmp(api.Rat("4")) >= 0
	})
	if a := get(t, c, ref); a.Text(t, "payment.status") != "pending" {
		t.Fatalf("seen without traces: %s", a.Body)
	}

	other := create(t, c, transfer(coin)).Text(t, "payment.reference")
	token := create(t, c, transfer(api.Object{"network": "ethereum", "fiatAmount": 100000})).Text(t, "payment.reference")
	name(ref, "nonsense", http.StatusBadRequest, "validation_failed")
	name(ref, hash[:64], http.StatusBadRequest, "validation_failed")
	name("CW-ABCDEFGHJKMN", hash, http.StatusNotFound, "payment_not_found")
	name(token, hash, http.StatusBadRequest, "hint_not_needed")
	name(other, hash, http.StatusOK, "")
	name(ref, strings.ToUpper(hash[2:]), http.StatusBadRequest, "validation_failed")
	name(ref, "0x"+strings.ToUpper(hash[2:]), http.StatusOK, "")
	name(ref, hash, http.StatusOK, "")
	awaitStatus(t, c, ref, "confirming")
	n.mine(t, 80)
	settled := awaitStatus(t, c, ref, "settled")
	if settled.Len(t, "payment.transfers") != 2 || settled.Text(t, "payment.txHash") == "" {
		t.Errorf("settled: %s", settled.Body)
	}
	paidOnce(t, s, ref)

	api.Eventually(t, settle, "the look for the other payment to find nothing", func() bool {
		return count(t, s, "wallets", `SELECT count(*) FROM hints WHERE state = 'nothing' AND tx_hash = $1`, hash) == 1
	})
	if a := get(t, c, other); a.Text(t, "payment.status") != "pending" || a.Number(t, "payment.receivedAmount").Sign() != 0 {
		t.Errorf("the other payment got money: %s", a.Body)
	}
	for i := range 4 {
		name(other, fmt.Sprintf("0x%064x", i), http.StatusOK, "")
	}
	name(other, fmt.Sprintf("0x%064x", 9), http.StatusConflict, "too_many_transactions")
	name(other, hash, http.StatusOK, "")
	if got := count(t, s, "payments", `SELECT count(*) FROM payment_transactions`); got != 6 {
		t.Errorf("%d named transactions are kept, want 6", got)
	}
}

// payAll has a contract pay several addresses, pairs of address and amount, in one transaction, which waits for a
// block.
func (n *node) payAll(t testing.TB, pairs ...string) string {
	t.Helper()
	var payments []map[string]string
	for i := 0; i < len(pairs); i += 2 {
		payments = append(payments, map[string]string{"to": pairs[i], "amount": pairs[i+1]})
	}
	var sent struct {
		TxHash string `json:"txHash"`
	}
	n.control(t, "/transfer", map[string]any{"token": false, "payments": payments}, &sent)
	return sent.TxHash
}
