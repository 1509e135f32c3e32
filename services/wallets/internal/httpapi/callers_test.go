package httpapi_test

import (
	"testing"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/testkit/callers"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/httpapi"
)

func TestRoutes_callers(t *testing.T) {
	callers.Check(t, "wallets", func(s *httpkit.Server) {
		httpapi.New(s, &app.API{})
		httpapi.Adopt(s, nil)
		httpapi.Operate(s, &app.Operators{}, nil)
	})
}
