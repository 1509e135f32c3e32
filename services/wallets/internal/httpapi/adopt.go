package httpapi

import (
	"context"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
)

// Reassigner gives wallets of one key to another.
type Reassigner interface {
	Reassign(ctx context.Context, from tenant.Owner, to int64) (int64, error)
}

// Adopt adds the route behind `gateway keys adopt`. It is for operators and in no public table; the gateway's command,
// which knows keys, has checked that the old key is revoked and that both keys have one merchant and mode.
func Adopt(s *httpkit.Server, r Reassigner) {
	httpkit.Handle(s, "POST /v1/admin/wallets/adopt", httpkit.ForOperators, func(ctx context.Context, a adoptRequest) (adoptAnswer, error) {
		moved, err := r.Reassign(ctx, a.from, a.to)
		return adoptAnswer{moved}, err
	})
}

type adoptRequest struct {
	from tenant.Owner
	to   int64
}

type adoptAnswer struct {
	Moved int64 `json:"moved"`
}

// Read implements httpkit.Reader.
func (a *adoptRequest) Read(in *httpkit.Input) {
	const most = 1<<53 - 1
	b := in.Body()
	a.from = tenant.Owner{MerchantID: b.RequiredText("merchantId", wordMax), Mode: tenant.Mode(b.RequiredText("mode", wordMax))}
	for name, into := range map[string]*int64{"fromKeyId": &a.from.KeyID, "toKeyId": &a.to} {
		n, ok := b.Int(name, 1, most)
		if *into = n; !ok {
			b.Problem(name, "is required")
		}
	}
	if !a.from.Mode.Valid() {
		b.Problem("mode", "must be live or test")
	}
}
