// Command console serves the web pages of one door: merchants or operators (docs/architecture.md#console). It calls the
// gateway's API as the person who is signed in, and reads no other service's database. It runs twice, with a database
// and keys for each door. This package only wires.
package main

import (
	"context"
	"net/http"
	"slices"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/telemetry"
	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/httpapi"
	"causeway.internal/services/console/internal/mail"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/store"
	"causeway.internal/services/console/internal/web"
	"causeway.internal/services/console/internal/web/merchant"
	"causeway.internal/services/console/internal/web/operator"
	"causeway.internal/services/console/migrations"
)

const name = "console"

// audience is the name of a door's console in the gateway's identities.
func audience(d people.Door) string {
	if d == people.Operators {
		return name + "-operators"
	}
	return name
}

var program = command.Program{Name: name, Verbs: slices.Concat([]command.Verb{
	{Name: "", Endless: true, Run: serve},
	{Name: "serve", Endless: true, Run: serve},
}, command.Standard(migrations.FS), operations)}

func main() { program.Main() }

const maintainEvery = 10 * time.Minute

func serve(ctx context.Context, in command.Input) error {
	cfg, err := config.Read[settings](in.Environ)
	if err != nil {
		return err
	}
	door, origin, err := cfg.read()
	if err != nil {
		return err
	}
	key, ring, err := cfg.keys()
	if err != nil {
		return err
	}
	verifier, err := cfg.Identity.Verifier(audience(door))
	if err != nil {
		return err
	}
	letters, err := mail.New(cfg.Mail)
	if err != nil {
		return err
	}
	tel, err := telemetry.Start(ctx, audience(door), cfg.Telemetry)
	if err != nil {
		return err
	}
	defer tel.Flush(ctx)
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, tel)
	if err != nil {
		return err
	}
	defer db.Close()
	group := lifecycle.New(tel.Log, cfg.Drain)
	tel.Registry.MustRegister(group)
	keep := store.New(db, ring, time.Now)
	area := merchant.Area()
	if door == people.Operators {
		area = operator.Area()
	}
	pages, err := web.New(web.Parts{
		Door: door, Origin: origin, Store: keep, Ring: ring, Gateway: api.New(cfg.Gateway, key, time.Now), Mail: letters, Area: area,
		Log: tel.Log, Registry: tel.Registry, Now: time.Now, Stopping: group.Ready, SignUp: cfg.signUp(origin, letters.Sends()),
	})
	if err != nil {
		return err
	}
	if door == people.Merchants && cfg.SignUp && !cfg.signUp(origin, letters.Sends()) {
		tel.Log.Warn("registration closed: SMTP_URL missing, so no letter can prove an address")
	}
	server := httpkit.NewServer(tel.Log, tel.Registry, verifier)
	httpapi.Routes(server, audience(door), presence.Lister(db, audience(door)))
	mux := http.NewServeMux()
	mux.Handle("/v1/", server)
	mux.Handle("/", httpkit.Verified(tel.Log, verifier, pages))
	if err := group.HTTP("pages", cfg.HTTPAddr, mux); err != nil {
		return err
	}
	group.Every("upkeep", maintainEvery, keep.Maintain)
	checks := []telemetry.Check{
		{Name: "running", Ready: func(context.Context) error { return group.Ready() }},
		{Name: "database", Ready: db.Ping},
	}
	present := presence.Reporter{DB: db, Role: presence.Roles(true, false), Checks: func() []telemetry.Check { return checks }}
	group.Every("presence", presence.Every, present.Start().Report)
	if err := group.HTTP(lifecycle.Ops, cfg.OpsAddr, tel.Ops(checks...)); err != nil {
		return err
	}
	return group.Run(ctx)
}
