//go:build integration

package main

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
)

// node is chain software in a process of its own with its control port (deploy/realchain).
type node struct {
	t       testing.TB
	subject subject
	RPC     string            `json:"rpcUrl"`
	URL     string            `json:"controlUrl"`
	Chain   int64             `json:"chainId"`
	Genesis string            `json:"genesis"`
	Tokens  map[string]string `json:"tokens"`
	Block   int64             `json:"block"`
	sent    []string          // transactions of transfer
	sim     *simGround        // replaces all of the above for the simulated chain
}

func (s subject) start(t testing.TB) *node {
	t.Helper()
	if s.simulated {
		return &node{t: t, subject: s, sim: &simGround{t: t, network: s.money()}}
	}
	binary := os.Getenv("CAUSEWAY_REALCHAIN")
	if binary == "" {
		t.Fatal("CAUSEWAY_REALCHAIN is not set: it names what `make test` builds from deploy/realchain")
	}
	cmd := exec.Command(binary, append([]string{s.chain, "--until-stdin-ends"}, s.flags...)...)
	cmd.Stderr = t.Output()
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
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the node did not start: %v", err)
	}
	n := &node{t: t, subject: s}
	if err := json.Unmarshal(line, n); err != nil {
		t.Fatal(err)
	}
	return n
}

// do calls the control port and returns what it answers.
func (n *node) do(path string, body any) map[string]any {
	n.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		n.t.Fatal(err)
	}
	if n.sim != nil {
		out, err := n.sim.do(path, b)
		if err != nil {
			n.t.Fatalf("ask the simulated chain for %s with %s: %v", path, b, err)
		}
		return out
	}
	res, err := http.Post(n.URL+path, "application/json", bytes.NewReader(b))
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil || res.StatusCode != http.StatusOK {
		n.t.Fatalf("ask the node for %s with %s: got %d %s, want 200", path, b, res.StatusCode, text)
	}
	return out
}

func (n *node) transfer(body map[string]any) string {
	n.t.Helper()
	if body["token"] == "" {
		body["token"] = false
	}
	hash := lower(n.subject, fmt.Sprint(n.do("/transfer", body)["txHash"]))
	n.sent = append(n.sent, hash)
	return hash
}

func (n *node) replace(tx string, body map[string]any) string {
	n.t.Helper()
	body["txHash"] = tx
	return lower(n.subject, fmt.Sprint(n.do("/replace", body)["txHash"]))
}

func (n *node) mine(blocks int) { n.t.Helper(); n.do("/mine", map[string]int{"blocks": blocks}) }
