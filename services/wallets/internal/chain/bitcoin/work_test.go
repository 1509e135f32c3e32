package bitcoin

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/chain/rpctest"
)

// The cases of Bitcoin Core's own test (src/test/pow_tests.cpp), from blocks of the main network.
func TestRetarget(t *testing.T) {
	for name, c := range map[string]struct {
		bits        uint32
		first, last int64
		want        uint32
	}{
		"block 32256":                 {0x1d00ffff, 1261130161, 1262152739, 0x1d00d86a},
		"never easier than the limit": {0x1d00ffff, 1231006505, 1233061996, 0x1d00ffff},
		"a quarter at most":           {0x1c05a3f4, 1279008237, 1279297671, 0x1c0168fd},
		"four times at most":          {0x1c387f6f, 1263163443, 1269211443, 0x1d00e1fd},
	} {
		if got := retarget(c.bits, c.last-c.first); got != c.want {
			t.Errorf("%s: %08x, want %08x", name, got, c.want)
		}
	}
}

// A block with less work than its predecessor demands is refused, whatever its hash.
func TestWork(t *testing.T) {
	// The header of the main network's first block.
	genesis := "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c"
	raw, err := hex.DecodeString(genesis)
	if err != nil {
		t.Fatal(err)
	}
	n := rpctest.New(t)
	n.Set("getblockhash 0", `"`+geneses[address.Mainnet]+`"`)
	n.Set("getblockheader", fmt.Sprintf("%q", genesis))
	network, _ := money.NetworkOf("bitcoin")
	log, metrics := rpctest.Quiet()
	for name, c := range map[string]struct {
		net  address.Net
		bits uint32
		want string
	}{
		"as the block below":         {address.Mainnet, 0x1d00ffff, ""},
		"less than the block below":  {address.Mainnet, 0x1d00fffe, "demands 1d00ffff"},
		"hardly any":                 {address.Mainnet, 0x207fffff, "demands 1d00ffff"},
		"any, on a regtest chain":    {address.Regtest, 0x207fffff, ""},
		"other, on a regtest chain":  {address.Regtest, 0x207ffffe, "demands 207fffff"},
		"no rule holds on a testnet": {address.Testnet, 0x1c00ffff, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := New(Config{Network: network, Net: c.net, RPC: rpctest.Config(n)}, log, metrics)
			if err != nil {
				t.Fatal(err)
			}
			block := header{parent: twice(raw), bits: c.bits}
			got := withEndpoint(t, d, n, func(e *rpc.Endpoint) error { return d.work(t.Context(), e, 1, block) })
			if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Error(), c.want) {
				t.Errorf("check the work of a block: got %v, want %q", got, c.want)
			}
		})
	}
}

// withEndpoint runs f with the endpoint of a node that serves the driver's chain.
func withEndpoint(t *testing.T, d *Driver, n *rpctest.Node, f func(e *rpc.Endpoint) error) error {
	t.Helper()
	n.Set("getblockhash 0", `"`+d.genesis+`"`)
	return d.pool.Read(t.Context(), f)
}
