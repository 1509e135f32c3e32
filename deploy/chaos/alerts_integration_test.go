//go:build integration

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Extended public keys of live mode: BIP-32's first test vector at m/0'/1/2', and account 1 of the seed whose 24
// words are "abandon … art". They are public knowledge, and others than those of test mode, as start-up demands.
const (
	liveBitcoin = "xpub6Bner3L3tdQW5KF2GrQZtFCbgtd5v9QiYK5ZPih84AY9GfLW1veEkUkBjbdkMTcSwZUeMxf4XKqE6VgaGfubogQJkhkYVMBCZihr5H7VXyK"
	liveEVM     = "xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4trkrX7x7DogT5Uv6fcLW5"
	liveTron    = "xpub6DLYF9ZdBa3xPFX6dxxQsEvTKwZPLNjWYQTyCxdMj7bopP4rxtkQpyz4mHDUZg1JcCM3yF1j1whMZQFZKv2Yfztaa7cTkHQKQc5LPoxrhQt"
)

// TestAlerts: the whole product under light load, two replicas of everything, watched by a real Prometheus with the
// real rules. While nothing is broken no alert fires. Then one thing after the other is broken; exactly its alerts
// fire, and go when it is mended. The first part takes the rules as they are. The second takes them with a clock that
// is fifteen times as fast (prometheus.Faster says what that changes), because an alert that waits for a quarter of an
// hour cannot be waited for.
//
// The rules about Causeway's own chains apply to live mode, so ethereum is live here, on a node that makes a block a
// second. It has two names, so that two hosts serve it. The alerts of servers that the stack lacks (CloudNativePG,
// kube-state-metrics, cert-manager) and the burn rates of objectives are not covered here: promtool tests each of them.
//
// This test runs alone, because no alert may fire while nothing is broken.
func TestAlerts(t *testing.T) {
	found, err := exec.CommandContext(t.Context(), "../check/program", "prometheus", "prometheus").Output()
	if err != nil {
		t.Fatalf("prometheus cannot be had: %v", err)
	}
	node := startEthereum(t)
	instance := []string{"--split", "--replicas", "2"}
	for _, setting := range []string{
		"payments:ALLOW_SIMULATED_LIVE=true", "payments:RATES_LIVE=fixed", "payments:RAIL_LIVE=sim",
		"wallets:XPUB_LIVE_BITCOIN=" + liveBitcoin, "wallets:XPUB_LIVE_EVM=" + liveEVM, "wallets:XPUB_LIVE_TRON=" + liveTron,
		"wallets:EVM_ETHEREUM_RPC_URLS=" + node.RPCURL + "," + strings.Replace(node.RPCURL, "127.0.0.1", "localhost", 1),
		"wallets:EVM_ETHEREUM_TOKENS=USDT:" + node.Tokens["USDT"] + ",USDC:" + node.Tokens["USDC"],
		"wallets:EVM_ETHEREUM_POLL=500ms",
	} {
		instance = append(instance, "--env", setting)
	}
	launch(t, instance, "--scenario", "alerts", "--duration", quietFor.String(), "--breaks", breaks, "--longer", lookLonger.String(), "--rate", "2",
		"--prometheus", strings.TrimSpace(string(found)), "--rules", "../prometheus/rules", "--chain", node.ControlURL, "--node", strconv.Itoa(node.pid))
}

// ethereum is a running node.
type ethereum struct {
	RPCURL, ControlURL string
	Tokens             map[string]string
	pid                int
}

// startEthereum runs a node that ends with the test.
func startEthereum(t *testing.T) ethereum {
	t.Helper()
	binary := os.Getenv("CAUSEWAY_REALCHAIN")
	if binary == "" {
		t.Fatal("CAUSEWAY_REALCHAIN is not set; run this with `make test` or `bin/stack test`")
	}
	cmd := exec.CommandContext(t.Context(), binary, "evm", "--chain-id", "1", "--until-stdin-ends")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // the test's end has ended it
	})
	node := ethereum{pid: cmd.Process.Pid}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &node)
	}
	if err != nil {
		t.Fatalf("the node did not get ready: %v", err)
	}
	return node
}
