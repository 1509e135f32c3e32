package main

import (
	"context"
	"encoding/json"
	"flag"
	"time"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/httpapi"
	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/libs/command"
)

// The verbs of merchants. A change reaches the gateways that run within a second, and payments through them.
var merchantVerbs = []command.Verb{
	{Name: "merchants create", Args: "--merchant ID --name TEXT --country NG [--email ADDRESS] [--support TEXT]", Run: merchants(func(f *flag.FlagSet) merchantAct {
		o := merchant.Order{}
		f.StringVar(&o.ID, "merchant", "", "id of the merchant, 1 to 50 characters")
		f.StringVar(&o.Name, "name", "", "name that payers see")
		f.StringVar(&o.Country, "country", "", "country of ISO 3166, such as NG")
		f.StringVar(&o.ContactEmail, "email", "", "e-mail address for operators")
		f.StringVar(&o.SupportContact, "support", "", "where payers find help")
		return func(ctx context.Context, r *merchant.Registry, by audit.Entry) (any, error) {
			return shown(r.Create(ctx, o, by, merchant.Once{}))
		}
	})},
	{Name: "merchants approve", Args: "--merchant ID", Run: merchants(func(f *flag.FlagSet) merchantAct {
		id := f.String("merchant", "", "id of the draft that may use live mode")
		return func(ctx context.Context, r *merchant.Registry, by audit.Entry) (any, error) {
			return shown(r.Approve(ctx, *id, by))
		}
	})},
	{Name: "merchants suspend", Args: "--merchant ID --reason TEXT", Run: merchants(func(f *flag.FlagSet) merchantAct {
		id := f.String("merchant", "", "id of the merchant whose creates and payouts stop")
		reason := f.String("reason", "", "why, for other operators")
		return func(ctx context.Context, r *merchant.Registry, by audit.Entry) (any, error) {
			return shown(r.Suspend(ctx, *id, *reason, by))
		}
	})},
	{Name: "merchants resume", Args: "--merchant ID --reason TEXT", Run: merchants(func(f *flag.FlagSet) merchantAct {
		id := f.String("merchant", "", "id of the suspended merchant")
		reason := f.String("reason", "", "why, for other operators")
		return func(ctx context.Context, r *merchant.Registry, by audit.Entry) (any, error) {
			return shown(r.Resume(ctx, *id, *reason, by))
		}
	})},
	{Name: "merchants list", Args: "[--status draft|active|suspended] [--search TEXT]", Run: merchants(func(f *flag.FlagSet) merchantAct {
		status := f.String("status", "", "only merchants with this status")
		search := f.String("search", "", "only merchants with this in the id or the name")
		return func(ctx context.Context, r *merchant.Registry, _ audit.Entry) (any, error) {
			views := []httpapi.MerchantView{}
			for page := (merchant.Filter{Status: merchant.Status(*status), Search: *search, Limit: 100}); ; {
				found, more, err := r.List(ctx, page)
				if err != nil {
					return nil, err
				}
				for _, m := range found {
					views = append(views, httpapi.ViewMerchant(m))
				}
				if !more {
					return views, nil
				}
				page.Before = found[len(found)-1].N
			}
		}
	})},
}

// tellMerchants has payments, which was restored, hear of every merchant again of which it has to know something.
func tellMerchants(ctx context.Context, in command.Input) error {
	if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	kept, err := open(ctx, in.Environ)
	if err != nil {
		return err
	}
	defer kept.close()
	by := commandLine(in)
	by.Act, by.Object = audit.MerchantTold, "merchants"
	many, err := kept.store.TellAgain(ctx, by)
	if err != nil {
		return err
	}
	return json.NewEncoder(in.Out).Encode(map[string]int64{"merchants": many})
}

func shown(m merchant.Merchant, err error) (any, error) { return httpapi.ViewMerchant(m), err }

// merchantAct is the action of a verb; its result is printed.
type merchantAct func(ctx context.Context, r *merchant.Registry, by audit.Entry) (any, error)

// merchants makes a verb from a function that declares flags and returns the action.
func merchants(declare func(f *flag.FlagSet) merchantAct) func(ctx context.Context, in command.Input) error {
	return func(ctx context.Context, in command.Input) error {
		var do merchantAct
		if err := in.FlagsOnly(func(f *flag.FlagSet) { do = declare(f) }); err != nil {
			return err
		}
		kept, err := open(ctx, in.Environ)
		if err != nil {
			return err
		}
		defer kept.close()
		out, err := do(ctx, merchant.NewRegistry(kept.store, nil, time.Now), commandLine(in))
		if err != nil {
			return err
		}
		enc := json.NewEncoder(in.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(out)
	}
}
