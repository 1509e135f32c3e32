// Package operator holds the verbs that operators type. Each works on the database beside the running service, which
// sends the messages that the verb writes. It knows the store itself: most verbs print one of its queries.
package operator

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/sweeper"
)

// Parts are what the verbs work with.
type Parts struct {
	Store  *store.Store
	Cases  *app.App
	Keys   keys.Keeper
	Reader func(scanner.Chain) (scanner.Reader, error)
	Judge  func(network string) (sweeper.Judge, error)
	Log    *slog.Logger
}

// Operation is a verb whose flags were read.
type Operation func(ctx context.Context, p Parts) error

// none reads no flag.
func none(in command.Input) error { return in.FlagsOnly(func(*flag.FlagSet) {}) }

// place is a chain as an operator names it.
type place struct{ network, mode string }

func (c *place) flags(f *flag.FlagSet) {
	f.StringVar(&c.network, "network", "", "network or alias")
	f.StringVar(&c.mode, "mode", string(tenant.Live), "live or test")
}

func (c *place) complete() bool { return c.network != "" && tenant.Mode(c.mode).Valid() }

func (c *place) chain() (scanner.Chain, error) {
	n, ok := money.NetworkOf(c.network)
	if !ok {
		return scanner.Chain{}, fmt.Errorf("no such network %q; there are %s", c.network, money.Pairs())
	}
	return scanner.Chain{Mode: tenant.Mode(c.mode), Network: n.Name}, nil
}

func show(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
