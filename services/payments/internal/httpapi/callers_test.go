package httpapi_test

import (
	"testing"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/testkit/callers"
	"causeway.internal/services/payments/internal/httpapi"
)

func TestRoutes_callers(t *testing.T) {
	callers.Check(t, "payments", func(s *httpkit.Server) { httpapi.Routes(s, httpapi.UseCases{}) })
}
