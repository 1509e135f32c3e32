//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

func isTrue(a *api.Answer, path string) bool {
	value, found := a.At(path)
	return found && value == true
}

// TestHealthOfOperators: operators alone see the processes of each service, and of each console, which are
// ready on a stack at rest, and the queues of those that consume.
func TestHealthOfOperators(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	for service, consumes := range map[string]bool{
		"gateway": false, "payments": true, "wallets": true, "reports": true, "callback-dispatcher": true, "console": false, "console-operators": false,
	} {
		path := "/v1/admin/health/" + service
		c.Call(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized)
		api.Eventually(t, settle, "ready processes of "+service, func() bool {
			answer := operator.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK)
			ready := items(t, answer, "processes", func(at string) bool {
				return answer.Text(t, at+".service") == service && answer.Text(t, at+".version") != "" && isTrue(answer, at+".ready")
			})
			queues := items(t, answer, "processes", func(at string) bool { return answer.Len(t, at+".queues") > 0 })
			return len(ready) > 0 && len(queues) > 0 == consumes
		})
	}
}
