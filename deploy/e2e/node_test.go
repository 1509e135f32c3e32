//go:build integration

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// node is real chain software (deploy/realchain) that a test has for itself.
type node struct {
	RPCURL     string            `json:"rpcUrl"`
	ControlURL string            `json:"controlUrl"`
	ChainID    int64             `json:"chainId"` // evm
	Genesis    string            `json:"genesis"` // other chains
	Tokens     map[string]string `json:"tokens"`
}

// startNode runs an EVM node.
func startNode(t testing.TB) *node {
	t.Helper()
	return startChain(t, "evm", "--chain-id", "1")
}

// startChain runs the software of a chain; it stops with the test, and by itself when the test process dies.
func startChain(t testing.TB, chain string, flags ...string) *node {
	t.Helper()
	binary := os.Getenv("CAUSEWAY_REALCHAIN")
	if binary == "" {
		t.Fatal("CAUSEWAY_REALCHAIN is not set; run the tests with `make test` or `bin/stack test`")
	}
	cmd := exec.Command(binary, append([]string{chain, "--until-stdin-ends"}, flags...)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the node ended with %v: %s", err, stderr.Bytes())
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	n := &node{}
	if err == nil {
		err = json.Unmarshal(line, n)
	}
	if err != nil {
		t.Fatalf("the node did not get ready: %v", err)
	}
	return n
}

// control asks the node for something and reads the answer into into, if not nil.
func (n *node) control(t testing.TB, path string, body map[string]any, into any) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Post(n.ControlURL+path, "application/json", bytes.NewReader(raw))
	read(t, path, response, err, into)
}

// read asks the node how it is.
func (n *node) read(t testing.TB, path string, into any) {
	t.Helper()
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Get(n.ControlURL + path)
	read(t, path, response, err, into)
}

func read(t testing.TB, path string, response *http.Response, err error, into any) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %d %s", response.StatusCode, answer)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(answer, into)
	}
	if err != nil {
		t.Fatalf("call %s of the node: %v", path, err)
	}
}

// pay sends a real transfer of base units and returns its transaction's hash; it waits for a block.
func (n *node) pay(t testing.TB, token, to, units string) string {
	t.Helper()
	var sent struct {
		TxHash string `json:"txHash"`
	}
	n.control(t, "/transfer", map[string]any{"to": to, "amount": units, "token": token}, &sent)
	return sent.TxHash
}

func (n *node) mine(t testing.TB, blocks int) {
	t.Helper()
	n.control(t, "/mine", map[string]any{"blocks": blocks}, nil)
}
