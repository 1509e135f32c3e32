package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"causeway.internal/libs/config"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
	"causeway.internal/services/wallets/migrations"
)

// operate runs a verb of an operator against the database: rescan, deposits and the imports. Messages that it writes are
// sent by the running service.
func operate(ctx context.Context, environ map[string]string, verb string, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("wallets "+verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	network := flags.String("network", "", "network or alias")
	mode := flags.String("mode", string(wallet.Live), "live or test")
	from := flags.Int64("from", -1, "first block")
	to := flags.Int64("to", -1, "last block")
	tx := flags.String("tx", "", "transaction hash")
	release := flags.String("release", "", "sweep to release")
	family := flags.String("family", "", "bitcoin, evm or tron")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return errUsage
	}
	switch {
	case verb == "rescan" && (*network == "" || *from < 0 || *to < *from || !wallet.Mode(*mode).Valid()):
		return errUsage
	case verb == "deposits" && *tx == "":
		return errUsage
	}
	cfg, err := config.Read[common](environ)
	if err != nil {
		return err
	}
	tel, err := telemetry.Start(ctx, service, cfg.Telemetry)
	if err != nil {
		return err
	}
	defer tel.Flush(context.WithoutCancel(ctx))
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, tel)
	if err != nil {
		return err
	}
	defer db.Close()
	p := &process{cfg: cfg, environ: environ, tel: tel, group: lifecycle.New(tel.Log, cfg.Drain), taken: func(string) {}}
	if err := cfg.World.read(p); err != nil {
		return err
	}
	p.book = store.New(db, messaging.Out{Now: time.Now}, store.Settings{Nets: p.nets, Depths: p.depths, Now: time.Now, Strayed: p.strayed()})
	if err := p.book.LoadVersions(ctx); err != nil {
		return err
	}
	switch verb {
	case "deposits":
		return showDeposits(ctx, p.book, *tx, out)
	case "import-key":
		return p.importKey(ctx, wallet.Slot{Mode: wallet.Mode(*mode), Family: money.Family(*family)}, in, out)
	case "sweeps":
		return p.showSweeps(ctx, *release, out)
	case "import-addresses":
		return p.importAddresses(ctx, in, out)
	}
	n, ok := money.NetworkOf(*network)
	if !ok {
		return fmt.Errorf("no such network %q; there are %s", *network, money.Pairs())
	}
	return rescan(ctx, p, scanner.Chain{Mode: wallet.Mode(*mode), Network: n.Name}, *from, *to, out)
}

func rescan(ctx context.Context, p *process, c scanner.Chain, from, to int64, out io.Writer) error {
	chains, err := newChains(workSettings{}, p.cfg.World, p.book, p.tel, scanner.NewMetrics(p.tel.Registry))
	if err != nil {
		return err
	}
	scan, ok := chains.scans[c]
	if !ok {
		return fmt.Errorf("%s has no endpoints: set the network's RPC_URLS", c)
	}
	looked, err := scanner.Again(ctx, c, scan.driver, p.book, scan.watch, scan.prefetch, from, to, p.tel.Log)
	if err != nil {
		return err
	}
	return writeJSON(out, map[string]any{
		"mode": c.Mode, "network": c.Network, "from": from, "to": to, "blocks": looked.Blocks, "found": looked.Found, "told": looked.Told,
	})
}

// seenDeposit is a deposit as an operator is shown it.
type seenDeposit struct {
	Key         string    `json:"key"`
	Mode        string    `json:"mode"`
	Network     string    `json:"network"`
	Address     string    `json:"address"`
	WalletID    string    `json:"walletId"`
	MerchantID  string    `json:"merchantId,omitempty"` // of a standalone wallet
	Wallet      string    `json:"walletStatus,omitempty"`
	Asset       string    `json:"asset"`
	Units       string    `json:"units"`
	State       string    `json:"state"`
	Depth       int64     `json:"depth"`
	Final       bool      `json:"final"`
	BlockHeight int64     `json:"blockHeight"`
	BlockHash   string    `json:"blockHash"`
	Version     int64     `json:"version"`
	FirstSeenAt time.Time `json:"firstSeenAt"`
}

// showDeposits prints what a transaction brought. EVM hashes are stored in lower case with 0x, others as they are.
func showDeposits(ctx context.Context, book *store.Store, tx string, out io.Writer) error {
	list, err := book.DepositsOf(ctx, tx, strings.ToLower(tx), "0x"+strings.ToLower(tx))
	if err != nil {
		return err
	}
	ids := make([]string, len(list))
	for i, d := range list {
		ids[i] = d.WalletID
	}
	owners, err := book.OwnersOf(ctx, ids)
	if err != nil {
		return err
	}
	byID := make(map[string]wallet.Wallet, len(owners))
	for _, w := range owners {
		byID[w.ID] = w
	}
	shown := make([]seenDeposit, len(list))
	for i, d := range list {
		w := byID[d.WalletID]
		shown[i] = seenDeposit{
			d.Key(), string(d.Mode), d.Network, d.Address, d.WalletID, w.MerchantID, string(w.Status), d.Asset, d.Amount.String(), string(d.State), d.Depth,
			d.Finalized, d.BlockHeight, d.BlockHash, d.Version, d.FirstSeenAt.UTC(),
		}
	}
	return writeJSON(out, shown)
}

func writeJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// secondLookEvery is how often a failed second look is tried again.
const secondLookEvery = 10 * time.Second

// secondLook scans again what lies 24 hours before a restore, once per chain, on whichever replica leads.
func (p *process) secondLook(chains *chains) func(context.Context) error {
	return func(ctx context.Context) error {
		return postgres.Lead(ctx, p.cfg.Postgres, "wallets second look", p.tel.Log, func(ctx context.Context) error {
			tick := time.NewTicker(secondLookEvery)
			defer tick.Stop()
			for {
				if err := p.lookAgain(ctx, chains); err != nil && ctx.Err() == nil {
					p.tel.Log.WarnContext(ctx, "second look not finished, it is tried again", "err", err)
				}
				select {
				case <-ctx.Done():
					return nil
				case <-tick.C:
				}
			}
		})
	}
}

func (p *process) lookAgain(ctx context.Context, chains *chains) error {
	pending, err := p.book.PendingRescans(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for _, r := range pending {
		scan, ok := chains.scans[r.Chain]
		if !ok {
			problems = append(problems, fmt.Errorf("%s has no endpoints any more", r.Chain))
			continue
		}
		looked, err := scanner.AfterRestore(ctx, r, scan.driver, p.book, scan.watch, scan.prefetch, p.tel.Log)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		p.tel.Log.InfoContext(ctx, "second look after a restore", "chain", r.Chain.String(), "blocks", looked.Blocks, "found", looked.Found, "told", looked.Told)
	}
	return errors.Join(problems...)
}

// recover does what RECOVERY asks for before anything is issued, or notes that the service runs normally again.
func (p *process) recover(ctx context.Context) error {
	if p.cfg.Recovery {
		return p.cases().Recover(ctx, p.book)
	}
	pending, err := p.book.PendingRescans(ctx)
	if err != nil {
		return err
	}
	for _, r := range pending {
		p.tel.Log.WarnContext(ctx, "recovery is ended before its second look at a chain was done", "chain", r.Chain.String())
	}
	return p.book.EndRecovery(ctx)
}
