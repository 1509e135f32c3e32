//go:build integration

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

func claimPath(ref string) string { return "/v1/payments/gifts/" + ref + "/claim/confirm" }

func account(number string) api.Object {
	return api.Object{"receiver": api.Object{"bankCode": "058", "accountNumber": number}}
}

// TestClaim: a funded gift is claimed without a key; the names are ours; the payout goes to that account.
func TestClaim(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	nobody := c.With("")
	hook, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, gift(api.Object{"callbackUrl": hook.URL(path)})).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "confirmed")
	body := account("0123456789")
	body["receiver"].(api.Object)["accountName"], body["receiver"].(api.Object)["bankName"] = "MALLORY", "Mallory's Bank"
	a := nobody.Call(t, http.MethodPost, claimPath(ref), body).Want(t, http.StatusOK)
	sameSet(t, "the answer", a.Keys(t, ""), "success", "message", "payment")
	sameSet(t, "the claimed payment", a.Keys(t, "payment"), "reference", "status", "receiver")
	sameSet(t, "the receiver", a.Keys(t, "payment.receiver"), "accountName", "accountNumber", "bankName")
	if a.Text(t, "message") != "Gift claimed successfully. Payout is being processed." || a.Text(t, "payment.status") != "settling" ||
		a.Text(t, "payment.receiver.accountNumber") != "0123456789" || a.Text(t, "payment.receiver.bankName") != "Guaranty Trust Bank" ||
		a.Text(t, "payment.receiver.accountName") == "MALLORY" || a.Text(t, "payment.receiver.accountName") == "" {
		t.Errorf("claimed: %s", a.Body)
	}
	settled := awaitStatus(t, c, ref, "settled")
	if got := settled.Text(t, "payment.receiver.accountNumber"); got != "******6789" {
		t.Errorf("the account is shown as %s", got)
	}
	awaitCallbacks(t, hook, path, "payment.pending", "payment.confirmed", "payment.settling", "payment.settled")
	clean(t, hook)
	paidOnce(t, s, ref)
	refuse(t, nobody, claimPath(ref), account("0123456789"), http.StatusBadRequest, "Gift has already been claimed")
	refuse(t, nobody, claimPath(ref), api.Object{}, http.StatusBadRequest, "Gift has already been claimed")
}

// TestClaimRefusals: docs/api-contract.md#fixed-texts and docs/api-contract.md#claim.
func TestClaimRefusals(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	nobody := c.With("")
	for _, ref := range []string{"CW-AAAAAAAAAAAA", "nonsense"} {
		refuse(t, nobody, claimPath(ref), account("0123456789"), http.StatusNotFound, "")
	}
	other := create(t, c, transfer(nil)).Text(t, "payment.reference")
	refuse(t, nobody, claimPath(other), account("0123456789"), http.StatusBadRequest, "Payment is not a gift")
	refuse(t, nobody, claimPath(other), api.Object{}, http.StatusBadRequest, "Payment is not a gift")

	ref := create(t, c, gift(nil)).Text(t, "payment.reference")
	for field, body := range map[string]api.Object{
		"receiver.bankCode":      {"receiver": api.Object{"accountNumber": "0123456789"}},
		"receiver.accountNumber": {"receiver": api.Object{"bankCode": "058"}},
	} {
		if a := refuse(t, nobody, claimPath(ref), body, http.StatusBadRequest, ""); !slices.Equal(a.FieldErrors(), []string{field}) {
			t.Errorf("without %s the error names %v", field, a.FieldErrors())
		}
	}
	for _, number := range []string{"12", "01234567890", "0000000001"} {
		if a := refuse(t, nobody, claimPath(ref), account(number), http.StatusBadRequest, ""); !slices.Contains(a.FieldErrors(), "receiver.accountNumber") {
			t.Errorf("account %s: the error names %v", number, a.FieldErrors())
		}
	}
	if down := nobody.Call(t, http.MethodPost, claimPath(ref), account("0000000002"), api.Once).Want(t, http.StatusServiceUnavailable); down.Header.Get("Retry-After") == "" {
		t.Error("a name service that is down has no Retry-After")
	}
	if get(t, c, ref).Text(t, "payment.status") != "pending" {
		t.Error("a refused claim changed the gift")
	}
	cancel(t, c, ref)
	refuse(t, nobody, claimPath(ref), account("0123456789"), http.StatusConflict, "Gift has been cancelled")
	ref = create(t, c, gift(nil)).Text(t, "payment.reference")
	expire(t, c, ref)
	refuse(t, nobody, claimPath(ref), account("0123456789"), http.StatusConflict, "Gift has expired")
}

// TestClaimBeforeFunding: settling at once, the exception says unfunded, and the payout leaves with the money.
func TestClaimBeforeFunding(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	ref := create(t, c, gift(nil)).Text(t, "payment.reference")
	c.With("").Call(t, http.MethodPost, claimPath(ref), account("0123456789")).Want(t, http.StatusOK)
	unfunded := get(t, c, ref)
	if unfunded.Text(t, "payment.status") != "settling" || exception(unfunded) != "unfunded" {
		t.Errorf("claimed before it is funded: %s", unfunded.Body)
	}
	deposit(t, c, ref, nil)
	if settled := awaitStatus(t, c, ref, "settled"); exception(settled) != "" {
		t.Errorf("settled: %s", settled.Body)
	}
	paidOnce(t, s, ref)

	void := create(t, c, gift(nil)).Text(t, "payment.reference")
	c.With("").Call(t, http.MethodPost, claimPath(void), account("0123456789")).Want(t, http.StatusOK)
	expire(t, c, void)
	awaitStatus(t, c, void, "expired")
}

// TestSixteenClaims: of sixteen claims with sixteen accounts one wins, and one payout is made, to the winner.
func TestSixteenClaims(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	ref := create(t, c, gift(nil)).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "confirmed")
	nobody, winner := c.With(""), ""
	for i, a := range atOnce(t, 16, func(i int) (*api.Answer, error) {
		return nobody.Try(t.Context(), http.MethodPost, claimPath(ref), account(fmt.Sprintf("01234567%02d", i)))
	}) {
		if a.Status == http.StatusOK {
			if winner != "" {
				t.Error("a second claim won")
			}
			winner = fmt.Sprintf("01234567%02d", i)
			continue
		}
		if a.Status != http.StatusBadRequest || a.Text(t, "message") != "Gift has already been claimed" {
			t.Errorf("a loser hears %d %s", a.Status, a.Body)
		}
	}
	awaitStatus(t, c, ref, "settled")
	paidOnce(t, s, ref)
	if n := count(t, s, "payments", `SELECT count(*) FROM sim_transfers WHERE ref LIKE lower($1) || '-%' AND account_number = `+"'"+winner+"'", ref); n != 1 {
		t.Errorf("the winner %s was not paid", winner)
	}
}
