package main

import (
	"context"
	"fmt"

	"causeway.internal/libs/command"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/operator"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweeper"
)

var operations = []command.Verb{
	{Name: "rescan", Args: "--network NETWORK [--mode live|test] --from HEIGHT --to HEIGHT", Run: operate(operator.Rescan)},
	{Name: "rewind", Args: "--network NETWORK [--mode live|test] [--to HEIGHT] --reason TEXT", Run: operate(operator.Rewind)},
	{Name: "scans", Run: operate(operator.Scans)},
	{Name: "recovery", Run: operate(operator.Recovery)},
	{Name: "deposits", Args: "--tx HASH", Run: operate(operator.Deposits)},
	{Name: "import-key", Args: "--mode live|test --family bitcoin|evm|tron < XPUB", Run: operate(operator.ImportKey)},
	{Name: "import-addresses", Args: "< BATCH", Run: operate(operator.ImportAddresses)},
	{Name: "rotate-master", Run: operate(operator.RotateMaster)},
	{Name: "unexplained", Run: operate(operator.Unexplained)},
	{Name: "look", Args: "--network NETWORK --address ADDRESS --tx HASH", Run: operate(operator.Look)},
	{Name: "journals", Args: "--month 2026-10 [--mode live|test]", Run: operate(operator.Journals)},
	{Name: "tell-addresses", Run: operate(operator.TellAddresses)},
	{Name: "tell-refunds", Args: "--from TIME", Run: operate(operator.TellRefunds)},
	{Name: "sweeps", Args: "[--release ID | --give-up ID --foreign HASH --reason TEXT]", Run: operate(operator.Sweeps)},
	{Name: "outputs", Args: "[--accept TX:NUMBER --reason TEXT]", Run: operate(operator.Outputs)},
	{Name: "refunds", Args: "[--release ID | --give-up ID [--foreign HASH --reason TEXT]]", Run: operate(operator.Refunds)},
}

// operate makes a verb of a function that reads its flags and returns the operation.
func operate(read func(in command.Input) (operator.Operation, error)) func(ctx context.Context, in command.Input) error {
	return func(ctx context.Context, in command.Input) error {
		do, err := read(in)
		if err != nil {
			return err
		}
		p, err := open(ctx, in.Environ, false)
		if err != nil {
			return err
		}
		defer p.close()
		if err := p.book.LoadVersions(ctx); err != nil {
			return err
		}
		return do(ctx, operator.Parts{
			Store: p.book, Cases: p.cases(keys.Sources{}, nil), Keys: p.keeper, Reader: p.reader, Judge: p.judge, Log: p.tel.Log,
		})
	}
}

// reader returns the reader of a chain for an operator's verb.
func (p *process) reader(of scanner.Chain) (scanner.Reader, error) {
	chains, err := p.chains(nil)
	if err != nil {
		return scanner.Reader{}, err
	}
	found, ok := chains.Reader(of)
	if !ok {
		return scanner.Reader{}, fmt.Errorf("%s has no endpoints: set the network's RPC_URLS", of)
	}
	return found, nil
}

// judge returns the judge of refunds on a live network for an operator's verb.
func (p *process) judge(live string) (sweeper.Judge, error) {
	chains, err := p.chains(nil)
	if err != nil {
		return sweeper.Judge{}, err
	}
	judge, ok := chains.Judge(live)
	if !ok {
		return judge, fmt.Errorf("%s has no endpoints, or shows no foreign transactions: set the network's RPC_URLS", live)
	}
	return judge, nil
}
