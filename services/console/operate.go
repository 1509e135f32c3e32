package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/store"
	"causeway.internal/services/console/internal/web"
	"causeway.internal/services/console/migrations"
)

// operateSettings are the settings of the verbs that make people. They need only the database.
type operateSettings struct {
	Place
	Postgres postgres.Config
}

// operations make the first people, and let a person in who has lost every way to sign in. The link that they print
// works once, within linkLife, and signs its bearer in as that person.
var operations = []command.Verb{
	{Name: "create-operator", Args: "--name ada.obi [--role operator|approver|auditor] [--existing]", Run: createOperator},
	{Name: "create-owner", Args: "--merchant ID --email ADDRESS [--role owner|developer|finance|support|read_only] [--existing]", Run: createOwner},
	{Name: "link", Args: "--login NAME-OR-ADDRESS", Run: makeLink},
	{Name: "reset", Args: "--login NAME-OR-ADDRESS", Run: reset},
	{Name: "rotate-master", Run: rotateMaster},
}

const linkLife = 24 * time.Hour

// reset removes every way to sign in of a person, such as one whose laptop was stolen, and ends the person's sessions.
func reset(ctx context.Context, in command.Input) error {
	var login string
	if err := in.FlagsOnly(func(f *flag.FlagSet) { f.StringVar(&login, "login", "", "operator's name or e-mail address") }); err != nil {
		return err
	}
	cfg, err := config.Read[operateSettings](in.Environ)
	if err != nil {
		return err
	}
	door, _, err := cfg.read()
	if err != nil {
		return err
	}
	login, ok := people.Login(door, login)
	if !ok {
		return in.Usage()
	}
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, telemetry.Discard(name))
	if err != nil {
		return err
	}
	defer db.Close()
	keep := store.New(db, nil, time.Now)
	who, err := keep.PersonOf(ctx, login)
	if err != nil {
		return fmt.Errorf("%s: %w", login, err)
	}
	if err := keep.Reset(ctx, who, in.Operator()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Out, "%s cannot sign in any more; console link lets the person in again\n", login)
	return err
}

// masterSettings are those of rotate-master.
type masterSettings struct {
	Place
	Master    config.Secret `env:"MASTER_KEYS,required" doc:"as for serve"`
	Postgres  postgres.Config
	Telemetry telemetry.Config
}

// rotateMaster seals the secrets of authenticator apps again under the first master key, while the console goes on
// (docs/runbooks/rotation.md#master-keys).
func rotateMaster(ctx context.Context, in command.Input) error {
	if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	cfg, err := config.Read[masterSettings](in.Environ)
	if err != nil {
		return err
	}
	door, _, err := cfg.read()
	if err != nil {
		return err
	}
	ring, err := keyring.Parse(cfg.Master.Reveal())
	if err != nil {
		return fmt.Errorf("MASTER_KEYS: %w", err)
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
	tel.Log.InfoContext(ctx, "secrets of authenticator apps sealed again by operator", "operator", in.Operator(), "master", ring.First())
	done, err := store.New(db, ring, time.Now).Reseal(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(in.Out).Encode(resealed{ring.First(), done})
}

// resealed is what rotate-master prints.
type resealed struct {
	Master string `json:"master"`
	Sealed int    `json:"sealed"`
}

const existingHelp = "accept an existing account, whose person has confirmed that they made it"

func createOperator(ctx context.Context, in command.Input) error {
	var login, role string
	var existing bool
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.BoolVar(&existing, "existing", false, existingHelp)
		f.StringVar(&login, "name", "", "name of the operator, such as ada.obi")
		f.StringVar(&role, "role", string(people.Operator), "operator, approver or auditor")
	})
	if err != nil {
		return err
	}
	return create(ctx, in, people.Operators, login, people.Membership{Role: people.Role(role)}, existing)
}

func createOwner(ctx context.Context, in command.Input) error {
	var login, role, merchantID string
	var existing bool
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.BoolVar(&existing, "existing", false, existingHelp)
		f.StringVar(&merchantID, "merchant", "", "id of the merchant")
		f.StringVar(&login, "email", "", "e-mail address of the person")
		f.StringVar(&role, "role", string(people.Owner), "role of the person")
	})
	if err != nil {
		return err
	}
	if merchantID == "" {
		return in.Usage()
	}
	return create(ctx, in, people.Merchants, login, people.Membership{MerchantID: merchantID, Role: people.Role(role)}, existing)
}

func makeLink(ctx context.Context, in command.Input) error {
	var login string
	if err := in.FlagsOnly(func(f *flag.FlagSet) { f.StringVar(&login, "login", "", "operator's name or e-mail address") }); err != nil {
		return err
	}
	return create(ctx, in, "", login, people.Membership{}, false)
}

// create makes a person, unless there is one, with a membership, and prints a link that signs the person in. With no
// role it prints a link for a person who exists.
func create(ctx context.Context, in command.Input, want people.Door, login string, m people.Membership, existing bool) error {
	cfg, err := config.Read[operateSettings](in.Environ)
	if err != nil {
		return err
	}
	door, origin, err := cfg.read()
	if err != nil {
		return err
	}
	if want != "" && want != door {
		return fmt.Errorf("DOOR is %s, and this command is for the other door", door)
	}
	login, ok := people.Login(door, login)
	if !ok {
		return in.Usage()
	}
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, telemetry.Discard(name))
	if err != nil {
		return err
	}
	defer db.Close()
	keep := store.New(db, nil, time.Now)
	if m.Role != "" {
		if err := admit(ctx, keep, member{door, login, m, existing}, in.Operator()); err != nil {
			return err
		}
	} else if _, err := keep.PersonOf(ctx, login); err != nil {
		return fmt.Errorf("%s: %w", login, err)
	}
	secret := rand.Text() + rand.Text()
	link := people.Link{Purpose: people.SignIn, Login: login, CreatedBy: in.Operator(), ExpiresAt: time.Now().Add(linkLife)}
	if err := keep.MakeLink(ctx, link, web.LinkHash(secret)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Out, "%s://%s%s/link/%s\n", origin.Scheme, origin.Host, web.Base(door), secret)
	return err
}

var errExisting = errors.New("an account of this name exists, and somebody else may have made it: ask the person whether it is theirs, and add --existing")

// member is a person who gets a role.
type member struct {
	door     people.Door
	login    string
	as       people.Membership
	existing bool // the account may exist
}

func admit(ctx context.Context, keep *store.Store, m member, by string) error {
	if !slices.Contains(people.Roles(m.door), m.as.Role) {
		return errors.New("no such role: " + string(m.as.Role))
	}
	who, err := keep.Admit(ctx, m.login, "")
	if err != nil {
		return err
	}
	of, err := keep.Memberships(ctx, who.ID)
	if err != nil {
		return err
	}
	already := slices.ContainsFunc(of, func(one people.Membership) bool { return one.MerchantID == m.as.MerchantID })
	if who.Secured() && !already && !m.existing {
		return errExisting
	}
	m.as.PersonID = who.ID
	return keep.Join(ctx, m.as, by)
}
