package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"causeway.internal/deploy/chaos/internal/load"
	"causeway.internal/deploy/chaos/internal/prometheus"
)

// lookout is what the scenario alerts needs besides.
type lookout struct {
	program string        // prometheus
	rules   string        // directory
	only    string        // names of breaks with commas between
	chain   string        // control URL of the node of live ethereum, "" if there is none
	node    int           // its process
	longer  time.Duration // after the expected alerts, for those that nobody expects
}

// Times of the scenario alerts. The real rules judge the quiet part. Faster rules judge the breaks: prometheus.Faster
// divides their waits by the factor, so that a wait of a quarter of an hour takes a minute.
const (
	factor      = 15
	askEvery    = time.Second
	callEvery   = 200 * time.Millisecond
	fireWithin  = 3 * time.Minute
	clearWithin = 5 * time.Minute
)

// Rules of servers that the stack does not have are not judged, and burn rates not with the fast clock: they follow
// every error that another alert is about, over windows of days. promtool tests both.
const (
	clusterRules = "cluster.yml"
	slowRules    = "objectives.yml"
)

// breach is something that is broken, the alerts that must fire for it, and no others.
type breach struct {
	name string
	want []string
	live bool // it needs the node of a live network
	make func(ctx context.Context, f *field, p *prometheus.Server) (mend func(context.Context) error, err error)
}

// breaches are what the stack can break and the rules are about. Without messages payments hears of no blocks, and
// closes the networks.
var breaches = []breach{
	{name: "process", want: []string{"ProcessDown"}, make: killed("wallets-serve-2")},
	{name: "service", want: []string{"ErrorsServed", "ProcessDown", "ServiceDoesNotAnswer"}, make: killed("reports-serve", "reports-serve-2")},
	{name: "broker", want: []string{"BrokerLost", "BrokerNodeDown", "NetworkClosed", "OutboxOld"}, make: killed("rabbitmq")},
	{name: "alarm", want: []string{"BrokerAlarm", "NetworkClosed", "OutboxOld"}, make: alarmed},
	{name: "database", want: []string{"ErrorsServed", "KeyChangesUnheard", "PeriodicWorkFails"}, make: denied("gateway")},
	{name: "forged", want: []string{"DeadLetters", "ForgedMessages"}, make: forged},
	{name: "tokens", want: []string{"OperatorTokensRefused"}, make: guessed},
	{name: "passwords", want: []string{"SignInsRefused"}, make: guessedPasswords},
	{name: "prices", want: []string{"RateStale"}, make: unpriced},
	{name: "merchant", make: refused},
	{name: "workers", want: []string{"WorkersMissing"}, make: unseen("wallets", "work")},
	{name: "servers", want: []string{"ServersMissing"}, make: unseen("payments", "serve")},
	{name: "node", live: true, want: []string{"EndpointBad", "NetworkClosed"}, make: hung},
}

// alerts watches a healthy stack, and then one with one thing broken after the other.
func alerts(ctx context.Context, f *field) error {
	if f.lookout.program == "" {
		return errors.New("--prometheus is not given")
	}
	plain, err := filepath.Glob(filepath.Join(f.lookout.rules, "*.yml"))
	if err != nil || len(plain) == 0 {
		return fmt.Errorf("%s holds no rules", f.lookout.rules)
	}
	plain = slices.DeleteFunc(plain, func(path string) bool { return filepath.Base(path) == clusterRules })
	quick := slices.DeleteFunc(slices.Clone(plain), func(path string) bool { return filepath.Base(path) == slowRules })
	p, err := prometheus.Start(ctx, f.lookout.program, filepath.Join(f.stack.Dir(), "prometheus"), plain, quick, factor)
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := scrape(f, p, "", ""); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.mining = make(chan bool)
	go f.mine(ctx)
	go f.call(ctx)
	if err := quiet(ctx, f, p, plain); err != nil {
		return err
	}
	for _, b := range breaches {
		chosen := f.lookout.only == "" || slices.Contains(strings.Split(f.lookout.only, ","), b.name)
		if !chosen || b.live && f.lookout.chain == "" {
			continue
		}
		if err := b.play(ctx, f, p); err != nil {
			return fmt.Errorf("breaking %s: %w", b.name, err)
		}
	}
	return nil
}

// scrape lets Prometheus see every process but those of one role of a service.
func scrape(f *field, p *prometheus.Server, service, role string) error {
	all, err := f.stack.Metrics()
	if err != nil {
		return err
	}
	targets := []prometheus.Target{{URL: f.stack.BrokerMetrics, Labels: map[string]string{"job": "rabbitmq"}}}
	for _, m := range all {
		if m.Service != service || m.Role != role {
			labels := map[string]string{"job": "causeway", "service": m.Service, "role": m.Role}
			targets = append(targets, prometheus.Target{URL: m.URL, Labels: labels})
		}
	}
	return p.Scrape(targets)
}

// quiet lets the load run for the scenario's time. No alert of the real rules may fire in it, not for a moment.
func quiet(ctx context.Context, f *field, p *prometheus.Server, rules []string) error {
	began := time.Now()
	if !f.pause(ctx, f.share, f.share) {
		return nil
	}
	broken, err := p.Broken(ctx)
	if err != nil {
		return err
	}
	panels, err := filepath.Glob(filepath.Join(f.lookout.rules, "..", "..", "grafana", "dashboards", "*.json"))
	if err != nil {
		return err
	}
	missing, err := p.Missing(ctx, "rabbitmq_", slices.Concat(rules, panels)...)
	if err != nil {
		return err
	}
	fired, err := p.Fired(ctx, began)
	if err != nil {
		return err
	}
	for _, name := range broken {
		f.fault("a rule cannot be evaluated: %s", name)
	}
	for _, name := range missing {
		f.fault("rules or panels name %s, which the broker does not tell", name)
	}
	fired = slices.DeleteFunc(fired, always)
	for _, name := range fired {
		f.fault("%s fired on a healthy stack", name)
	}
	f.say("quiet   %-28s for %s", fmt.Sprint(fired), time.Since(began).Round(time.Second))
	return nil
}

// always says whether an alert fires whatever happens, so that its silence is noticed elsewhere.
func always(name string) bool { return name == "CausewayWatchdog" }

// play breaks one thing, waits for its alerts, looks for others, mends it, and waits until no alert is left.
func (b breach) play(ctx context.Context, f *field, p *prometheus.Server) error {
	if left, err := await(ctx, p, nil, clearWithin); err != nil || len(left) > 0 {
		f.fault("before %s was broken there were %v", b.name, left)
		return err
	}
	began := time.Now()
	mend, err := b.make(ctx, f, p)
	if err != nil {
		return err
	}
	f.count("broke " + b.name)
	seen, err := await(ctx, p, b.want, fireWithin)
	took := time.Since(began)
	if err == nil && f.pause(ctx, f.lookout.longer, f.lookout.longer) {
		seen, err = fast(ctx, p)
	}
	if err = errors.Join(err, mend(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	if !slices.Equal(seen, b.want) {
		f.fault("%s was broken: %v fire, not %v", b.name, seen, b.want)
	}
	began = time.Now()
	left, err := await(ctx, p, nil, clearWithin)
	if len(left) > 0 {
		f.fault("%s was mended: %v still fire", b.name, left)
	}
	f.say("broke   %-28s %v after %s, gone after %s", b.name, seen, took.Round(time.Second), time.Since(began).Round(time.Second))
	return err
}

// await waits until exactly those alerts fire and returns those that do at the end.
func await(ctx context.Context, p *prometheus.Server, want []string, within time.Duration) (seen []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		last, err := fast(ctx, p)
		if err == nil {
			seen = last
		}
		if err == nil && slices.Equal(seen, want) {
			return seen, nil
		}
		select {
		case <-ctx.Done():
			return seen, nil
		case <-time.After(askEvery):
		}
	}
}

func fast(ctx context.Context, p *prometheus.Server) ([]string, error) {
	names, err := p.Fast(ctx)
	return slices.DeleteFunc(names, always), err
}

// mine makes a block of the live network each second, as long as it may.
func (f *field) mine(ctx context.Context) {
	going := true
	for {
		select {
		case <-ctx.Done():
			return
		case going = <-f.mining:
		case <-time.After(time.Second):
			if going && f.lookout.chain != "" { // an error is a node that does not answer, as is wanted
				_, _ = load.Ask(ctx, http.MethodPost, f.lookout.chain+"/mine", "", map[string]any{"blocks": 1}, nil)
			}
		}
	}
}

// call looks things up, as merchants and everybody do.
func (f *field) call(ctx context.Context) {
	for i := 0; f.pause(ctx, callEvery, callEvery); i++ {
		address, token := f.stack.BaseURL+"/v1/payments?limit=5", f.merchant.APIKey
		if i%2 == 0 {
			address, token = fmt.Sprintf("%s/v1/reports/lookup?phoneNumber=%%2B23480%08d", f.stack.BaseURL, i), ""
		}
		_, _ = load.Ask(ctx, http.MethodGet, address, token, nil, nil) // what goes wrong is for the alerts to say
	}
}

// maker breaks something.
type maker = func(ctx context.Context, f *field, p *prometheus.Server) (mend func(context.Context) error, err error)

// killed has processes away.
func killed(names ...string) maker {
	return func(ctx context.Context, f *field, _ *prometheus.Server) (func(context.Context) error, error) {
		for _, name := range names {
			if err := f.stack.Kill(ctx, name); err != nil {
				return nil, err
			}
		}
		return func(ctx context.Context) error { return f.start(ctx, names...) }, nil
	}
}

// alarmed has the broker take nothing.
func alarmed(ctx context.Context, f *field, _ *prometheus.Server) (func(context.Context) error, error) {
	return func(ctx context.Context) error { return f.stack.Alarm(ctx, false) }, f.stack.Alarm(ctx, true)
}

// denied has a service's database away.
func denied(service string) maker {
	return func(ctx context.Context, f *field, _ *prometheus.Server) (func(context.Context) error, error) {
		return func(ctx context.Context) error { return f.stack.Deny(ctx, service, false) }, f.stack.Deny(ctx, service, true)
	}
}

// forgedQueue takes messages that are signed.
const forgedQueue = "payments.wallets.deposit_changed.v1"

// forged puts a message without a signature into a queue, and empties the dead queue afterwards.
func forged(ctx context.Context, f *field, _ *prometheus.Server) (func(context.Context) error, error) {
	api := f.stack.AMQPAPI + "/api"
	vhost := url.PathEscape(f.stack.Vhost)
	publish := map[string]any{
		"properties": map[string]any{}, "routing_key": forgedQueue, "payload": "{}", "payload_encoding": "string",
	}
	return func(ctx context.Context) error {
		return manage(ctx, http.MethodDelete, api+"/queues/"+vhost+"/"+forgedQueue+".dead/contents", nil)
	}, manage(ctx, http.MethodPost, api+"/exchanges/"+vhost+"/amq.default/publish", publish)
}

// manage calls the broker's management.
func manage(ctx context.Context, method, address string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return errors.New("the broker's management has no URL")
	}
	response, err := http.DefaultClient.Do(request)
	if failure, ok := errors.AsType[*url.Error](err); ok {
		err = failure.Err // the URL holds a password
	}
	if err != nil {
		return fmt.Errorf("asking the broker's management: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the broker's management answers %s", response.Status)
	}
	return nil
}

// guesses is less than an address may try at once.
const guesses = 18

// guessed has somebody try operators' tokens.
func guessed(ctx context.Context, f *field, _ *prometheus.Server) (func(context.Context) error, error) {
	for i := range guesses {
		token := fmt.Sprintf("op_guess_%d", i)
		if _, err := load.Ask(ctx, http.MethodGet, f.stack.BaseURL+"/v1/admin/payments", token, nil, nil); err != nil {
			return nil, err
		}
	}
	return func(context.Context) error { return nil }, nil
}

// wrongPasswords are more refusals than the rule allows; an account is answered without looking after ten.
const wrongPasswords = 80

// guessedPasswords has somebody try passwords at the merchants' console.
func guessedPasswords(ctx context.Context, f *field, _ *prometheus.Server) (func(context.Context) error, error) {
	form := url.Values{"login": {"ada@acme.example"}, "password": {"correct horse"}}.Encode()
	for range wrongPasswords {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.stack.BaseURL+"/console/sign-in", strings.NewReader(form))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		if err := answer.Body.Close(); err != nil {
			return nil, err
		}
	}
	return func(context.Context) error { return nil }, nil
}

// unpriced has a process ask exchanges for prices that it cannot reach.
func unpriced(ctx context.Context, f *field, _ *prometheus.Server) (func(context.Context) error, error) {
	const name, nowhere = "payments-work-2", "http://127.0.0.1:9"
	again := func(ctx context.Context, settings ...string) error {
		return errors.Join(f.stack.Stop(ctx, name), f.stack.Start(ctx, name, settings...))
	}
	mend := func(ctx context.Context) error { return again(ctx) }
	return mend, again(ctx, "RATES_TEST=market", "HTTPS_PROXY="+nowhere, "HTTP_PROXY="+nowhere)
}

// refused has a merchant's endpoint refuse everything, which is the merchant's trouble and nobody else's.
func refused(_ context.Context, f *field, _ *prometheus.Server) (func(context.Context) error, error) {
	f.receiver.Refuse(true)
	return func(context.Context) error { f.receiver.Refuse(false); return nil }, nil
}

// unseen has a role of a service gone from Prometheus.
func unseen(service, role string) maker {
	return func(_ context.Context, f *field, p *prometheus.Server) (func(context.Context) error, error) {
		return func(context.Context) error { return scrape(f, p, "", "") }, scrape(f, p, service, role)
	}
}

// hung has the node of a live network take connections and not answer.
func hung(_ context.Context, f *field, _ *prometheus.Server) (func(context.Context) error, error) {
	f.mining <- false
	return func(context.Context) error {
		err := syscall.Kill(f.lookout.node, syscall.SIGCONT)
		f.mining <- true
		return err
	}, syscall.Kill(f.lookout.node, syscall.SIGSTOP)
}
