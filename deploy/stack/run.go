package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/product"
	"causeway.internal/deploy/stack/internal/state"
	"causeway.internal/deploy/stack/internal/walk"
)

// run starts everything, shows one payment from creation to settled, and stays until it is stopped.
func (l *launcher) run(ctx context.Context) error {
	release, err := l.own()
	if err != nil {
		return err
	}
	defer release()
	if err := l.bringUp(ctx); err != nil {
		return err
	}
	st, err := state.Load(l.dir)
	if err == nil && !l.infra {
		err = l.show(ctx, st)
	}
	if err == nil {
		err = l.watch(ctx)
	}
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, l.con.Step("stop everything", l.takeDown))
}

func (l *launcher) show(ctx context.Context, st *state.State) error {
	reference, err := walk.Payment(ctx, l.con, st.Product)
	if err == nil {
		err = walk.Gift(ctx, l.con, st.Product)
	}
	if err == nil {
		err = walk.Request(ctx, l.con, st.Product)
	}
	if err != nil {
		for _, name := range []string{"payments", "wallets", "callback-dispatcher", "gateway"} {
			log := state.LogDir(l.dir) + "/" + name + ".log"
			l.con.Quote("last lines of "+log, process.Tail(log, 8))
		}
		return fmt.Errorf("walk a payment: %w", err)
	}
	merchant, operator, err := l.product().Links(ctx)
	if err != nil {
		return err
	}
	l.con.Print("%s", banner(st.Product, l.dir, reference)+links(merchant, operator))
	return nil
}

// links says how a newcomer gets into the consoles.
func links(merchant, operator string) string {
	if merchant == "" {
		return ""
	}
	return fmt.Sprintf(`
  the consoles (each link works once, within a day):
    merchant  %s
    operator  %s
`, merchant, operator)
}

func banner(p state.Product, dir, reference string) string {
	return strings.NewReplacer("{url}", p.BaseURL, "{key}", p.APIKey, "{dir}", dir, "{ref}", reference).Replace(`
Causeway is up. ctrl-C stops everything.

  URL     {url}
  key     {key}   (test mode, every permission)
  more    {dir}/env holds BASE_URL, API_KEY, ADMIN_TOKEN and WEBHOOK_SECRET; logs are in {dir}/log

  the payment of the walk:
    curl -s {url}/v1/payments/{ref} -H 'Authorization: Bearer {key}'; echo

  another one:
    REF=$(curl -s {url}/v1/payments -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{"type":"transfer","fiatAmount":50000,"fiatCurrency":"NGN","crypto":"USDT","network":"tron","chargeFrom":"fiat","payer":{"chatId":"you"},"receiver":{"bankCode":"058","accountNumber":"0123456789"}}' | sed 's/.*"reference":"\([^"]*\)".*/\1/'); echo $REF

  and its deposit:
    curl -s -X POST {url}/v1/sandbox/payments/$REF/deposits -H 'Authorization: Bearer {key}'; echo
`)
}

const (
	restartsMax   = 5
	restartWindow = time.Minute
)

// watch restarts a process that ended without a stop, and gives up on one that ends too often.
func (l *launcher) watch(ctx context.Context) error {
	restarts := map[string][]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(500 * time.Millisecond):
		}
		st, err := state.Load(l.dir)
		if err != nil {
			return err
		}
		for _, one := range st.Processes {
			if one.Stopped || one.Ref.Alive() {
				continue
			}
			l.con.Print("%s has ended", one.Name)
			l.con.Quote("last lines of "+one.Spec.Log, process.Tail(one.Spec.Log, 12))
			recent := restarts[one.Name]
			if len(recent) >= restartsMax && time.Since(recent[len(recent)-restartsMax]) < restartWindow {
				return fmt.Errorf("%s ended %d times within %s", one.Name, restartsMax+1, restartWindow)
			}
			restarts[one.Name] = append(recent, time.Now())
			err := l.con.Step("start "+one.Name+" again", func() error { return l.restart(ctx, one.Name) })
			if err != nil && ctx.Err() == nil && !product.IsService(one.Name) {
				return err
			}
		}
	}
}
