package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/audit"
	"causeway.internal/deploy/chaos/internal/latch"
	"causeway.internal/deploy/chaos/internal/livenet"
	"causeway.internal/deploy/chaos/internal/load"
)

// signer is the process that holds the keys of the live networks.
const signer = "signer"

// sweepSteps are the rows that wallets writes while it sweeps.
var sweepSteps = []latch.Step{
	{Name: "sweep opened", Database: "wallets", Event: "AFTER INSERT ON sweeps"},
	{Name: "sweep planned", Database: "wallets", Event: "AFTER INSERT ON outgoing_tx"},
	{Name: "sweep signed", Database: "wallets", Event: "AFTER UPDATE ON outgoing_tx", When: "NEW.state = 'signed' AND OLD.state <> 'signed'"},
	{Name: "sweep sent", Database: "wallets", Event: "AFTER UPDATE ON outgoing_tx", When: "NEW.state = 'broadcast' AND OLD.state <> 'broadcast'"},
	{Name: "sweep mined", Database: "wallets", Event: "AFTER UPDATE ON outgoing_tx", When: "NEW.state = 'mined' AND OLD.state <> 'mined'"},
	{Name: "sweep final", Database: "wallets", Event: "AFTER UPDATE ON outgoing_tx", When: "NEW.state = 'final' AND OLD.state <> 'final'"},
}

// sweeps kills what takes part in sweeps, at their steps and at random moments.
func sweeps(ctx context.Context, f *field) error {
	if f.networks == nil {
		return errors.New("no network is live: run this with `chaos live`")
	}
	return forever(
		sweepStep, sweepStep, sweepStep, sweepStep, outStep, outStep, signerDown, signerDown, signerStop, oneOf("wallets"), oneOf("payments"), rabbit, postgres,
	)(ctx, f)
}

// sweepStep ends every replica of wallets, or the signer, at the moment when a row of a sweep is held, or has just been
// let through.
func sweepStep(ctx context.Context, f *field) error {
	if err := f.latches(ctx); err != nil {
		return err
	}
	i, after := f.random.IntN(len(sweepSteps)), f.random.IntN(2) == 0
	names := f.workers("wallets")
	if f.random.IntN(3) == 0 {
		names = []string{signer}
	}
	return f.killAt(ctx, len(steps)-1+i, after, names) // behind the steps of a payment
}

// killAt ends processes at the moment when a row of a step is held, or has just been let through.
func (f *field) killAt(ctx context.Context, number int, after bool, names []string) error {
	shoot, err := f.stack.Shots(names...)
	if err != nil {
		return err
	}
	what := latched[number].Name
	err = f.atRow(ctx, cell{number, names[0], after}, shoot)
	if errors.Is(err, latch.ErrUnseen) {
		f.say("step    %s: nothing came by within %s", what, reachWithin)
		return nil
	}
	if err != nil {
		return err
	}
	f.strike(ctx) // what was under way still is: nobody is up to end it
	moment := "during"
	if after {
		moment = "after"
	}
	f.count("kill -9 " + moment + " " + what)
	f.pause(ctx, 0, time.Second)
	if err := f.start(ctx, names...); err != nil {
		return err
	}
	f.say("kill -9 %-28s %s %s", names[0], moment, what)
	return nil
}

func signerDown(ctx context.Context, f *field) error {
	return down(ctx, f, signer, true, 3*time.Second)
}

func signerStop(ctx context.Context, f *field) error {
	return down(ctx, f, signer, false, 3*time.Second)
}

// oneOf ends one process of a service.
func oneOf(service string) act {
	return func(ctx context.Context, f *field) error {
		names := f.workers(service)
		return down(ctx, f, names[f.random.IntN(len(names))], true, 3*time.Second)
	}
}

// workers are the processes of a service that work beside requests.
func (f *field) workers(service string) []string {
	if names := f.stack.Replicas(service + "-work"); len(names) > 0 {
		return names
	}
	return f.stack.Replicas(service)
}

// Money under way: networks with transactions, and kinds of outgoing money.
const (
	underwayNetworks = `SELECT DISTINCT network FROM outgoing_tx WHERE mode = 'live' AND state IN ('planned', 'signed', 'broadcast', 'mined')`

	underwayKinds = `SELECT kind FROM (VALUES
		('` + audit.Withdrawals + `', EXISTS (SELECT FROM withdrawals WHERE state IN ('requested', 'approved', 'sending'))),
		('` + audit.Draws + `', EXISTS (SELECT FROM draws WHERE state NOT IN ('confirmed', 'failed'))),
		('` + audit.Strays + `', EXISTS (SELECT FROM payments p LEFT JOIN refunds r ON r.payment_id = p.id
			WHERE p.type = 'stray' AND p.status = 'needs_review' AND coalesce(r.state, '') <> 'failed'))
	) AS kinds (kind, moves) WHERE moves`
)

// strike notes on which networks and of which kinds money is under way when something is ended.
func (f *field) strike(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	names := f.underway(ctx, "payments", underwayKinds)
	if f.networks != nil {
		names = append(names, f.underway(ctx, "wallets", underwayNetworks)...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		f.struck[name]++
	}
}

// underway asks a database what is under way; one that is down, or of an earlier release, says nothing.
func (f *field) underway(ctx context.Context, service, query string) []string {
	db, err := pgx.Connect(ctx, f.stack.Superuser[service])
	if err != nil {
		return nil
	}
	defer db.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it was only read
	rows, err := db.Query(ctx, query)
	if err != nil {
		return nil
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil
	}
	return names
}

// furnish readies the live networks: stations, addresses of solana, blocks.
func (f *field) furnish(ctx context.Context) error {
	socket, err := f.stack.Setting(signer, "SIGNER_SOCKET")
	if err != nil {
		return err
	}
	if err := f.networks.Furnish(ctx, socket); err != nil {
		return err
	}
	if f.networks.Batch == "" {
		return nil
	}
	batch, err := os.Open(f.networks.Batch)
	if err != nil {
		return fmt.Errorf("opening the signer's addresses: %w", err)
	}
	defer batch.Close() //nolint:errcheck // it is only read
	return f.stack.Do(ctx, f.workers("wallets")[0], batch, "import-addresses")
}

// live is the load of the live networks: each payment takes the next pair.
func (f *field) live() load.Config {
	var pairs []load.Pair
	for i := 0; ; i++ { // one asset of each network after the other
		before := len(pairs)
		for _, c := range f.networks.Chains {
			if i < len(c.Pays) {
				pairs = append(pairs, load.Pair{Crypto: c.Pays[i], Network: c.Network})
			}
		}
		if len(pairs) == before {
			break
		}
	}
	payers, books := map[string]string{}, map[string]string{}
	for _, c := range f.networks.Chains {
		payers[c.Network], books[c.Network] = c.Payer, c.Merchant
	}
	strays := slices.DeleteFunc(slices.Clone(pairs), func(p load.Pair) bool { return payers[p.Network] == "" })
	return load.Config{Pairs: pairs, Transfer: f.transfer, Payers: payers, Books: books, Strays: strays}
}

// transfer pays on a live network.
func (f *field) transfer(ctx context.Context, pair load.Pair, address, amount string) error {
	i := slices.IndexFunc(f.networks.Chains, func(c livenet.Chain) bool { return c.Network == pair.Network })
	if i < 0 {
		return fmt.Errorf("nobody pays on %s", pair.Network)
	}
	c := f.networks.Chains[i]
	asset, known := c.Asset(pair.Crypto)
	if !known {
		return fmt.Errorf("nobody pays in %s on %s", pair.Crypto, pair.Network)
	}
	units, err := asset.Units(amount)
	if err != nil {
		return err
	}
	token := asset.Symbol
	if asset.Contract == "" {
		token = ""
	}
	_, err = c.Node.Pay(ctx, token, address, units.String())
	return err
}

// networkLine is the line of a live network in the report.
func networkLine(n audit.Network, kills int) string {
	per, returned := "", ""
	if n.CostPerUSD != "" {
		per = ", " + n.CostPerUSD + " per collected $"
	}
	if n.Returned != "" {
		returned = "; " + n.Returned + " of rent came back"
	}
	return fmt.Sprintf("network     %-9s %d sweeps, %d refunds, %d withdrawals, %d transactions, %d kills; sweeps brought %s and cost %s%s; refunds and withdrawals cost %s%s; holds %s",
		n.Name, n.Sweeps, n.Refunds, n.Draws, n.Transactions, kills, n.Collected, n.Cost, per, n.RefundCost, returned, n.Held)
}

// kindLine is the line of a kind of outgoing money in the report.
func kindLine(k audit.Kind, kills int) string {
	cost := ""
	if k.Cost != "" {
		cost = "; the networks took " + k.Cost
	}
	return fmt.Sprintf("out of      %-9s %s, %d kills; sent %s%s", k.Name, k.Counts, kills, k.Sent, cost)
}

// proofLine is the line of a law in the report.
func proofLine(p audit.Proof) string {
	if p.Faults > 0 {
		return fmt.Sprintf("law         BROKEN %s: %s, %d faults", p.Law, p.Of, p.Faults)
	}
	return fmt.Sprintf("law         %s: %s", p.Law, p.Of)
}
