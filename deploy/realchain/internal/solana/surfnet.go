package solana

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"causeway.internal/deploy/realchain/internal/node"
)

//go:embed surfnet.js
var script []byte

// surfnet is Surfpool's VM in a process of its own.
type surfnet struct {
	url   string
	payer ed25519.PrivateKey
	cmd   *exec.Cmd
	stdin io.Closer
	dir   string
}

// startSurfnet runs the native module in node.
func startSurfnet(module string) (*surfnet, error) {
	dir, err := os.MkdirTemp("", "realchain-surfnet-")
	if err != nil {
		return nil, fmt.Errorf("making the node's directory: %w", err)
	}
	s := &surfnet{dir: dir}
	if err := s.run(module); err != nil {
		return nil, errors.Join(fmt.Errorf("starting Surfpool from %s: %w", module, err), os.RemoveAll(dir))
	}
	return s, nil
}

func (s *surfnet) run(module string) error {
	file := filepath.Join(s.dir, "surfnet.js")
	if err := os.WriteFile(file, script, 0o600); err != nil {
		return err
	}
	s.cmd = exec.Command("node", file, module)
	s.cmd.Dir, s.cmd.Stderr = s.dir, os.Stderr
	node.DieWithParent(s.cmd)
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.stdin = stdin
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		return errors.Join(err, s.cmd.Wait())
	}
	var ready struct{ RPCURL, Payer string }
	if err := json.Unmarshal(line, &ready); err != nil {
		return err
	}
	key, err := hex.DecodeString(ready.Payer)
	if err == nil && len(key) != ed25519.PrivateKeySize {
		err = errors.New("the payer's key has a wrong length")
	}
	s.url, s.payer = ready.RPCURL, key
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return err
}

// forward hands a JSON-RPC request on and returns the answer as it is.
func (s *surfnet) forward(ctx context.Context, request []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	return io.ReadAll(io.LimitReader(res.Body, 64<<20))
}

// call makes one JSON-RPC call.
func (s *surfnet) call(ctx context.Context, into any, method string, params ...any) error {
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	raw, err := s.forward(ctx, request)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error.Message)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, into)
}

// Close ends the process.
func (s *surfnet) Close() error {
	_ = s.stdin.Close()
	_ = s.cmd.Process.Kill() // it holds nothing that must be saved
	_ = s.cmd.Wait()
	return os.RemoveAll(s.dir)
}
