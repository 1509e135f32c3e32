// Package httpapi is the service's HTTP edge: all routes in one place. The wallets API itself comes with its own use
// cases; until then every path is answered as unknown, in the error shape that all services share.
package httpapi

import (
	"net/http"

	"causeway.internal/libs/httpkit"
)

// New returns the handler of the API port.
func New(s *httpkit.Server) http.Handler { return s }
