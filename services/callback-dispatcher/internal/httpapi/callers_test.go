package httpapi_test

import (
	"testing"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/testkit/callers"
	"causeway.internal/services/callback-dispatcher/internal/httpapi"
)

func TestRoutes_callers(t *testing.T) {
	callers.Check(t, "callback-dispatcher", func(s *httpkit.Server) { httpapi.Routes(s, httpapi.Parts{}) })
}
