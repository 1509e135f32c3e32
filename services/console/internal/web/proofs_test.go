package web_test

import (
	"maps"
	"slices"
	"testing"

	"causeway.internal/services/console/internal/people"
)

// proofs decides for each POST of the two consoles whether it needs a proof of identity that is at most five minutes
// old, and why not if it needs none. It needs one if it moves money, shows a secret, changes who may act, or has an
// effect that lasts and that a thief of a session could profit from.
var proofs = []struct {
	door   people.Door // "" is both
	needs  bool
	why    string
	routes []string
}{
	{why: "nobody is signed in yet", routes: []string{
		"/sign-in", "/sign-in/code", "/sign-in/passkey/begin", "/sign-in/passkey/finish", "/link/{secret}", "/register",
		"/enrol", "/enrol/code", "/enrol/passkey/begin", "/enrol/passkey/finish",
	}},
	{why: "it is the proof", routes: []string{"/prove", "/prove/passkey/begin", "/prove/passkey/finish"}},
	{why: "it concerns this session alone, or ends sessions", routes: []string{"/sign-out", "/scope", "/account/sessions"}},
	{why: "it changes a name, or makes a draft that has test mode alone", routes: []string{"/account/name", "/business"}},
	{why: "it takes a right away", routes: []string{"/team/invitations/{id}"}},
	{needs: true, why: "it changes how a person signs in", routes: []string{
		"/account/passkeys/begin", "/account/passkeys/finish", "/account/passkeys/{id}", "/account/password", "/account/app", "/account/codes/new",
	}},
	{needs: true, why: "it changes who may act", routes: []string{"/team/invite", "/team/members/{id}"}},

	{door: people.Merchants, needs: true, why: "it moves money, or says where money goes", routes: []string{
		"/payments/{reference}/refund", "/settlement-settings", "/withdrawals/new", "/accounts/new", "/accounts/{id}/confirm", "/accounts/{id}/delete",
		"/crypto-withdrawals/new", "/addresses/new", "/addresses/{id}/remove",
	}},
	{door: people.Merchants, needs: true, why: "it says who may call the API", routes: []string{
		"/keys/new", "/keys/{id}", "/keys/{id}/rotate", "/keys/{id}/revoke",
	}},
	{door: people.Merchants, needs: true, why: "it says where events go, sends many again, or shows the secret that signs them", routes: []string{
		"/webhooks/new", "/webhooks/{id}/edit", "/webhooks/{id}/delete", "/webhooks/{id}/secret", "/replays/new",
	}},
	{door: people.Merchants, needs: true, why: "payers see whom to trust and ask", routes: []string{"/settings/branding"}},
	{door: people.Merchants, why: "it asks one payer for money, and touches none that the merchant has", routes: []string{"/payments/new"}},
	{door: people.Merchants, why: "the money goes to the merchant, or to an account that a proof has confirmed", routes: []string{
		"/links/new", "/links/{id}/status", "/wallets/new",
	}},
	{door: people.Merchants, why: "it stops something, and the money stays where it is", routes: []string{
		"/payments/{reference}/cancel", "/crypto-withdrawals/{id}/cancel",
	}},
	{door: people.Merchants, why: "it sends one event to an endpoint that a proof has named, or pauses a replay", routes: []string{
		"/webhooks/{id}/test", "/deliveries/{id}/retry", "/replays/{id}/turn",
	}},
	{door: people.Merchants, why: "a report has no effect by itself", routes: []string{"/reports/new", "/reports/{id}"}},

	{door: people.Operators, why: "it does nothing before a passkey has signed this very request", routes: []string{
		"/approve/begin", "/approve/finish",
		"/dead/{id}/replay", "/deliveries/{id}/retry", "/deposits/adopt", "/draws/{id}/approve", "/draws/{id}/cancel",
		"/draws/{id}/refuse", "/fraud/{mode}/{address}/confirm", "/fraud/{mode}/{address}/withdraw", "/keys/new", "/keys/{id}/revoke", "/merchants/new", "/merchants/{merchantId}/approve",
		"/merchants/{merchantId}/resume", "/merchants/{merchantId}/suspend", "/merchants/{merchantId}/terms",
		"/networks/{mode}/{network}/rescan", "/passkeys/{id}/revoke", "/pauses/new",
		"/pauses/{id}/end", "/payments/{reference}/accept", "/payments/{reference}/mark-refunded", "/payments/{reference}/refund",
		"/payments/{reference}/refund-address", "/payments/{reference}/retry-payout", "/payouts/{id}/ask", "/payouts/{id}/conclude",
		"/refunds/{id}/approve", "/refunds/{id}/cancel", "/refunds/{id}/refuse", "/sweeps/{id}/release", "/tokens/{id}/revoke", "/unclaimed/book", "/unclaimed/{id}/return",
		"/withdrawals/{id}/approve", "/withdrawals/{id}/refuse",
	}},
}

// Each POST of both consoles asks for a fresh proof exactly where the table says so. A route without a line fails.
func TestProofs(t *testing.T) {
	for _, door := range []people.Door{people.Merchants, people.Operators} {
		needs, why := map[string]bool{}, map[string]string{}
		for _, line := range proofs {
			for _, path := range line.routes {
				if line.door != "" && line.door != door {
					continue
				}
				if why[path] != "" {
					t.Errorf("the table has POST %s of the door %s twice", path, door)
				}
				needs[path], why[path] = line.needs, line.why
			}
		}
		for _, p := range pagesOf(t, door) {
			if p.Method != "POST" {
				continue
			}
			switch reason := why[p.Path]; {
			case reason == "":
				t.Errorf("%s of the door %s has no line: decide whether it needs a fresh proof", p.Name(), door)
			case p.Fresh != needs[p.Path]:
				t.Errorf("%s of the door %s asks for a fresh proof: got %t, want %t, because %s", p.Name(), door, p.Fresh, needs[p.Path], reason)
			}
			delete(why, p.Path)
		}
		if left := slices.Sorted(maps.Keys(why)); len(left) > 0 {
			t.Errorf("the table has lines of routes that the door %s does not have: %v", door, left)
		}
	}
}
