package httpapi

import (
	"context"
	"net/http"

	"causeway.internal/libs/httpkit"
)

func railRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "POST /v1/rails/{name}/webhook", httpkit.ForAll, func(ctx context.Context, r hintRequest) ([]byte, error) {
		return u.Hints.RailHint(ctx, r.name, r.header, r.raw)
	})
}

type hintRequest struct {
	name   string
	header http.Header
	raw    []byte
}

// Read takes the received bytes, because the signature covers them.
func (r *hintRequest) Read(in *httpkit.Input) {
	r.name, r.header, r.raw = in.Path("name"), in.Header(), in.Raw()
}
