package bitcoin

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"causeway.internal/deploy/realchain/internal/node"
)

const (
	user      = "causeway"
	starts    = 5
	readyTime = 30 * time.Second
	readyStep = 20 * time.Millisecond
)

// btcd is the node's process.
type btcd struct {
	binary   Binary
	dir      string
	addr     string
	password string // its own, so that another node that took the port is no match
	cmd      *exec.Cmd
	exited   chan struct{}
	failure  error
}

var errEnded = errors.New("btcd ended")

// Binary is the node's program and how it runs.
type Binary struct {
	Path    string
	TxIndex bool // keep an index of transactions
}

// startBtcd runs the binary on regtest in a directory of its own, without peers. It takes a given port and cannot
// choose one, so another listener may come first; then it is started again.
func startBtcd(ctx context.Context, binary Binary) (n *btcd, err error) {
	for range starts {
		if n, err = tryBtcd(ctx, binary); !errors.Is(err, errEnded) {
			return n, err
		}
	}
	return nil, err
}

func tryBtcd(ctx context.Context, binary Binary) (*btcd, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("finding a free port: %w", err)
	}
	n := &btcd{binary: binary, addr: listener.Addr().String(), password: rand.Text()}
	if err := listener.Close(); err != nil {
		return nil, err
	}
	if n.dir, err = os.MkdirTemp("", "realchain-btcd-"); err != nil {
		return nil, fmt.Errorf("making the node's directory: %w", err)
	}
	if err := os.WriteFile(filepath.Join(n.dir, "btcd.conf"), nil, 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(n.dir))
	}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// start runs the process until it answers.
func (n *btcd) start(ctx context.Context) error {
	args := []string{
		"--regtest", "--nolisten", "--nodnsseed", "--notls", "--nocfilters", "--rpcmaxclients=500", "--rpcmaxconcurrentreqs=500",
		"--debuglevel=error", "--rpcuser=" + user, "--rpcpass=" + n.password, "--rpclisten=" + n.addr,
		"--configfile=" + filepath.Join(n.dir, "btcd.conf"), "--datadir=" + filepath.Join(n.dir, "data"), "--logdir=" + filepath.Join(n.dir, "logs"),
	}
	if n.binary.TxIndex {
		args = append(args, "--txindex")
	}
	cmd, exited := exec.Command(n.binary.Path, args...), make(chan struct{}) //nolint:gosec // of the caller
	cmd.Stderr = os.Stderr
	node.DieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting btcd: %w", err)
	}
	n.cmd, n.exited = cmd, exited
	go func() {
		n.failure = cmd.Wait()
		close(exited)
	}()
	return n.await(ctx)
}

// restart ends the process and starts it again. Its mempool is empty then, and on regtest its chain too.
func (n *btcd) restart(ctx context.Context) error {
	if err := n.cmd.Process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("ending btcd: %w", err)
	}
	<-n.exited
	return n.start(ctx)
}

// await returns when the node answers.
func (n *btcd) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for {
		var count int64
		err := n.call(ctx, &count, "getblockcount")
		if err == nil {
			return nil
		}
		select {
		case <-n.exited:
			return fmt.Errorf("%w: %w", errEnded, n.failure)
		case <-ctx.Done():
			return fmt.Errorf("btcd does not answer: %w", err)
		case <-time.After(readyStep):
		}
	}
}

// call makes one JSON-RPC call at the node itself.
func (n *btcd) call(ctx context.Context, into any, method string, params ...any) error {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "1.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.addr, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth(user, n.password)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error.Message)
	}
	if into == nil || len(answer.Result) == 0 {
		return nil
	}
	return json.Unmarshal(answer.Result, into)
}

// Close ends the process and removes its directory.
func (n *btcd) Close() error {
	if n.cmd != nil {
		_ = n.cmd.Process.Kill() // it holds nothing that must be saved
		<-n.exited
	}
	return os.RemoveAll(n.dir)
}
