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

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

// operations are the verbs of operators. Each uses the database alone; the running service sends the messages that it
// writes.
var operations = []command.Verb{
	{Name: "rescan", Args: "--network NETWORK [--mode live|test] --from HEIGHT --to HEIGHT", Run: rescanBlocks},
	{Name: "rewind", Args: "--network NETWORK [--mode live|test] [--to HEIGHT] --reason TEXT", Run: rewindScan},
	{Name: "scans", Run: showScans},
	{Name: "recovery", Run: showRecovery},
	{Name: "deposits", Args: "--tx HASH", Run: showTransaction},
	{Name: "import-key", Args: "--mode live|test --family bitcoin|evm|tron < XPUB", Run: importKey},
	{Name: "import-addresses", Args: "< BATCH", Run: func(ctx context.Context, in command.Input) error {
		if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
			return err
		}
		return operate(ctx, in, func(p *process) error { return p.importAddresses(ctx, in.In, in.Out) })
	}},
	{Name: "rotate-master", Run: func(ctx context.Context, in command.Input) error {
		if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
			return err
		}
		return operate(ctx, in, func(p *process) error { return p.rotateMaster(ctx, in) })
	}},
	{Name: "unexplained", Run: func(ctx context.Context, in command.Input) error {
		if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
			return err
		}
		return operate(ctx, in, func(p *process) error { return p.showUnexplained(ctx, in.Out) })
	}},
	{Name: "look", Args: "--network NETWORK --address ADDRESS --tx HASH", Run: lookAt},
	{Name: "tell-addresses", Run: func(ctx context.Context, in command.Input) error {
		if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
			return err
		}
		return operate(ctx, in, func(p *process) error {
			if err := p.book.TellAll(ctx); err != nil {
				return err
			}
			p.tel.Log.InfoContext(ctx, "owned addresses republished by operator", "operator", in.Operator())
			_, err := fmt.Fprintln(in.Out, "The running service sends payments every address again.")
			return err
		})
	}},
	{Name: "sweeps", Args: "[--release ID]", Run: func(ctx context.Context, in command.Input) error {
		var release string
		if err := in.FlagsOnly(func(f *flag.FlagSet) { f.StringVar(&release, "release", "", "sweep to release") }); err != nil {
			return err
		}
		return operate(ctx, in, func(p *process) error { return p.showSweeps(ctx, release, in.Out) })
	}},
}

// operate opens the parts of an operator's verb.
func operate(ctx context.Context, in command.Input, do func(*process) error) error {
	p, end, err := open(ctx, in.Environ)
	if err != nil {
		return err
	}
	defer end()
	if err := p.book.LoadVersions(ctx); err != nil {
		return err
	}
	return do(p)
}

func rescanBlocks(ctx context.Context, in command.Input) error {
	var network, mode string
	var from, to int64
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&network, "network", "", "network or alias")
		f.StringVar(&mode, "mode", string(tenant.Live), "live or test")
		f.Int64Var(&from, "from", -1, "first block")
		f.Int64Var(&to, "to", -1, "last block")
	})
	if err != nil {
		return err
	}
	if network == "" || from < 0 || to < from || !tenant.Mode(mode).Valid() {
		return in.Usage()
	}
	n, ok := money.NetworkOf(network)
	if !ok {
		return fmt.Errorf("no such network %q; there are %s", network, money.Pairs())
	}
	return operate(ctx, in, func(p *process) error {
		return rescan(ctx, p, scanner.Chain{Mode: tenant.Mode(mode), Network: n.Name}, from, to, in.Out)
	})
}

// showScans prints how far every network has been scanned, one JSON object a line.
func showScans(ctx context.Context, in command.Input) error {
	return operate(ctx, in, func(p *process) error {
		scans, err := p.book.Scans(ctx)
		lines := json.NewEncoder(in.Out)
		for _, c := range scans {
			if err := lines.Encode(c); err != nil {
				return err
			}
		}
		return err
	})
}

// showRecovery prints the remaining work of a recovery.
func showRecovery(ctx context.Context, in command.Input) error {
	return operate(ctx, in, func(p *process) error {
		since, err := p.book.Recovering(ctx)
		if err != nil {
			return err
		}
		if since == nil {
			_, err := fmt.Fprintln(in.Out, "no recovery is under way")
			return err
		}
		waits, err := p.book.PendingRescans(ctx)
		if err != nil {
			return err
		}
		if len(waits) == 0 {
			_, err := fmt.Fprintf(in.Out, "in recovery since %s, and done: restart without RECOVERY\n", since.UTC().Format(time.RFC3339))
			return err
		}
		for _, w := range waits {
			if _, err := fmt.Fprintf(in.Out, "the second look at %s (%s) is not done\n", w.Chain.Network, w.Chain.Mode); err != nil {
				return err
			}
		}
		return nil
	})
}

// rewindScan rewinds a scan to the fork between the scanned blocks and the endpoints' present chain.
func rewindScan(ctx context.Context, in command.Input) error {
	var network, mode, reason string
	var to int64
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&network, "network", "", "network or alias")
		f.StringVar(&mode, "mode", string(tenant.Live), "live or test")
		f.Int64Var(&to, "to", -1, "height at which the scan goes on; without it, the fork")
		f.StringVar(&reason, "reason", "", "why, for the audit")
	})
	if err != nil {
		return err
	}
	if network == "" || strings.TrimSpace(reason) == "" || !tenant.Mode(mode).Valid() {
		return in.Usage()
	}
	n, ok := money.NetworkOf(network)
	if !ok {
		return fmt.Errorf("no such network %q; there are %s", network, money.Pairs())
	}
	return operate(ctx, in, func(p *process) error {
		c := scanner.Chain{Mode: tenant.Mode(mode), Network: n.Name}
		return rewind(ctx, p, c, to, scanner.Note{Operator: in.Operator(), Reason: reason}, in.Out)
	})
}

// rewindTries bounds the searches for the fork that are repeated because the scan moved.
const rewindTries = 5

func rewind(ctx context.Context, p *process, c scanner.Chain, to int64, note scanner.Note, out io.Writer) error {
	scan, err := p.scanOf(c)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		plan, err := scanner.PlanRewind(ctx, c, scan.Driver, p.book, to)
		switch {
		case errors.Is(err, scanner.ErrOnChain):
			return writeJSON(out, map[string]any{"mode": c.Mode, "network": c.Network, "from": plan.From.Height, "fork": plan.From.Height, "reverted": 0})
		case err != nil:
			return err
		}
		taken, err := p.book.TakeBack(ctx, c, plan, note)
		if errors.Is(err, scanner.ErrMoved) && try < rewindTries {
			continue
		}
		if err != nil {
			return err
		}
		return writeJSON(out, map[string]any{
			"mode": c.Mode, "network": c.Network, "from": plan.From.Height, "fork": plan.Fork, "to": plan.To.Height, "hash": plan.To.Hash,
			"reverted": taken.Reverted, "outgoing": taken.Outgoing,
		})
	}
}

// scanOf returns the reader of a chain for an operator's verb.
func (p *process) scanOf(c scanner.Chain) (scanner.Reader, error) {
	chains, err := p.chains(workSettings{}, nil, scanner.NewMetrics(p.tel.Registry))
	if err != nil {
		return scanner.Reader{}, err
	}
	found, ok := chains.Reader(c)
	if !ok {
		return scanner.Reader{}, fmt.Errorf("%s has no endpoints: set the network's RPC_URLS", c)
	}
	return found, nil
}

func showTransaction(ctx context.Context, in command.Input) error {
	var tx string
	if err := in.FlagsOnly(func(f *flag.FlagSet) { f.StringVar(&tx, "tx", "", "transaction hash") }); err != nil {
		return err
	}
	if tx == "" {
		return in.Usage()
	}
	return operate(ctx, in, func(p *process) error { return showDeposits(ctx, p.book, tx, in.Out) })
}

func importKey(ctx context.Context, in command.Input) error {
	var mode, family string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&mode, "mode", string(tenant.Live), "live or test")
		f.StringVar(&family, "family", "", "bitcoin, evm or tron")
	})
	if err != nil {
		return err
	}
	slot := wallet.Slot{Mode: tenant.Mode(mode), Family: money.Family(family)}
	if !slot.Mode.Valid() {
		return in.Usage()
	}
	return operate(ctx, in, func(p *process) error { return p.importKey(ctx, slot, in.In, in.Out) })
}

func rescan(ctx context.Context, p *process, c scanner.Chain, from, to int64, out io.Writer) error {
	scan, err := p.scanOf(c)
	if err != nil {
		return err
	}
	looked, err := scan.Again(ctx, p.book, from, to, p.tel.Log)
	if err != nil {
		return err
	}
	return writeJSON(out, map[string]any{
		"mode": c.Mode, "network": c.Network, "from": from, "to": to, "blocks": looked.Blocks, "found": looked.Found, "told": looked.Told,
	})
}

// seenDeposit is a deposit in the form for an operator.
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

// showDeposits prints the deposits of a transaction. EVM hashes are stored in lower case with 0x, others unchanged.
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

// recover does the work of RECOVERY before anything is issued, or notes that the service runs normally again.
func (p *process) recover(ctx context.Context) error {
	if p.cfg.Recovery {
		return p.cases().Recover(ctx, p.book)
	}
	pending, err := p.book.PendingRescans(ctx)
	if err != nil {
		return err
	}
	for _, r := range pending {
		p.tel.Log.WarnContext(ctx, "recovery ended before second look", "chain", r.Chain.String())
	}
	return p.book.EndRecovery(ctx)
}
