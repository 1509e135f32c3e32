package main

import (
	"context"
	"encoding/json"
	"flag"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/httpapi"
	"causeway.internal/gateway/internal/operator"
	"causeway.internal/libs/command"
)

// The verbs of operators' tokens. They make the first tokens, and new ones when no operator can.
var operatorVerbs = []command.Verb{
	{Name: "operators create", Args: "--name PERSON [--days N]", Run: tokens(func(f *flag.FlagSet) tokenAct {
		o := operator.Order{}
		f.StringVar(&o.Name, "name", "", "the person whose token it is, such as ada.obi; one person is one operator")
		f.IntVar(&o.Days, "days", operator.DaysDefault, "how long it lasts, at most 90")
		return func(ctx context.Context, r *operator.Registry, by audit.Entry) (any, error) {
			i, err := r.Create(ctx, o, by)
			return httpapi.ViewToken(i), err
		}
	})},
	{Name: "operators list", Run: tokens(func(*flag.FlagSet) tokenAct {
		return func(ctx context.Context, r *operator.Registry, _ audit.Entry) (any, error) {
			all, err := r.List(ctx)
			views := make([]httpapi.TokenView, 0, len(all))
			for _, t := range all {
				views = append(views, httpapi.ViewToken(operator.Issued{Token: t}))
			}
			return views, err
		}
	})},
	{Name: "operators rotate", Args: "--id N", Run: tokens(func(f *flag.FlagSet) tokenAct {
		id := f.Int64("id", 0, "id of the token that is replaced; the new one ends when it would have")
		return func(ctx context.Context, r *operator.Registry, by audit.Entry) (any, error) {
			i, err := r.Rotate(ctx, *id, "", by)
			return httpapi.ViewToken(i), err
		}
	})},
	{Name: "operators revoke", Args: "--id N", Run: tokens(func(f *flag.FlagSet) tokenAct {
		id := f.Int64("id", 0, "id of the token that ends at once")
		return func(ctx context.Context, r *operator.Registry, by audit.Entry) (any, error) {
			t, err := r.Revoke(ctx, *id, by)
			return httpapi.ViewToken(operator.Issued{Token: t}), err
		}
	})},
}

// tokenAct is the action of a verb; its result is printed.
type tokenAct func(ctx context.Context, r *operator.Registry, by audit.Entry) (any, error)

// tokens makes a verb from a function that declares flags and returns the action.
func tokens(declare func(f *flag.FlagSet) tokenAct) func(ctx context.Context, in command.Input) error {
	return func(ctx context.Context, in command.Input) error {
		var do tokenAct
		if err := in.FlagsOnly(func(f *flag.FlagSet) { do = declare(f) }); err != nil {
			return err
		}
		kept, err := open(ctx, in.Environ)
		if err != nil {
			return err
		}
		defer kept.close()
		shown, err := do(ctx, operator.NewRegistry(kept.store, kept.peppers), commandLine(in))
		if err != nil {
			return err
		}
		enc := json.NewEncoder(in.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(shown)
	}
}
