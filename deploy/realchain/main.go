// Command realchain runs real chain software on loopback for tests: `realchain evm` is go-ethereum's simulated backend,
// `realchain bitcoin` is btcd on regtest, `realchain solana` is Surfpool's VM, `realchain tron` an imitation, since
// TRON's software cannot be had; each behind a plain port for clients and with a second port that mines, transfers,
// reorganises and breaks it on request.
//
// It prints one JSON line when it is ready and stops on SIGINT, SIGTERM or, with --until-stdin-ends, when its parent
// goes away. It is a module of its own outside go.work, so that no chain's software ever raises a service's
// dependencies; it may not be imported by anything and holds test money only.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"causeway.internal/deploy/realchain/internal/bitcoin"
	"causeway.internal/deploy/realchain/internal/evm"
	"causeway.internal/deploy/realchain/internal/node"
	"causeway.internal/deploy/realchain/internal/solana"
	"causeway.internal/deploy/realchain/internal/tron"
)

const usage = "usage: realchain evm|bitcoin|solana|tron [flags]; it prints one JSON line when ready"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "realchain:", err)
		os.Exit(1)
	}
}

// options are the flags of every chain.
type options struct {
	listen, control, btcd, surfpool string
	txIndex                         bool
	chainID, final, decimals        int64
	blockTime                       time.Duration
}

// starts begin the chains by name and return what the ready line says.
var starts = map[string]func(context.Context, options) (server io.Closer, ready any, err error){
	"evm": func(ctx context.Context, o options) (io.Closer, any, error) {
		s, err := evm.Start(ctx, evm.Config{
			Listen: o.listen, Control: o.control, ChainID: o.chainID, Decimals: o.decimals,
			BlockTime: o.blockTime, Finality: o.final, Now: time.Now,
		})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Ready(), nil
	},
	"bitcoin": func(ctx context.Context, o options) (io.Closer, any, error) {
		return started(bitcoin.Start(ctx, bitcoin.Binary{Path: o.btcd, TxIndex: o.txIndex}, o.node()))
	},
	"solana": func(ctx context.Context, o options) (io.Closer, any, error) {
		return started(solana.Start(ctx, o.surfpool, o.node()))
	},
	"tron": func(ctx context.Context, o options) (io.Closer, any, error) {
		return started(tron.Start(ctx, o.node()))
	},
}

func (o options) node() node.Config {
	return node.Config{Listen: o.listen, Control: o.control, Now: time.Now}
}

func started(s *node.Server, err error) (io.Closer, any, error) {
	if err != nil {
		return nil, nil, err
	}
	return s, s.Ready(), nil
}

// beside names a file in the directory of this binary.
func beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}

// run serves until ctx ends. Standard input is read only with --until-stdin-ends.
func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) == 0 || starts[args[0]] == nil {
		return errors.New(usage)
	}
	var o options
	flags := flag.NewFlagSet("realchain "+args[0], flag.ContinueOnError)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "loopback address of the clients' port")
	flags.StringVar(&o.control, "control", "127.0.0.1:0", "loopback address of the control port")
	flags.Int64Var(&o.chainID, "chain-id", 1337, "evm: chain id of the node")
	flags.Int64Var(&o.decimals, "decimals", 6, "evm: decimals of the tokens")
	flags.DurationVar(&o.blockTime, "block-time", 0, "evm: mine a block this often; 0 mines only when asked")
	flags.Int64Var(&o.final, "finality", 64, "evm: blocks by which the final block trails the head")
	flags.StringVar(&o.btcd, "btcd", beside("btcd"), "bitcoin: the node's binary")
	flags.BoolVar(&o.txIndex, "txindex", true, "bitcoin: keep an index of transactions")
	flags.StringVar(&o.surfpool, "surfpool", beside("../surfpool/node_modules/surfpool-sdk-linux-x64-gnu/surfpool-sdk.linux-x64-gnu.node"),
		"solana: Surfpool's native module, which `npm ci` in deploy/realchain/surfpool installs")
	untilEOF := flags.Bool("until-stdin-ends", false, "stop when standard input ends, so that a killed parent leaves nothing behind")
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("reading flags: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *untilEOF {
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}
	server, ready, err := starts[args[0]](ctx, o)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(stdout).Encode(ready); err != nil {
		return errors.Join(fmt.Errorf("printing the ready line: %w", err), server.Close())
	}
	<-ctx.Done()
	return server.Close()
}
