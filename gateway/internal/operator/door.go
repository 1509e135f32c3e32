package operator

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry"
)

// Door authenticates operators. Each request reads the database, so a revoked token is refused at once. A token that
// was valid at its last look-up needs no try: all users of one port-forward share one address, and a script with a
// wrong token would otherwise lock all of them out.
type Door struct {
	static  identity.Static
	store   Store
	peppers *apikey.Peppers
	tries   *limit.Tokens
	log     *telemetry.Sparing
	refused *prometheus.CounterVec
	good    good
}

// good remembers the tokens that were valid at their last look-up.
type good struct {
	mu     sync.Mutex
	tokens map[apikey.Digest]struct{}
}

// goodMax is more than the tokens that the operators of one system hold. Beyond it an arbitrary one is evicted and
// needs a try again.
const goodMax = 256

func (g *good) has(d apikey.Digest) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, there := g.tokens[d]
	return there
}

func (g *good) add(d apikey.Digest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for one := range g.tokens {
		if len(g.tokens) < goodMax {
			break
		}
		delete(g.tokens, one)
	}
	g.tokens[d] = struct{}{}
}

func (g *good) remove(d apikey.Digest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tokens, d)
}

// The reasons for which a token is refused, for the metric and the log.
const (
	unknown = "unknown"
	expired = "expired"
	revoked = "revoked"
	limited = "limited"
	shared  = "shared"
)

// NewDoor makes a door for the tokens of a store and those of the environment. It registers its metrics.
func NewDoor(static identity.Static, store Store, peppers *apikey.Peppers, tries *limit.Tokens, tel *telemetry.Telemetry, now func() time.Time) (*Door, error) {
	d := &Door{
		static: static, store: store, peppers: peppers, tries: tries, log: telemetry.NewSparing(tel.Log, now),
		good: good{tokens: map[apikey.Digest]struct{}{}},
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_operator_tokens_refused_total", Help: "Operators' tokens that were refused, by reason.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{unknown, expired, revoked, limited, shared} {
		d.refused.WithLabelValues(reason) // starts at 0: an alert cannot see a series appear
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
	digest := d.peppers.Digest(token)
	trying := !d.good.has(digest)
	if trying {
		if err := d.tries.Try(ip); err != nil {
			return "", d.refuse(ctx, limited, ip, "", err)
		}
	}
	name, reason, err := d.look(ctx, token, ip)
	if reason != "" {
		d.good.remove(digest)
		return "", d.refuse(ctx, reason, ip, name, err)
	}
	if err == nil {
		d.good.add(digest)
	}
	if trying {
		d.tries.Good(ip) // also after an outage, which says nothing about the token
	}
	return name, err
}

// look finds the person of a token. A reason means that the token is not valid; an error without one, that the look-up
// failed. A token that the gateway made and that somebody has registered by its digest too is nobody's.
func (d *Door) look(ctx context.Context, token string, ip netip.Addr) (name, reason string, err error) {
	if name, err := d.static.Operator(ctx, token, ip); err == nil {
		return name, "", nil
	}
	if !credential.IsToken(token) {
		return "", unknown, identity.ErrBadToken
	}
	digests := append(d.peppers.All(token), d.peppers.All(made(credential.TokenDigest(token)))...)
	all, err := d.store.TokensByDigest(ctx, digests)
	switch {
	case err != nil:
		return "", "", errStore.Because(err)
	case len(all) == 0:
		return "", unknown, identity.ErrBadToken
	case len(all) > 1:
		return names(all), shared, identity.ErrBadToken
	}
	switch found := all[0]; {
	case !found.RevokedAt.IsZero():
		return found.Name, revoked, identity.ErrBadToken
	case found.Expired:
		return found.Name, expired, errExpired
	}
	return all[0].Name, "", nil
}

func names(of []Token) string {
	all := make([]string, len(of))
	for i, t := range of {
		all[i] = t.Name
	}
	return strings.Join(all, ", ")
}

// refuse counts and logs a refusal. The line has the address and the name of the token's person if known, never the
// token.
func (d *Door) refuse(ctx context.Context, reason string, ip netip.Addr, name string, err error) error {
	d.refused.WithLabelValues(reason).Inc()
	d.log.Log(ctx, slog.LevelWarn, reason, "operator token refused", "reason", reason, "address", ip.String(), "operator", name)
	return err
}
