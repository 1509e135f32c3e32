package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/load"
)

// roll is one step of a rotation: every process is restarted with what belongs to it.
type roll int

const (
	knows roll = iota // the new secrets beside the old ones
	uses              // the new secrets, and the old ones are still known
	gone              // the old secrets are taken away
)

// rotate replaces every secret of every service under load, as docs/runbooks/rotation.md says: three rolls, each
// process stopped politely and started again, and every master key's values sealed again before the last one. Nothing
// may end by itself, no old secret may be of use afterwards, and the auditor finds every payment settled once and every
// event delivered.
func rotate(ctx context.Context, f *field) error {
	ctx = context.WithoutCancel(ctx) // a rotation that has begun ends
	r, err := f.newSecrets(ctx)
	if err != nil {
		return err
	}
	dwell := f.share / 4
	for step, word := range []string{"known", "in use", "alone"} {
		f.pause(ctx, dwell, dwell)
		if roll(step) == gone {
			if err := r.sealAgain(ctx); err != nil {
				return err
			}
		}
		if err := r.roll(ctx, roll(step), word); err != nil {
			return err
		}
	}
	if err := r.end(ctx); err != nil {
		return err
	}
	if err := f.operatorToken(ctx); err != nil {
		return err
	}
	f.pause(ctx, dwell, dwell)
	return nil
}

// operatorToken has a person replace the own token; the old one is refused from then on.
func (f *field) operatorToken(ctx context.Context) error {
	var made, fresh struct {
		Operator struct {
			ID    json.Number `json:"id"`
			Token string      `json:"token"`
		} `json:"operator"`
	}
	const tokens = "/v1/admin/operators"
	if err := f.ask(ctx, http.MethodPost, tokens, f.stack.AdminToken, map[string]any{"name": "rotator", "days": 1}, &made); err != nil {
		return err
	}
	if err := f.ask(ctx, http.MethodPost, tokens+"/"+made.Operator.ID.String()+"/rotate", made.Operator.Token, nil, &fresh); err != nil {
		return err
	}
	if err := f.ask(ctx, http.MethodGet, tokens, fresh.Operator.Token, nil, nil); err != nil {
		return err
	}
	if status, err := load.Ask(ctx, http.MethodGet, f.stack.BaseURL+tokens, made.Operator.Token, nil, nil); err != nil || status != http.StatusUnauthorized {
		f.fault("an operator's token that was replaced is answered with %d, %v", status, err)
	}
	f.count("operator's token replaced")
	return nil
}

// rotation is the new secrets, by kind and service.
type rotation struct {
	*field
	settings map[string]map[string]string // of each process, before
	fresh    map[string]string
	users    map[string]string // of each service: its database, by the second role
}

// newSecrets draws every new secret, and makes a second role of each database with the rights of the first.
func (f *field) newSecrets(ctx context.Context) (*rotation, error) {
	r := &rotation{field: f, settings: map[string]map[string]string{}, fresh: map[string]string{}, users: map[string]string{}}
	for _, name := range f.stack.Services() {
		settings, err := f.stack.Settings(name)
		if err != nil {
			return nil, err
		}
		r.settings[name] = settings
		service := serviceOf(name)
		if r.users[service] != "" {
			continue
		}
		for _, secret := range []string{"master", "identity", "message", "events", "tokens", "broker"} {
			r.fresh[secret+"/"+service] = base64.StdEncoding.EncodeToString(freshBytes(32))
		}
		if r.users[service], err = f.secondRole(ctx, service, settings["DATABASE_URL"]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func freshBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (Go 1.24)
	return b
}

// serviceOf is the service of a process: payments-work-2 is one of payments.
func serviceOf(process string) string {
	name := strings.TrimSuffix(process, "-2")
	return strings.TrimSuffix(strings.TrimSuffix(name, "-serve"), "-work")
}

// secondRole makes a role with the rights of the one that a URL names, and gives the URL with it.
func (f *field) secondRole(ctx context.Context, service, database string) (string, error) {
	at, err := url.Parse(database)
	if err != nil {
		return "", fmt.Errorf("the database of %s has no URL", service)
	}
	first, password := at.User.Username(), hex.EncodeToString(freshBytes(16))
	second := first + "_b"
	err = f.execute(ctx, service, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s' IN ROLE %s",
		pgx.Identifier{second}.Sanitize(), password, pgx.Identifier{first}.Sanitize()))
	at.User = url.UserPassword(second, password)
	return at.String(), err
}

// roll restarts every process, one at a time in a random order, with its settings of a step.
func (r *rotation) roll(ctx context.Context, step roll, word string) error {
	began := time.Now()
	if step == uses {
		if err := r.brokerPasswords(ctx); err != nil {
			return err
		}
	}
	names := r.stack.Services()
	for _, i := range r.random.Perm(len(names)) {
		ended, err := r.stack.Ended()
		if err != nil {
			return err
		}
		for _, name := range ended {
			r.fault("%s ended by itself", name)
		}
		if err := r.stack.Stop(ctx, names[i]); err != nil {
			return err
		}
		if err := r.stack.Start(ctx, names[i], r.changed(names[i], step)...); err != nil {
			return fmt.Errorf("%s with the new secrets %s: %w", names[i], word, err)
		}
		r.count("process restarted with the new secrets " + word)
	}
	r.say("rolled  %-28s the new secrets are %s, in %s", fmt.Sprint(len(names), " processes"), word, time.Since(began).Round(10*time.Millisecond))
	return nil
}

// changed are the settings of a process in a step, NAME=value.
func (r *rotation) changed(process string, step roll) (all []string) {
	service, old := serviceOf(process), r.settings[process]
	set := func(name, value string) {
		if old[name] != "" {
			all = append(all, name+"="+value)
		}
	}
	ring := func(name, fresh string, takenAway bool) {
		switch {
		case step == knows:
			set(name, old[name]+","+fresh)
		case step == gone && takenAway:
			set(name, fresh)
		default:
			set(name, fresh+","+old[name])
		}
	}
	master := "k2:" + r.fresh["master/"+service]
	ring("MASTER_KEYS", master, service == "wallets" || service == "callback-dispatcher") // the others keep answers for days
	ring("IDENTITY_KEYS", r.fresh["identity/"+service], true)
	set("MESSAGE_PUBLIC_KEYS", r.trusted(old["MESSAGE_PUBLIC_KEYS"], step))
	if service == "callback-dispatcher" {
		set("EVENT_KEYS", r.opening(old["EVENT_KEYS"]))
	}
	if service == "callback-dispatcher" || step != knows {
		ring("SETTLEMENT_TOKEN_KEYS", "k2:"+r.fresh["tokens/payments"], false)
	}
	if step == knows {
		return all
	}
	for _, to := range []string{"payments", "wallets", "reports", "callback-dispatcher"} {
		set(strings.ToUpper(strings.TrimPrefix(to, "callback-"))+"_IDENTITY_KEYS", r.fresh["identity/"+to])
	}
	set("MESSAGE_KEY", "k2:"+r.fresh["message/"+service])
	if service != "callback-dispatcher" {
		set("EVENT_KEYS", service+"-2:"+r.fresh["events/"+service])
	}
	set("DATABASE_URL", r.users[service])
	if broker, err := url.Parse(old["AMQP_URL"]); err == nil && broker.User != nil {
		broker.User = url.UserPassword(broker.User.Username(), r.fresh["broker/"+service])
		set("AMQP_URL", broker.String())
	}
	return all
}

// trusted adds the new public key of each producer to the old ones, or leaves those out.
func (r *rotation) trusted(old string, step roll) string {
	producers := map[string]bool{}
	var all []string
	for part := range strings.SplitSeq(old, ",") {
		producer, _, _ := strings.Cut(part, "/")
		producers[producer] = true
		if step != gone {
			all = append(all, part)
		}
	}
	for _, producer := range slices.Sorted(maps.Keys(producers)) {
		seed, err := base64.StdEncoding.DecodeString(r.fresh["message/"+producer])
		if err != nil || len(seed) != ed25519.SeedSize {
			continue
		}
		public, _ := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
		all = append(all, producer+"/k2:"+base64.StdEncoding.EncodeToString(public))
	}
	return strings.Join(all, ",")
}

// opening adds the new key of each producer of events to the old ones, which are needed as long as events are kept.
func (r *rotation) opening(old string) string {
	all := []string{old}
	for part := range strings.SplitSeq(old, ",") {
		producer, _, _ := strings.Cut(part, ":")
		all = append(all, producer+"-2:"+r.fresh["events/"+producer])
	}
	return strings.Join(all, ",")
}

// brokerPasswords gives each broker user another password. Connections that are open stay.
func (r *rotation) brokerPasswords(ctx context.Context) error {
	done := map[string]bool{}
	for process, settings := range r.settings {
		service := serviceOf(process)
		broker, err := url.Parse(settings["AMQP_URL"])
		if err != nil || broker.User == nil || done[service] {
			continue
		}
		done[service] = true
		body, err := json.Marshal(map[string]string{"password": r.fresh["broker/"+service], "tags": ""})
		if err != nil {
			return err
		}
		at := strings.TrimRight(r.stack.AMQPAPI, "/") + "/api/users/" + url.PathEscape(broker.User.Username())
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, at, bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("changing the broker's password of %s: %w", service, err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("changing the broker's password of %s: no answer", service) // the error would show the address
		}
		_, _ = io.Copy(io.Discard, response.Body) // the status says all
		_ = response.Body.Close()
		if response.StatusCode/100 != 2 {
			return fmt.Errorf("changing the broker's password of %s: %s", service, response.Status)
		}
	}
	return nil
}

// sealAgain has each service seal what it keeps under its new master key until nothing is left under the old one.
func (r *rotation) sealAgain(ctx context.Context) error {
	for _, service := range slices.Sorted(maps.Keys(r.users)) {
		process := r.stack.Of(service)[0]
		for range 2 { // what a process with the old key first has sealed meanwhile, too
			out, err := r.stack.Operate(ctx, process, r.changed(process, uses), "rotate-master")
			if err != nil {
				return err
			}
			r.say("sealed  %-28s %s", service, strings.TrimSpace(out))
		}
		r.count("master key replaced")
	}
	return nil
}

// end takes the first role of each database out of use, once nobody has a connection as it.
func (r *rotation) end(ctx context.Context) error {
	for service, database := range r.users {
		at, err := url.Parse(database)
		if err != nil {
			return fmt.Errorf("the database of %s has no URL", service)
		}
		first := strings.TrimSuffix(at.User.Username(), "_b")
		db, err := pgx.Connect(ctx, r.stack.Superuser[service])
		if err != nil {
			return fmt.Errorf("counting connections: %w", err)
		}
		var n int
		err = db.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE usename = $1", first).Scan(&n)
		if closed := db.Close(ctx); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("counting connections: %w", err)
		}
		if n > 0 {
			r.fault("%d connections as %s after the rotation", n, first)
		}
		if err := r.execute(ctx, service, "ALTER ROLE "+pgx.Identifier{first}.Sanitize()+" NOLOGIN"); err != nil {
			return err
		}
	}
	return nil
}

// execute runs a statement on a service's database as the superuser.
func (f *field) execute(ctx context.Context, service, statement string) error {
	db, err := pgx.Connect(ctx, f.stack.Superuser[service])
	if err != nil {
		return fmt.Errorf("changing roles: %w", err)
	}
	defer db.Close(context.WithoutCancel(ctx))
	if _, err := db.Exec(ctx, statement); err != nil {
		return fmt.Errorf("changing roles of %s: %w", service, err)
	}
	return nil
}
