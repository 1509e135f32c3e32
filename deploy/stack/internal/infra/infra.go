// Package infra provides an instance's PostgreSQL and RabbitMQ: lent by the environment, or private ones started from
// the installed programs, which are installed first where that is possible. It also makes and drops the accounts inside
// them. It knows the services by name only.
package infra

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/progress"
	"causeway.internal/deploy/stack/internal/state"
)

// The variables that lend servers to an instance.
const (
	PostgresURL = "CAUSEWAY_POSTGRES_URL"
	AMQPURL     = "CAUSEWAY_AMQP_URL"
	AMQPAPI     = "CAUSEWAY_AMQP_API"
)

// The names of the private servers' processes.
const (
	Postgres = "postgres"
	Epmd     = "epmd"
	Rabbit   = "rabbitmq"
)

// Servers starts an instance's servers.
type Servers struct {
	Dir      string
	Progress *progress.Printer
	Environ  map[string]string

	// Volatile is for tests: PostgreSQL flushes nothing to the disk, and where the machine has the memory both servers
	// keep their files in it. The data survive a server's own crash, not the machine's.
	Volatile bool

	Standby bool // PostgreSQL has a synchronous standby
	Cluster bool // RabbitMQ has three nodes
}

// IsServer tells the process of a server from one of the product.
func IsServer(name string) bool {
	base, _, _ := strings.Cut(name, "-")
	return slices.Contains([]string{Postgres, Rabbit, Epmd}, base)
}

// isPostgres covers the standby.
func isPostgres(name string) bool { return name == Postgres || name == PostgresSecond }

// Up makes both servers usable and records them in the state. PostgreSQL and RabbitMQ start at the same time.
func (s Servers) Up(ctx context.Context) error {
	secrets, err := state.LoadSecrets(s.Dir)
	if err != nil {
		return err
	}
	pg, rabbit, err := s.lent()
	if err != nil {
		return err
	}
	if s.Standby && pg.lent() || s.Cluster && rabbit.lent() {
		return errors.New("lent servers get neither a standby nor other nodes: start private ones with --private")
	}
	if err := s.install(ctx, !pg.lent(), !rabbit.lent()); err != nil {
		return err
	}
	users, err := s.place(!pg.lent(), !rabbit.lent())
	if err != nil {
		return err
	}
	passwords := map[string]string{}
	for _, name := range []string{Postgres, Rabbit} {
		if passwords[name], err = secrets.Get(name+"-password", state.Password); err != nil {
			return err
		}
	}
	ca, err := s.newAuthority()
	if err != nil {
		return err
	}
	failures := make(chan error, 2)
	go func() {
		if pg.lent() {
			failures <- s.Progress.Step("use the PostgreSQL of "+PostgresURL, func() error { return ready(ctx, pg.URL, nil, "") })
			return
		}
		failures <- s.Progress.Step("start PostgreSQL", func() error { return s.postgres(ctx, users[Postgres], passwords[Postgres], ca) })
	}()
	go func() {
		if rabbit.lent() {
			failures <- s.Progress.Step("use the RabbitMQ of "+AMQPURL, func() error { return ready(ctx, overview(rabbit.API), nil, "") })
			return
		}
		failures <- s.Progress.Step("start RabbitMQ", func() error { return s.rabbit(ctx, users[Rabbit], passwords[Rabbit], ca) })
	}()
	return errors.Join(<-failures, <-failures)
}

type server state.Server

func (s server) lent() bool { return s.URL != "" }

// lent reads which servers the environment lends, and records them.
func (s Servers) lent() (pg, rabbit server, err error) {
	pg = server{URL: s.Environ[PostgresURL]}
	rabbit = server{URL: s.Environ[AMQPURL], API: s.Environ[AMQPAPI]}
	if rabbit.lent() && rabbit.API == "" {
		broker, err := url.Parse(rabbit.URL)
		if err != nil {
			return pg, rabbit, fmt.Errorf("read %s: it is not a URL", AMQPURL)
		}
		rabbit.API = (&url.URL{Scheme: "http", User: broker.User, Host: broker.Hostname() + ":15672"}).String()
	}
	_, err = state.Change(s.Dir, func(st *state.State) error {
		if pg.lent() {
			st.Postgres = state.Server(pg)
		}
		if rabbit.lent() {
			st.Rabbit = state.Server(rabbit)
		}
		return nil
	})
	return pg, rabbit, err
}

// place decides where private servers keep their files and under which accounts they run. Both refuse to run as root,
// or should not, so a directory that their accounts cannot reach, such as a clone in root's home, is replaced by one in
// the system's temporary directory.
func (s Servers) place(pg, rabbit bool) (map[string]*process.User, error) {
	users := map[string]*process.User{}
	var err error
	if pg {
		if users[Postgres], err = process.Unprivileged("postgres", "nobody"); err != nil {
			return nil, err
		}
	}
	if rabbit {
		if users[Rabbit], err = process.Unprivileged("rabbitmq", "nobody"); err != nil {
			return nil, err
		}
	}
	if len(users) == 0 {
		return users, nil
	}
	_, err = state.Change(s.Dir, func(st *state.State) error {
		if st.Data == "" && s.Volatile {
			st.Data = inMemory(users)
		}
		if st.Data == "" || !usable(st.Data, users) {
			st.Data = filepath.Join(s.Dir, "data")
		}
		if usable(st.Data, users) {
			return nil
		}
		if st.Data, err = os.MkdirTemp("", "causeway-"); err != nil {
			return fmt.Errorf("make a data directory: %w", err)
		}
		if !usable(st.Data, users) {
			return fmt.Errorf("neither %s nor %s can be reached by unprivileged users", s.Dir, st.Data)
		}
		s.Progress.Print("      data goes to %s, because unprivileged users cannot reach %s", st.Data, s.Dir)
		return nil
	})
	return users, err
}

// The memory that tests need for the files of the servers, with room for everything else.
const memoryLeast = 8 << 30

// inMemory makes a directory in the machine's memory, "" where there is not enough. A test makes and drops a database
// of hundreds of files and dozens of queues: in memory a database takes a sixth of the processors' time.
func inMemory(users map[string]*process.User) string {
	if _, enough := roomInMemory(); !enough {
		return ""
	}
	dir, err := os.MkdirTemp(memory, "causeway-")
	if err != nil {
		return ""
	}
	if !usable(dir, users) {
		_ = os.Remove(dir)
		return ""
	}
	return dir
}

// memory is the directory of files in the machine's memory.
const memory = "/dev/shm"

// noExec is ST_NOEXEC of statfs(2): no program may be run from there.
const noExec = 8

func roomInMemory() (room syscall.Statfs_t, enough bool) {
	if err := syscall.Statfs(memory, &room); err != nil {
		return room, false
	}
	block := uint64(room.Bsize) //nolint:gosec // not negative
	return room, room.Bavail*block >= memoryLeast && available() >= memoryLeast
}

// Temporary makes a directory in the machine's memory for the temporary files of a test run, "" where there is not
// enough or no program may be run from there. Linked tests, a browser's pages and the servers of private stacks are
// written, read and thrown away. The directory of an instance has one name, so that the next run throws away what a
// killed one has left.
func Temporary(instance string) string {
	if room, enough := roomInMemory(); !enough || room.Flags&noExec != 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(instance))
	dir := filepath.Join(memory, "causeway-test-"+hex.EncodeToString(sum[:6]))
	const everyones = 0o777 | os.ModeSticky // as /tmp: servers and tests run as different users
	if os.RemoveAll(dir) != nil || os.Mkdir(dir, 0o700) != nil || os.Chmod(dir, everyones) != nil {
		return ""
	}
	return dir
}

// available is the memory that programs can still have, 0 where the system does not say.
func available() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kilobytes uint64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 0
}

func usable(dir string, users map[string]*process.User) bool {
	if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // the servers' user passes through it
		return false
	}
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // the servers' user passes through it
		return false
	}
	for _, user := range users {
		if !user.CanReach(dir) {
			return false
		}
	}
	return true
}

// started records a process that has just been started.
func (s Servers) started(p state.Process, change func(*state.State)) error {
	_, err := state.Change(s.Dir, func(st *state.State) error {
		st.Put(p)
		change(st)
		return nil
	})
	return err
}

func (s Servers) dataDir() (string, error) {
	st, err := state.Load(s.Dir)
	if err != nil {
		return "", err
	}
	return st.Data, nil
}

// Ready waits until a process answers, and gives up as soon as it has ended.
func Ready(ctx context.Context, p state.Process) error {
	return ready(ctx, p.Ready, &p.Ref, p.Spec.Log)
}

// ErrEnded says that a process ended before it was usable.
var ErrEnded = errors.New("the process ended")

func ready(ctx context.Context, target string, ref *process.Ref, log string) error {
	ctx, stop := context.WithTimeout(ctx, 90*time.Second)
	defer stop()
	for {
		err := probe(ctx, target)
		if err == nil {
			return nil
		}
		if ref != nil && !ref.Alive() {
			return &Failure{Err: ErrEnded, Log: log}
		}
		select {
		case <-ctx.Done():
			return &Failure{Err: fmt.Errorf("not ready in time: %w", err), Log: log}
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// SocketScheme begins the target of a process that is ready when its unix socket takes connections.
const SocketScheme = "unix:"

// tryConnect opens a connection to a unix socket and closes it.
func tryConnect(ctx context.Context, path string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	return conn.Close()
}

func probe(ctx context.Context, target string) error {
	ctx, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	if strings.HasPrefix(target, "postgres") {
		return pingPostgres(ctx, target)
	}
	if path, is := strings.CutPrefix(target, SocketScheme); is {
		return tryConnect(ctx, path)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask whether it is ready: %w", unwrapURL(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}

// unwrapURL drops the address from an HTTP error, since it may hold a password.
func unwrapURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// Failure is an error that a log file explains.
type Failure struct {
	Err error
	Log string
}

// Error names the failure; the log is for the caller that prints it.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Stop ends one process of the instance in the way it likes best.
func Stop(p state.Process) (killed bool, err error) {
	ask, within := syscall.SIGTERM, 30*time.Second
	if isPostgres(p.Name) {
		ask = syscall.SIGINT // fast shutdown: ends sessions, writes a checkpoint
	}
	return p.Ref.Stop(ask, within)
}

// Abandon ends a server whose data is worth nothing. PostgreSQL still takes its shared memory with it.
func Abandon(p state.Process) error {
	if isPostgres(p.Name) {
		_, err := p.Ref.Stop(syscall.SIGQUIT, 5*time.Second)
		return err
	}
	return p.Ref.Kill()
}

const clash = "address already in use"

// taken says whether a server ended because another program took its port in the meantime.
func taken(log string) bool {
	tail := strings.ToLower(process.Tail(log, 60))
	return strings.Contains(tail, clash) || strings.Contains(tail, "eaddrinuse")
}
