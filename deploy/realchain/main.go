// Command realchain runs real chain software on loopback for tests: `realchain evm` is go-ethereum's simulated backend
// behind a plain HTTP JSON-RPC port, with a second port that mines, transfers, reorganises and breaks it on request.
//
// It prints one JSON line when it is ready and stops on SIGINT, SIGTERM or, with --until-stdin-ends, when its parent goes
// away. It is a module of its own outside go.work, so that go-ethereum never raises a service's dependencies; it may not
// be imported by anything and holds test money only.
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
	"syscall"
	"time"

	"causeway.internal/deploy/realchain/internal/evm"
)

const usage = "usage: realchain evm [flags]; it prints one JSON line when ready"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "realchain:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. Standard input is read only with --until-stdin-ends.
func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) == 0 || args[0] != "evm" {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("realchain evm", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "loopback address of the JSON-RPC port")
	control := flags.String("control", "127.0.0.1:0", "loopback address of the control port")
	chainID := flags.Int64("chain-id", 1337, "chain id of the node")
	blockTime := flags.Duration("block-time", 0, "mine a block this often; 0 mines only when asked")
	final := flags.Int64("finality", 64, "blocks by which the finalized tag trails the head")
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
	server, err := evm.Start(ctx, evm.Config{
		Listen: *listen, Control: *control, ChainID: *chainID, BlockTime: *blockTime, Finality: *final, Now: time.Now,
	})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(stdout).Encode(server.Ready()); err != nil {
		return errors.Join(fmt.Errorf("printing the ready line: %w", err), server.Close())
	}
	<-ctx.Done()
	return server.Close()
}
