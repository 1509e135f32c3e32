package operator

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry"
)

// Tries bounds how many tokens an address may try. Each try comes before anything is looked up.
type Tries interface {
	Try(ip netip.Addr) error
	Good(ip netip.Addr) // gives a try back
}

// Door recognises operators. Each request asks the database, so a token that is revoked passes nowhere from then on.
type Door struct {
	static  identity.Static
	store   Store
	peppers *apikey.Peppers
	tries   Tries
	log     *telemetry.Sparing
	refused *prometheus.CounterVec
}

// The reasons for which a token is refused, for the metric and the log.
const (
	unknown = "unknown"
	expired = "expired"
	revoked = "revoked"
	limited = "limited"
)

// NewDoor makes a door before the tokens of a store and those of the environment. Its metrics are registered.
func NewDoor(static identity.Static, store Store, peppers *apikey.Peppers, tries Tries, tel *telemetry.Telemetry, now func() time.Time) (*Door, error) {
	d := &Door{
		static: static, store: store, peppers: peppers, tries: tries, log: telemetry.NewSparing(tel.Log, now),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_operator_tokens_refused_total", Help: "Operators' tokens that were refused, by reason.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{unknown, expired, revoked, limited} {
		d.refused.WithLabelValues(reason) // at 0 from the start: an alert cannot see a series appear
	}
	if err := tel.Registry.Register(d.refused); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return d, nil
}

var (
	errExpired = fault.New(fault.Unauthenticated, "operator_token_expired", "The operator token has expired. Have another one made.")
	errStore   = fault.New(fault.Unavailable, "operators_unavailable", "The operator token cannot be checked right now. Try again shortly.").After(2 * time.Second)
)

// Operator implements identity.Operators.
func (d *Door) Operator(ctx context.Context, token string, ip netip.Addr) (string, error) {
	if err := d.tries.Try(ip); err != nil {
		return "", d.refuse(ctx, limited, ip, "", err)
	}
	if name, err := d.static.Operator(ctx, token, ip); err == nil {
		d.tries.Good(ip)
		return name, nil
	}
	if !apikey.IsToken(token) {
		return "", d.refuse(ctx, unknown, ip, "", identity.ErrBadToken)
	}
	found, err := d.store.TokenByDigest(ctx, d.peppers.All(token))
	if err != nil {
		d.tries.Good(ip) // it says nothing about the token
		return "", errStore.Because(err)
	}
	switch {
	case found == nil:
		return "", d.refuse(ctx, unknown, ip, "", identity.ErrBadToken)
	case !found.RevokedAt.IsZero():
		return "", d.refuse(ctx, revoked, ip, found.Name, identity.ErrBadToken)
	case found.Expired:
		return "", d.refuse(ctx, expired, ip, found.Name, errExpired)
	}
	d.tries.Good(ip)
	return found.Name, nil
}

// refuse counts and logs a refusal. The line has the address and, where the token was somebody's, the name: never the token.
func (d *Door) refuse(ctx context.Context, reason string, ip netip.Addr, name string, err error) error {
	d.refused.WithLabelValues(reason).Inc()
	d.log.Log(ctx, slog.LevelWarn, reason, "an operator's token is refused", "reason", reason, "address", ip.String(), "operator", name)
	return err
}
