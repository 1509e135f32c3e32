package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/httpapi"
	"causeway.internal/gateway/internal/operator"
	"causeway.internal/libs/command"
)

// The verbs of operators' tokens. They make the first tokens, and new ones when no operator can.
var operatorVerbs = []command.Verb{
	{Name: "operators create", Args: "--name PERSON [--days N] [--digest HEX]", Run: tokens(func(f *flag.FlagSet) tokenAct {
		o := operator.Order{}
		f.StringVar(&o.Name, "name", "", "the person whose token it is, such as ada.obi; one person is one operator")
		f.IntVar(&o.Days, "days", operator.DaysDefault, "how long it lasts, at most 90")
		f.StringVar(&o.Digest, "digest", "", "of a token that the person has made (causeway operator-token); without it a token is made and printed")
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

// The verbs of operators' passkeys. They add the first ones.
var passkeyVerbs = []command.Verb{
	{Name: "operators passkey add", Args: "--name PERSON --credential ID --public-key KEY [--label TEXT]", Run: passkeys(func(f *flag.FlagSet) passkeyAct {
		o := operator.PasskeyOrder{}
		var credential, public string
		f.StringVar(&o.Name, "name", "", "the person whose passkey it is, such as ada.obi; one person is one operator")
		f.StringVar(&o.Label, "label", "", "which one it is, such as laptop")
		f.StringVar(&credential, "credential", "", "the credential id, as the console shows it to its owner")
		f.StringVar(&public, "public-key", "", "the public key, as the console shows it to its owner")
		return func(ctx context.Context, r *operator.Passkeys, by audit.Entry) (any, error) {
			var err, err2 error
			o.Key.ID, err = base64.RawURLEncoding.DecodeString(credential)
			o.Key.Public, err2 = base64.RawURLEncoding.DecodeString(public)
			if err = errors.Join(err, err2); err != nil {
				return nil, fmt.Errorf("operators passkey add: --credential and --public-key must be base64url: %w", err)
			}
			p, err := r.Add(ctx, o, by)
			return httpapi.ViewPasskey(p), err
		}
	})},
	{Name: "operators passkey list", Run: passkeys(func(*flag.FlagSet) passkeyAct {
		return func(ctx context.Context, r *operator.Passkeys, _ audit.Entry) (any, error) {
			all, err := r.List(ctx)
			views := make([]httpapi.PasskeyView, 0, len(all))
			for _, p := range all {
				views = append(views, httpapi.ViewPasskey(p))
			}
			return views, err
		}
	})},
	{Name: "operators passkey revoke", Args: "--id N", Run: passkeys(func(f *flag.FlagSet) passkeyAct {
		id := f.Int64("id", 0, "id of the passkey that ends at once")
		return func(ctx context.Context, r *operator.Passkeys, by audit.Entry) (any, error) {
			p, err := r.Revoke(ctx, *id, by)
			return httpapi.ViewPasskey(p), err
		}
	})},
}

// passkeyAct is the action of a verb of passkeys; its result is printed.
type passkeyAct func(ctx context.Context, r *operator.Passkeys, by audit.Entry) (any, error)

func passkeys(declare func(f *flag.FlagSet) passkeyAct) func(ctx context.Context, in command.Input) error {
	return acting(func(f *flag.FlagSet) keptAct {
		do := declare(f)
		return func(ctx context.Context, k kept, by audit.Entry) (any, error) {
			return do(ctx, operator.NewPasskeys(k.store), by)
		}
	})
}

// tokenAct is the action of a verb; its result is printed.
type tokenAct func(ctx context.Context, r *operator.Registry, by audit.Entry) (any, error)

// tokens makes a verb from a function that declares flags and returns the action.
func tokens(declare func(f *flag.FlagSet) tokenAct) func(ctx context.Context, in command.Input) error {
	return acting(func(f *flag.FlagSet) keptAct {
		do := declare(f)
		return func(ctx context.Context, k kept, by audit.Entry) (any, error) {
			return do(ctx, operator.NewRegistry(k.store, k.peppers), by)
		}
	})
}

// keptAct is the action of a verb on the gateway's database; its result is printed.
type keptAct func(ctx context.Context, k kept, by audit.Entry) (any, error)

// acting makes a verb from a function that declares flags and returns the action.
func acting(declare func(f *flag.FlagSet) keptAct) func(ctx context.Context, in command.Input) error {
	return func(ctx context.Context, in command.Input) error {
		var do keptAct
		if err := in.FlagsOnly(func(f *flag.FlagSet) { do = declare(f) }); err != nil {
			return err
		}
		kept, err := open(ctx, in.Environ)
		if err != nil {
			return err
		}
		defer kept.close()
		shown, err := do(ctx, kept, commandLine(in))
		if err != nil {
			return err
		}
		enc := json.NewEncoder(in.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(shown)
	}
}
