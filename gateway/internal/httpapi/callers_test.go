package httpapi_test

import (
	"testing"

	"causeway.internal/gateway/internal/httpapi"
	"causeway.internal/libs/testkit/callers"
)

func TestRoutes_callers(t *testing.T) { callers.Check(t, "gateway", new(httpapi.API).Register) }
