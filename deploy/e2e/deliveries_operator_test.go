//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestDeliveriesOfOperators: operators alone see the deliveries of all merchants, with whose they are, and have one
// sent again.
func TestDeliveriesOfOperators(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	const path = "/v1/admin/deliveries"
	c.Call(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized)
	operator.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK).Len(t, "deliveries")
	operator.Call(t, http.MethodGet, path+"?status=pending", nil, bad).Want(t, http.StatusBadRequest)
	operator.Call(t, http.MethodGet, path+"?merchantId=local&mode=test&status=retrying", nil).Want(t, http.StatusOK)
	ref := create(t, c, transfer(api.Object{"callbackUrl": "http://127.0.0.1:9/hook?secret=x"})).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "settled")
	object := value[string](t, s, "payments", `SELECT id FROM payments WHERE reference = $1`, ref)
	id := ""
	api.Eventually(t, settle, "a delivery that has failed", func() bool {
		answer := operator.Call(t, http.MethodGet, path+"?objectId="+object, nil).Want(t, http.StatusOK)
		found := items(t, answer, "deliveries", func(at string) bool {
			return answer.Text(t, at+".url") == "http://127.0.0.1:9/hook" && !answer.Null(at+".lastAttempt") && answer.Text(t, at+".status") == "retrying"
		})
		if len(found) == 0 {
			return false
		}
		if answer.Text(t, found[0]+".merchantId") != "local" || answer.Text(t, found[0]+".mode") != "test" {
			t.Errorf("read a delivery: got %s, want whose it is", answer.Body)
		}
		id = answer.Text(t, found[0]+".id")
		return true
	})
	retry := path + "/" + id + "/retry"
	refuse(t, operator, retry, api.Object{}, http.StatusBadRequest, "")
	refuse(t, operator, path+"/dlv_00000000000000000000000000/retry", api.Object{"reason": "x"}, http.StatusNotFound, "")
	c.Call(t, http.MethodPost, retry, api.Object{"reason": "x"}).Want(t, http.StatusUnauthorized)
	if got := operator.Call(t, http.MethodPost, retry, api.Object{"reason": "repaired"}).Want(t, http.StatusOK).Text(t, "delivery.status"); got != "retrying" {
		t.Errorf("retry a delivery: got the status %s, want retrying", got)
	}
	if n := count(t, s, "callback-dispatcher", `SELECT count(*) FROM acts WHERE object = $1 AND reason = 'repaired' AND act = 'delivery.retry'`, id); n != 1 {
		t.Errorf("retry a delivery: got %d rows of who did it and why, want one", n)
	}
}

// TestDeadMessages: operators see messages that could not be taken in. One that is refused again stays, with the new
// reason; nobody replays one that is not there.
func TestDeadMessages(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	const path = "/v1/admin/dead-messages"
	c.Call(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized)
	operator.Call(t, http.MethodGet, path+"?cursor=bm9uc2Vuc2U", nil, bad).Want(t, http.StatusBadRequest)
	message := unique("msg")
	id := value[int](t, s, "callback-dispatcher", `INSERT INTO dead (message_id, name, reason, body, trace) VALUES ($1, 'payments.status_changed.v1', 'made by a test', '{}', '') RETURNING id`, message)
	defer value[int](t, s, "callback-dispatcher", `WITH gone AS (DELETE FROM dead WHERE id = $1 RETURNING 1) SELECT count(*) FROM gone`, id)
	reason := func() string {
		answer := operator.Call(t, http.MethodGet, path+"?limit=100", nil).Want(t, http.StatusOK)
		for _, at := range items(t, answer, "messages", func(at string) bool { return answer.Text(t, at+".messageId") == message }) {
			return answer.Text(t, at+".reason")
		}
		return ""
	}
	if got := reason(); got != "made by a test" {
		t.Errorf("list the dead messages: got the reason %q, want the one that is stored", got)
	}
	refusedAs(t, operator, path+"/"+itoa(id)+"/replay", api.Object{"reason": "repaired"}, http.StatusConflict, "dead_message_refused")
	if got := reason(); got == "" || got == "made by a test" {
		t.Errorf("replay a message that is refused again: got the reason %q, want a new one", got)
	}
	refusedAs(t, operator, path+"/0/replay", api.Object{"reason": "x"}, http.StatusNotFound, "dead_message_not_found")
	c.Call(t, http.MethodPost, path+"/0/replay", api.Object{"reason": "x"}).Want(t, http.StatusUnauthorized)
}
