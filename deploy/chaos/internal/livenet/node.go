package livenet

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"causeway.internal/deploy/chaos/internal/chain"
)

// Node is the software of a chain.
type Node struct {
	RPCURL     string            `json:"rpcUrl"`
	ControlURL string            `json:"controlUrl"`
	ChainID    int64             `json:"chainId"`
	Genesis    string            `json:"genesis"`
	Block      int64             `json:"block"`
	Tokens     map[string]string `json:"tokens"`
}

// start runs a node that ends when this process does, or with end. Its complaints go to a file in a directory.
func start(ctx context.Context, dir, program, family string, flags ...string) (n Node, end func(), err error) {
	cmd := exec.CommandContext(ctx, program, append([]string{family, "--until-stdin-ends"}, flags...)...)
	complaints, err := os.Create(filepath.Join(dir, family+".log"))
	if err != nil {
		return n, nil, fmt.Errorf("starting a node of %s: %w", family, err)
	}
	defer complaints.Close() //nolint:errcheck // the node has a descriptor of its own
	cmd.Stderr = complaints
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return n, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return n, nil, err
	}
	if err := cmd.Start(); err != nil {
		return n, nil, fmt.Errorf("starting a node of %s: %w", family, err)
	}
	end = func() {
		_ = stdin.Close()
		_ = cmd.Wait() // nothing of it is kept
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &n)
	}
	if err != nil {
		end()
		said, _ := os.ReadFile(complaints.Name()) // without a file the error has no text of the node
		return n, nil, fmt.Errorf("the node of %s did not get ready: %w: %s", family, err, said)
	}
	return n, end, nil
}

// Control asks the node's control port for something.
func (n Node) Control(ctx context.Context, path string, body map[string]any, into any) error {
	return chain.Ask(ctx, n.ControlURL+path, body, into)
}

// Pay sends base units of an asset to an address, as anybody may. It is in a block once the chain makes one.
func (n Node) Pay(ctx context.Context, token, to, units string) (txHash string, err error) {
	var sent struct {
		TxHash string `json:"txHash"`
	}
	err = n.Control(ctx, "/transfer", map[string]any{"to": to, "amount": units, "token": token}, &sent)
	return sent.TxHash, err
}

// call calls a method of JSON-RPC.
func (n Node) call(ctx context.Context, method string, params ...any) error {
	var answer struct {
		Error any `json:"error"`
	}
	err := chain.Ask(ctx, n.RPCURL, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, &answer)
	if err == nil && answer.Error != nil {
		err = fmt.Errorf("%s: %v", method, answer.Error)
	}
	return err
}
