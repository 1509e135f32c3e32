package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// patience is how long a server may take to start, on a machine that has other work.
const patience = 5 * time.Minute

// restricted has Pod Security refuse and warn as `restricted` demands, in namespaces too that do not ask for it.
const restricted = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: PodSecurity
    configuration:
      apiVersion: pod-security.admission.config.k8s.io/v1
      kind: PodSecurityConfiguration
      defaults: {enforce: restricted, enforce-version: latest, warn: restricted, warn-version: latest}
`

// kubeconfig lets kubectl in with the right of everything. The certificate is one that the server made for itself.
const kubeconfig = `apiVersion: v1
kind: Config
current-context: prove
clusters: [{name: prove, cluster: {server: "https://%s", insecure-skip-tls-verify: true}}]
users: [{name: prove, user: {token: %s}}]
contexts: [{name: prove, context: {cluster: prove, user: prove}}]
`

// api is a running API server with a store of its own. It admits, validates and keeps objects; without controllers and
// machines, nothing runs.
type api struct {
	dir     string
	servers []*server
}

type server struct {
	cmd   *exec.Cmd
	log   string
	ended chan error
}

// start runs etcd and kube-apiserver of bin until the context ends, with their files in dir.
func start(ctx context.Context, etcd, apiserver, dir string) (*api, error) {
	a := &api{dir: dir}
	ports, err := free(3)
	if err != nil {
		return nil, err
	}
	client, peer, secure := "http://"+ports[0], "http://"+ports[1], ports[2]
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	token := rand.Text()
	for name, content := range map[string]string{
		"accounts.pem":   string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})),
		"admission.yaml": restricted,
		"kubeconfig":     fmt.Sprintf(kubeconfig, secure, token),
		"tokens.csv":     token + ",prove,prove,system:masters\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	host, port, _ := strings.Cut(secure, ":")
	for _, run := range [][]string{ // in dir
		{
			etcd, "--name=prove", "--data-dir=etcd", "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=prove=" + peer,
		},
		{
			apiserver, "--etcd-servers=" + client, "--bind-address=" + host, "--secure-port=" + port, "--cert-dir=certificates",
			"--service-account-key-file=accounts.pem", "--service-account-signing-key-file=accounts.pem",
			"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16",
			"--token-auth-file=tokens.csv", "--authorization-mode=RBAC", "--admission-control-config-file=admission.yaml",
			// No controller makes the default account of a namespace.
			"--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none",
		},
	} {
		if err := a.run(ctx, run...); err != nil {
			return nil, errors.Join(err, a.stop())
		}
	}
	if err := a.ready(ctx); err != nil {
		return nil, errors.Join(err, a.stop())
	}
	return a, nil
}

func (a *api) run(ctx context.Context, command ...string) error {
	name := filepath.Base(command[0])
	s := &server{log: filepath.Join(a.dir, name+".log"), ended: make(chan error, 1)}
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Dir = log, log, a.dir
	s.cmd.Env = append(os.Environ(), "ETCD_UNSUPPORTED_ARCH=arm64") // etcd 3.4 of Debian asks for this on arm64
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	a.servers = append(a.servers, s)
	return nil
}

// ready waits until the API answers.
func (a *api) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, _, err := a.kubectl(ctx, "get", "--raw=/readyz"); err == nil {
			return nil
		}
		for _, s := range a.servers {
			select {
			case err := <-s.ended:
				s.ended <- err
				log, _ := os.ReadFile(s.log)
				return fmt.Errorf("%s ended: %w\n%s", filepath.Base(s.cmd.Path), err, log[max(0, len(log)-4000):])
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// stop ends the servers, the last one first.
func (a *api) stop() error {
	var all error
	for i := len(a.servers) - 1; i >= 0; i-- {
		all = errors.Join(all, a.servers[i].cmd.Process.Kill())
		<-a.servers[i].ended
	}
	return all
}

// kubectl returns the output, and what was said beside it.
func (a *api) kubectl(ctx context.Context, args ...string) (out, said string, err error) {
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(a.dir, "kubeconfig"), "HOME="+a.dir, "NO_PROXY=127.0.0.1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// free finds addresses that nobody listens at.
func free(n int) (all []string, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a port: %w", err)
		}
		defer listener.Close()
		all = append(all, listener.Addr().String())
	}
	return all, nil
}
