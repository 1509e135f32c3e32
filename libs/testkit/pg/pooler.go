//go:build integration

package pg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"causeway.internal/libs/testkit/port"
)

// poolerVariable names the PgBouncer that tests may use.
const poolerVariable = "CAUSEWAY_PGBOUNCER"

// Pooler starts a PgBouncer before the server of the URLs, in session, transaction or statement mode, and returns a
// function that leads a URL through it. It knows the accounts of these URLs. Settings are further lines of its
// configuration. It ends with the test.
func Pooler(t testing.TB, mode string, urls []string, settings ...string) (through func(string) string) {
	t.Helper()
	binary, err := findPooler()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pgbouncer") //nolint:usetesting // nobody may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	server, accounts, err := accountsOf(urls)
	if err != nil {
		t.Fatal(err)
	}
	address := port.Free(t)
	_, number, _ := net.SplitHostPort(address)
	config := []string{
		"[databases]", "* = host=" + server.Hostname() + " port=" + server.Port(),
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + number, "unix_socket_dir =", "pool_mode = " + mode,
		"auth_type = scram-sha-256", "auth_file = " + filepath.Join(dir, "accounts"), "default_pool_size = 100", "max_client_conn = 500",
	}
	files := map[string]string{"pgbouncer.ini": strings.Join(append(config, settings...), "\n") + "\n", "accounts": accounts}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	cmd := exec.Command(binary, filepath.Join(dir, "pgbouncer.ini"))
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := unprivileged(cmd, dir, files); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start PgBouncer: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("PgBouncer in %s mode:\n%s", mode, log.Bytes())
		}
	})
	if err := listens(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	return func(direct string) string {
		u, err := url.Parse(direct)
		if err != nil {
			t.Fatal(err)
		}
		u.Host = address
		return u.String()
	}
}

func findPooler() (string, error) {
	if path := os.Getenv(poolerVariable); path != "" {
		return path, nil
	}
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no PgBouncer is installed: apt-get install pgbouncer, or set %s", poolerVariable)
}

// accountsOf returns the server of the URLs, and their accounts as PgBouncer reads them.
func accountsOf(urls []string) (server *url.URL, lines string, err error) {
	for _, text := range urls {
		if server, err = url.Parse(text); err != nil {
			return nil, "", fmt.Errorf("read a database's URL: %w", err)
		}
		password, _ := server.User.Password()
		lines += fmt.Sprintf("%q %q\n", server.User.Username(), password)
	}
	if server == nil {
		return nil, "", errors.New("a pooler needs a database's URL")
	}
	return server, lines, nil
}

// unprivileged runs a command as another user when the test is root, which PgBouncer refuses.
func unprivileged(cmd *exec.Cmd, dir string, files map[string]string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return fmt.Errorf("look for an unprivileged user: %w", err)
	}
	uid, uidErr := strconv.Atoi(nobody.Uid)
	gid, gidErr := strconv.Atoi(nobody.Gid)
	failures := []error{uidErr, gidErr, os.Chmod(dir, 0o711)} //nolint:gosec // the pooler's user passes through it
	for name := range files {
		failures = append(failures, os.Chown(filepath.Join(dir, name), uid, gid))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return errors.Join(failures...)
}

func listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for PgBouncer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
