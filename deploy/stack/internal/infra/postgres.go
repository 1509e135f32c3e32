package infra

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/state"
	"causeway.internal/libs/testkit/port"
)

// findPostgres returns the directory of the newest installed server programs, "" if there are none.
func findPostgres() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	for _, pattern := range []string{"/usr/pgsql-*/bin/postgres", "/usr/local/pgsql/bin/postgres"} {
		more, _ := filepath.Glob(pattern)
		found = append(found, more...)
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append(found, path)
	}
	for _, path := range found {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "initdb")); err == nil {
			return filepath.Dir(path)
		}
	}
	return ""
}

func version(path string) int {
	number, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return number
}

// postgres starts a private server, and its standby if there is to be one. Durability settings stay as they are in
// production, so that a kill -9 of the server proves something.
func (s Servers) postgres(ctx context.Context, user *process.User, password string, ca *authority) error {
	data, err := s.dataDir()
	if err != nil {
		return err
	}
	data = filepath.Join(data, Postgres)
	bin := findPostgres()
	var more []string
	if s.Standby {
		more = []string{"--data-checksums"} // pg_rewind demands them
	}
	if err := initialise(bin, data, user, password, more...); err != nil {
		return err
	}
	if err := ca.issue(user, data+".crt", data+".key"); err != nil {
		return err
	}
	primary, err := s.startPostgres(ctx, Postgres, bin, data, user, password)
	if err != nil || !s.Standby {
		return err
	}
	return s.standby(ctx, primary, password, ca)
}

// startPostgres starts a server on the files of a directory and the certificate beside it, on a free port, and records
// it.
func (s Servers) startPostgres(ctx context.Context, name, bin, data string, user *process.User, password string) (state.Process, error) {
	log := filepath.Join(state.LogDir(s.Dir), name+".log")
	for attempt := 1; ; attempt++ {
		ports, err := port.Take(1)
		if err != nil {
			return state.Process{}, err
		}
		host := "127.0.0.1:" + strconv.Itoa(ports[0])
		p := state.Process{Name: name, Ready: serverURL(password, host).String(), Spec: process.Spec{
			Path: filepath.Join(bin, "postgres"), Dir: data, Log: log, User: user,
			Args: []string{
				"-D", data, "-p", strconv.Itoa(ports[0]), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
				"-c", "max_connections=600", "-c", "shared_buffers=128MB", "-c", "timezone=UTC", "-c", "log_timezone=UTC",
				"-c", "ssl=on", "-c", "ssl_cert_file=" + data + ".crt", "-c", "ssl_key_file=" + data + ".key",
			},
			Env: s.env("LC_ALL=C", "TZ=UTC"),
		}}
		if s.Volatile && !s.Standby { // pg_rewind demands full pages
			p.Spec.Args = append(p.Spec.Args, "-c", "fsync=off", "-c", "full_page_writes=off")
		}
		if s.Standby {
			p.Spec.Args = append(p.Spec.Args, replicated(name)...)
		}
		if p.Ref, err = process.Start(p.Spec); err != nil {
			return p, err
		}
		if err := s.started(p, func(st *state.State) { s.recordPostgres(st, password, host) }); err != nil {
			return p, err
		}
		err = Ready(ctx, p)
		if err != nil && errors.Is(err, ErrEnded) && attempt < 3 && taken(log) {
			continue
		}
		return p, err
	}
}

// recordPostgres adds a server to the URL that names them all. A client tries them in their order, and keeps the one
// that takes writes.
func (s Servers) recordPostgres(st *state.State, password, host string) {
	address := serverURL(password, host)
	if first, err := st.Find(Postgres); err == nil && first.Ready != address.String() {
		if before, err := url.Parse(first.Ready); err == nil {
			address.Host = before.Host + "," + host
			address.RawQuery += "&target_session_attrs=read-write"
		}
	}
	st.Postgres = state.Server{Private: true, URL: address.String(), CA: s.authorityFile()}
}

func serverURL(password, host string) *url.URL {
	return &url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password), Host: host, Path: "/postgres", RawQuery: "sslmode=disable"}
}

func initialise(bin, data string, user *process.User, password string, more ...string) error {
	if _, err := os.Stat(filepath.Join(data, "global", "pg_control")); err == nil {
		return sameVersion(bin, data)
	}
	if err := os.RemoveAll(data); err != nil { // what an interrupted initdb left
		return fmt.Errorf("clear the data directory: %w", err)
	}
	if err := user.Own(data); err != nil {
		return err
	}
	secret := data + ".password"
	if err := user.Write(secret, password); err != nil {
		return err
	}
	defer os.Remove(secret) //nolint:errcheck // the directory belongs to the instance and goes with it
	return user.Run([]string{"PATH=" + bin + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}, filepath.Join(bin, "initdb"), append([]string{
		"-D", data, "-U", "postgres", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8", "--locale=C", "--no-sync",
	}, more...)...)
}

func sameVersion(bin, data string) error {
	had, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return fmt.Errorf("read the version of the data: %w", err)
	}
	out, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return fmt.Errorf("ask PostgreSQL for its version: %w", err)
	}
	major := strings.TrimSpace(string(had))
	fields := strings.Fields(string(out)) // postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)
	if len(fields) >= 3 && fields[2] != major && !strings.HasPrefix(fields[2], major+".") {
		return fmt.Errorf("the data is of PostgreSQL %s, installed is %s: run `bin/stack up` without --keep to start afresh", major, fields[2])
	}
	return nil
}

func pingPostgres(ctx context.Context, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Close(ctx)
	if err := conn.Ping(ctx); err != nil {
		return fmt.Errorf("ask PostgreSQL: %w", err)
	}
	return nil
}

// Session is how long a session of PostgreSQL takes to start, the quickest of some: on a busy machine any one may wait.
func (s Servers) Session(ctx context.Context) (took time.Duration, err error) {
	st, err := state.Load(s.Dir)
	if err != nil {
		return 0, err
	}
	for i := range 8 {
		began := time.Now()
		if err := pingPostgres(ctx, st.Postgres.URL); err != nil {
			return 0, err
		}
		if each := time.Since(began); i == 0 || each < took {
			took = each
		}
	}
	return took, nil
}

// env is a small environment for a server; the mark lets a sweep find what no state file names.
func (s Servers) env(more ...string) []string {
	return append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", process.Mark(s.Dir)}, more...)
}
