package httpapi_test

import (
	"testing"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/testkit/callers"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/httpapi"
)

func TestRoutes_callers(t *testing.T) {
	callers.Check(t, "reports", func(s *httpkit.Server) { httpapi.Routes(s, &app.App{}, nil) })
}
