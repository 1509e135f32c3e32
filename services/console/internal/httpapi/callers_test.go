package httpapi_test

import (
	"testing"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/testkit/callers"
	"causeway.internal/services/console/internal/httpapi"
)

func TestRoutes_callers(t *testing.T) {
	for _, name := range []string{"console", "console-operators"} {
		t.Run(name, func(t *testing.T) { callers.Check(t, name, func(s *httpkit.Server) { httpapi.Routes(s, name, nil) }) })
	}
}
