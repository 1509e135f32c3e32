// Package httpapi is the API of a console, beside its pages: the gateway asks it for the processes, for operators.
package httpapi

import (
	"context"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/presence"
)

// Routes adds every route of the console by this name.
func Routes(s *httpkit.Server, name string, processes func(context.Context) (presence.Answer, error)) {
	httpkit.Handle(s, "GET /v1/admin/health/"+name, httpkit.ForOperators, func(ctx context.Context, _ nothing) (presence.Answer, error) {
		return processes(ctx)
	})
}

// nothing is the input of a request that needs none.
type nothing struct{}

// Read implements httpkit.Reader.
func (*nothing) Read(*httpkit.Input) {}
