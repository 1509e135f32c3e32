package evm

import (
	"errors"
	"fmt"
	"maps"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/eth/tracers"
	_ "github.com/ethereum/go-ethereum/eth/tracers/native" // callTracer
	"github.com/ethereum/go-ethereum/ethclient"
	ethnode "github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

// backend is go-ethereum as ethclient/simulated puts it together, and with its tracing API, which that leaves out.
type backend struct {
	node    *ethnode.Node
	service *eth.Ethereum
	beacon  *catalyst.SimulatedBeacon
	client  *ethclient.Client
}

func newBackend(alloc types.GenesisAlloc, configure func(*ethnode.Config, *ethconfig.Config)) (*backend, error) {
	nodeConf := ethnode.DefaultConfig
	nodeConf.DataDir = ""
	nodeConf.P2P = p2p.Config{NoDiscovery: true}
	genesis := core.SystemContractAllocs()
	maps.Copy(genesis, alloc)
	ethConf := ethconfig.Defaults
	ethConf.Genesis = &core.Genesis{Config: params.AllDevChainProtocolChanges, GasLimit: ethconfig.Defaults.Miner.GasCeil, Alloc: genesis}
	ethConf.SyncMode, ethConf.TxPool.NoLocals, ethConf.LogNoHistory = ethconfig.FullSync, true, true
	configure(&nodeConf, &ethConf)
	stack, err := ethnode.New(&nodeConf)
	if err != nil {
		return nil, fmt.Errorf("making the node: %w", err)
	}
	b := &backend{node: stack}
	if err := b.start(&ethConf); err != nil {
		return nil, errors.Join(err, stack.Close())
	}
	return b, nil
}

func (b *backend) start(conf *ethconfig.Config) error {
	service, err := eth.New(b.node, conf)
	if err != nil {
		return fmt.Errorf("making the service: %w", err)
	}
	b.node.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: filters.NewFilterAPI(filters.NewFilterSystem(service.APIBackend, filters.Config{}))}})
	b.node.RegisterAPIs(tracers.APIs(service.APIBackend))
	if err := b.node.Start(); err != nil {
		return fmt.Errorf("starting the node: %w", err)
	}
	b.service = service
	if b.beacon, err = catalyst.NewSimulatedBeacon(0, common.Address{}, service); err != nil {
		return fmt.Errorf("starting the beacon: %w", err)
	}
	if err := b.beacon.Fork(service.BlockChain().GetCanonicalHash(0)); err != nil {
		return fmt.Errorf("going back to genesis: %w", err)
	}
	b.client = ethclient.NewClient(b.node.Attach())
	return nil
}

// Client speaks to the node.
func (b *backend) Client() *ethclient.Client { return b.client }

// Commit seals a block. The beacon calls every 32nd block final, and go-ethereum moves final blocks to its freezer once
// a minute, from which no fork takes them back: block 32 would still be answered after a fork to 31. Here nothing is
// final but by [finality].
func (b *backend) Commit() common.Hash {
	defer b.service.BlockChain().SetFinalized(nil)
	return b.beacon.Commit()
}

// Rollback empties the pool.
func (b *backend) Rollback() { b.beacon.Rollback() }

// Fork makes an earlier block the head.
func (b *backend) Fork(parent common.Hash) error { return b.beacon.Fork(parent) }

// Close stops everything.
func (b *backend) Close() error {
	b.client.Close()
	return errors.Join(b.beacon.Stop(), b.node.Close())
}
