//go:build integration && long

package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/receiver"
	"causeway.internal/libs/testkit/stack"
)

// TestShards: two shards behind one gateway, with merchants of both. The new payments of one merchant move to the other
// shard; its payments in both are read, listed, claimed and replayed as those of one, nothing is made twice, and no
// merchant sees another's.
func TestShards(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Shards: 2})
	nobody := client(t, s).With("")
	operator := nobody.With(s.AdminToken)
	first := unique("first")
	mine := key(t, s, nobody, "test", first, "*")
	r := receive(t)
	secret := mine.Call(t, http.MethodGet, "/v1/webhooks/secret", nil).Want(t, http.StatusOK).Text(t, "secret")
	r.Secrets("", secret)

	inShard := func(a *api.Answer, code string) string {
		t.Helper()
		ref := a.Text(t, "payment.reference")
		if !strings.HasPrefix(strings.Replace(ref, "CW-G", "CW-", 1), "CW-"+code) {
			t.Errorf("create a payment: got %s, want one of the shard %s", ref, code)
		}
		return ref
	}
	again := api.Header("Idempotency-Key", unique("key"))
	order := transfer(api.Object{"callbackUrl": r.URL("/old"), "merchantReference": unique("order")})
	old := inShard(mine.Call(t, http.MethodPost, "/v1/payments", order, again).Want(t, http.StatusCreated), "AA")
	oldGift := inShard(create(t, mine, gift(nil)), "AA")

	// A merchant whose first key a gateway of the second shard makes is in that one.
	s.Kill(t, "gateway")
	if err := s.StartWith(t, "gateway", map[string]string{"SHARD": "K2"}); err != nil {
		t.Fatalf("start the gateway of the second shard: %v", err)
	}
	other := key(t, s, nobody, "test", unique("second"), "*")
	others := inShard(create(t, other, transfer(nil)), "K2")
	apart := func() {
		t.Helper()
		mine.Call(t, http.MethodGet, "/v1/payments/"+others, nil).Want(t, http.StatusNotFound)
		other.Call(t, http.MethodGet, "/v1/payments/"+old, nil).Want(t, http.StatusNotFound)
		if a := other.Call(t, http.MethodGet, "/v1/payments", nil).Want(t, http.StatusOK); a.Len(t, "payments") != 1 {
			t.Errorf("list the payments of the other merchant: got %s, want its one", a.Body)
		}
	}
	apart()

	move(t, s, first, "K2", "")
	move(t, s, first, "K2", "") // a repeated move changes nothing
	move(t, s, first, "AA", "does not come back")
	held := unique("endpoint")
	endpoint(t, key(t, s, nobody, "test", held, "*"), r, "/held")
	move(t, s, held, "AA", "webhook endpoints")

	// A create that is repeated after the move is that of before, also when both come at once, and an order is paid once.
	if a := mine.Call(t, http.MethodPost, "/v1/payments", order, again).Want(t, http.StatusCreated); a.Text(t, "payment.reference") != old ||
		a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("repeat a create of before the move: got %s, want %s again", a.Body, old)
	}
	refusedAs(t, mine, "/v1/payments", order, http.StatusConflict, "merchant_reference_used")
	var moved string
	twice := api.Header("Idempotency-Key", unique("key"))
	for range 2 {
		a := mine.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"callbackUrl": r.URL("/new"), "merchantReference": "new order"}), twice)
		ref := inShard(a.Want(t, http.StatusCreated), "K2")
		if moved != "" && ref != moved {
			t.Errorf("repeat a create of after the move: got %s, want %s again", ref, moved)
		}
		moved = ref
	}
	refusedAs(t, mine, "/v1/payments", transfer(api.Object{"merchantReference": "new order"}), http.StatusConflict, "merchant_reference_used")
	movedGift := inShard(create(t, mine, gift(nil)), "K2")
	apart()

	// One list, whatever its pages.
	want := []string{movedGift, moved, oldGift, old}
	for _, limit := range []string{"1", "3", "50"} {
		if got := allPages(t, mine, "/v1/payments?limit="+limit, "payments", "reference"); !slices.Equal(got, want) {
			t.Errorf("list the payments of both shards by %s: got %v, want %v", limit, got, want)
		}
	}

	// Both are paid and settled, and their callbacks verify with one secret.
	for ref, path := range map[string]string{old: "/old", moved: "/new"} {
		deposit(t, mine, ref, nil)
		awaitStatus(t, mine, ref, "settled")
		awaitCallbacks(t, r, path, "payment.pending", "payment.settled")
	}
	for _, ref := range []string{oldGift, movedGift} {
		deposit(t, mine, ref, nil)
		awaitStatus(t, mine, ref, "confirmed")
		nobody.Call(t, http.MethodPost, claimPath(ref), account("0123456789")).Want(t, http.StatusOK)
		awaitStatus(t, mine, ref, "settled")
	}

	// Deliveries of both are in one list, and each is repeated where it is.
	deliveries := allPages(t, mine, "/v1/webhooks/deliveries?type=payment.settled&limit=1", "deliveries", "id")
	if len(deliveries) != 2 || deliveries[0][len(deliveries[0])-2:] == deliveries[1][len(deliveries[1])-2:] {
		t.Fatalf("list the deliveries of both shards: got %v, want one of each", deliveries)
	}
	for _, id := range deliveries {
		mine.Call(t, http.MethodPost, "/v1/webhooks/deliveries/"+id+"/retry", nil).Want(t, http.StatusOK)
	}
	for _, path := range []string{"/old", "/new"} {
		r.Await(t, settle, "the event once more", func([]receiver.Delivery) bool {
			count := 0
			for _, d := range r.Accepted(path) {
				if d.Type == "payment.settled" {
					count++
				}
			}
			return count >= 2
		})
	}
	refusedAs(t, mine, "/v1/webhooks/replays", api.Object{"from": "2026-01-01T00:00:00Z"}, http.StatusBadRequest, "shard_missing")
	for _, code := range []string{"AA", "K2"} {
		dry := mine.Call(t, http.MethodPost, "/v1/webhooks/replays?shard="+code, api.Object{"from": "2026-01-01T00:00:00Z", "dryRun": true, "status": "delivered"})
		if dry.Want(t, http.StatusOK).Number(t, "replay.total").Sign() == 0 {
			t.Errorf("count what a replay of the shard %s sends: got %s, want its deliveries", code, dry.Body)
		}
	}

	// A new secret signs in both shards.
	fresh := mine.Call(t, http.MethodPost, "/v1/webhooks/secret/rotate", api.Object{"revokePrevious": true}).Want(t, http.StatusOK).Text(t, "secret")
	r.Secrets("/rotated", fresh)
	ref := inShard(create(t, mine, transfer(api.Object{"callbackUrl": r.URL("/rotated")})), "K2")
	awaitCallbacks(t, r, "/rotated", "payment.pending")
	clean(t, r)

	// An answer of one shard alone needs its name, and operators name it.
	refuse := func(path, code string) {
		t.Helper()
		if a := mine.Call(t, http.MethodGet, path, nil, bad).Want(t, http.StatusBadRequest); codeOf(a) != code {
			t.Errorf("ask for %s: got %s, want %s", path, a.Body, code)
		}
	}
	refuse("/v1/statistics", "shard_missing")
	refuse("/v1/events?shard=Q9", "shard_unknown")
	for code, count := range map[string]int{"AA": 2, "K2": 3} {
		if a := operator.Call(t, http.MethodGet, "/v1/admin/payments?status=all&mode=test&merchantId="+first+"&shard="+code, nil).Want(t, http.StatusOK); a.Len(t, "payments") != count {
			t.Errorf("list the payments of the shard %s for an operator: got %s, want %d", code, a.Body, count)
		}
	}
	if a := operator.Call(t, http.MethodGet, "/v1/admin/payments/"+ref, nil).Want(t, http.StatusOK); a.Text(t, "payment.merchantId") != first {
		t.Errorf("look at a payment of the second shard as an operator: got %s", a.Body)
	}

	// Terms reach payments of both shards.
	operator.Call(t, http.MethodPost, "/v1/admin/merchants/"+first+"/suspend", api.Object{"reason": "both"}).Want(t, http.StatusOK)
	inForce(t, operator, "/v1/admin/merchants/"+first)
	refusedAs(t, mine, "/v1/payments", transfer(nil), http.StatusForbidden, "merchant_suspended")

	// A process with the settings of the first shard does not start in the second.
	s.Kill(t, "payments-k2")
	if err := s.StartWith(t, "payments-k2", map[string]string{"SHARD": "AA"}); err == nil {
		t.Error("start payments of the first shard in the database of the second: got no error")
	}
}

// move types the command that gives a merchant's new payments another shard; refusal is in what it says, "" where it
// must succeed.
func move(t *testing.T, s *stack.Stack, merchant, to, refusal string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), os.Getenv("CAUSEWAY_STACK"),
		"do", "gateway", "--dir", s.Dir(), "--", "merchants", "move", "--merchant", merchant, "--shard", to).CombinedOutput()
	if (err == nil) != (refusal == "") || !strings.Contains(string(out), refusal) {
		t.Fatalf("move the merchant to %s: got %v and %s, want %q", to, err, out, refusal)
	}
}

// allPages reads a list to its end and returns a field of each object.
func allPages(t *testing.T, c *api.Client, path, list, field string) (all []string) {
	t.Helper()
	for cursor, pages := "", 0; pages < 50; pages++ {
		a := c.Call(t, http.MethodGet, path+"&cursor="+cursor, nil).Want(t, http.StatusOK)
		for i := range a.Len(t, list) {
			all = append(all, a.Text(t, item(list, i, field)))
		}
		if more, _ := a.At("pagination.hasMore"); more != true {
			break
		}
		cursor = a.Text(t, "pagination.nextCursor")
	}
	return all
}
