//go:build long

package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// TestMain: under the name docker this program takes the place of the engine. It carries out the calls of
// deploy/vps/causeway with local processes instead of containers: real servers and services, in the environment that
// compose gives them. It runs neither Caddy (TestVPS_routes does) nor Prometheus.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "docker" {
		if err := docker(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "docker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const patience = 4 * time.Minute

// awaited looks at each tick until something holds, and reports whether it did within patience.
func awaited(every time.Duration, holds func() bool) bool {
	tick, late := time.NewTicker(every), time.After(patience)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			return false
		}
	}
	return true
}

// host is the machine: its file is in the directory that ENGINE names.
type host struct {
	dir     string
	Bin     string            // of the product
	Archive string            // pgbackrest
	Ports   map[string]string // by service, with :ops for the port of operations
	project *types.Project
}

func docker(args []string) error {
	h := &host{dir: os.Getenv("ENGINE")}
	raw, err := os.ReadFile(filepath.Join(h.dir, "host.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, h); err != nil {
		return err
	}
	if args[0] == "volume" {
		_, err := os.Stat(h.data())
		return err
	}
	if args[0] == "info" {
		fmt.Println(h.dir)
		return nil
	}
	args = args[1:] // compose
	flags := map[string]string{}
	for strings.HasPrefix(args[0], "--") {
		flags[args[0]], args = args[1], args[2:]
	}
	options, err := cli.NewProjectOptions([]string{flags["--file"]}, cli.WithWorkingDirectory(flags["--project-directory"]),
		cli.WithOsEnv, cli.WithEnvFiles(flags["--env-file"]), cli.WithDotEnv)
	if err != nil {
		return err
	}
	if h.project, err = options.LoadProject(context.Background()); err != nil {
		return err
	}
	verb := args[0]
	words := slices.DeleteFunc(slices.Clone(args[1:]), func(w string) bool {
		return slices.Contains([]string{"--detach", "--no-deps", "--wait", "--rm", "-T", "--quiet"}, w)
	})
	switch verb {
	case "build":
		return nil
	case "up":
		return each(words, h.up)
	case "stop":
		return each(words, h.stop)
	case "restart":
		return errors.Join(each(words, h.stop), each(words, h.up))
	case "run", "exec":
		return h.run(verb, args[1:])
	case "ps":
		for name := range h.project.Services {
			if h.alive(name) || name == "caddy" || name == "prometheus" {
				fmt.Println(name, "running healthy")
			}
		}
		return nil
	}
	return fmt.Errorf("the test's engine has no %s", verb)
}

func each(names []string, do func(string) error) error {
	for _, name := range names {
		if err := do(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (h *host) at(parts ...string) string { return filepath.Join(append([]string{h.dir}, parts...)...) }
func (h *host) data() string              { return h.at("data") }

// environment is that of compose, with this machine's ports and directories in the place of names.
func (h *host) environment(name string) []string {
	pairs := []string{
		"@postgres/", "@127.0.0.1:" + h.Ports["postgres"] + "/", "@rabbitmq/", "@127.0.0.1:" + h.Ports["rabbitmq"] + "/",
		"/var/lib/postgresql/data", h.data(), "172.30.255.226", "127.0.0.1",
	}
	for _, service := range services {
		pairs = append(pairs, "http://"+service+":8080", "http://127.0.0.1:"+h.Ports[service])
	}
	for _, volume := range h.project.Services["postgres"].Volumes {
		if volume.Target == "/var/lib/pgbackrest" {
			pairs = append(pairs, volume.Target, volume.Source)
		}
	}
	all := map[string]string{
		"PATH": filepath.Dir(h.Archive) + ":/usr/lib/postgresql/15/bin:" + os.Getenv("PATH"), "LANG": "C.UTF-8", "TMPDIR": "/tmp",
		"HTTP_ADDR": "127.0.0.1:" + h.Ports[name], "OPS_ADDR": "127.0.0.1:" + h.Ports[name+":ops"],
	}
	for variable, value := range h.project.Services[name].Environment {
		if value != nil {
			all[variable] = strings.NewReplacer(pairs...).Replace(*value)
		}
	}
	if name == "postgres" {
		all["PGHOST"], all["PGPORT"] = h.at("socket"), h.Ports["postgres"]
		all["PGBACKREST_PG1_SOCKET_PATH"], all["PGBACKREST_PG1_PORT"] = h.at("socket"), h.Ports["postgres"]
		all["PGBACKREST_LOCK_PATH"], all["POSTGRES_USER"] = h.at("lock"), "postgres"
	}
	var out []string
	for variable, value := range all {
		out = append(out, variable+"="+value)
	}
	slices.Sort(out)
	return out
}

// command is a command of a container, as a local one.
func (h *host) command(name string, words []string) *exec.Cmd {
	program, _, _ := cutLast(strings.TrimPrefix(h.project.Services[name].Image, "causeway/"), ":")
	if name != "postgres" && (len(words) == 0 || words[0] != "/app") {
		words = append([]string{"/app"}, words...)
	}
	if words[0] == "/app" {
		words[0] = filepath.Join(h.Bin, program)
	}
	if name == "postgres" {
		words = append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"}, words...)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env, cmd.Dir, cmd.Stderr = h.environment(name), h.dir, os.Stderr
	return cmd
}

func (h *host) run(verb string, args []string) error {
	args = slices.DeleteFunc(slices.Clone(args), func(w string) bool { return slices.Contains([]string{"--rm", "--no-deps", "-T"}, w) })
	name, words := args[0], args[1:]
	if len(words) == 0 {
		words = h.project.Services[name].Command
	}
	if name == "prometheus" || verb == "exec" && !h.alive(name) {
		return errors.New(name + " is not running")
	}
	if name == "postgres" {
		if err := h.own(); err != nil {
			return err
		}
	}
	cmd := h.command(name, words)
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	return cmd.Run()
}

// own gives directories to the user of PostgreSQL, which is another one here than in the image.
func (h *host) own() error {
	dirs := []string{h.data(), h.at("socket"), h.at("lock")}
	for _, volume := range h.project.Services["postgres"].Volumes {
		if volume.Target == "/var/lib/pgbackrest" {
			dirs = append(dirs, volume.Source)
		}
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if out, err := exec.Command("chown", "-R", "postgres:postgres", dir).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	return nil
}

func (h *host) up(name string) error {
	if name == "caddy" || name == "prometheus" {
		return nil
	}
	now := strings.Join(h.environment(name), "\n")
	if was, err := os.ReadFile(h.at("pid", name+".env")); err == nil && string(was) == now && h.alive(name) {
		return nil
	}
	if err := h.stop(name); err != nil {
		return err
	}
	cmd, err := h.prepare(name)
	if err != nil {
		return err
	}
	if err := h.begin(name, cmd); err != nil {
		return err
	}
	if err := os.WriteFile(h.at("pid", name+".env"), []byte(now), 0o600); err != nil {
		return err
	}
	healthy := false
	awaited(200*time.Millisecond, func() bool {
		healthy = h.healthy(name)
		return healthy || !h.alive(name)
	})
	if !healthy {
		log, _ := os.ReadFile(h.at("log", name))
		return fmt.Errorf("not healthy:\n%s", log[max(0, len(log)-4000):])
	}
	return nil
}

func (h *host) prepare(name string) (*exec.Cmd, error) {
	switch name {
	case "postgres":
		return h.postgres()
	case "rabbitmq":
		return h.rabbitmq()
	}
	cmd := h.command(name, h.project.Services[name].Command)
	return cmd, nil
}

func (h *host) healthy(name string) bool {
	var cmd *exec.Cmd
	switch name {
	case "postgres":
		cmd = h.command(name, []string{"sh", "-c", "pg_isready -q && psql -U postgres -lqt | grep -q wallets"})
	case "rabbitmq":
		log, _ := os.ReadFile(h.at("log", name))
		return bytes.Contains(log, []byte("Server startup complete"))
	default:
		cmd = h.command(name, []string{"health"})
	}
	cmd.Stderr = nil
	return cmd.Run() == nil
}

// postgres makes the cluster where there is none, as the image's entry point does.
func (h *host) postgres() (*exec.Cmd, error) {
	if err := h.own(); err != nil {
		return nil, err
	}
	service := h.project.Services["postgres"]
	server := append([]string{"postgres", "-D", h.data(), "-p", h.Ports["postgres"], "-h", "127.0.0.1", "-k", h.at("socket")}, service.Command[1:]...)
	if _, err := os.Stat(filepath.Join(h.data(), "PG_VERSION")); err == nil {
		return h.command("postgres", server), nil
	}
	var script string
	for _, volume := range service.Volumes {
		if strings.HasPrefix(volume.Target, "/docker-entrypoint-initdb.d/") {
			script = volume.Source
		}
	}
	text, err := os.ReadFile(script)
	if err != nil {
		return nil, err
	}
	quoted := make([]string, len(server)-3)
	for i, word := range server[3:] {
		quoted[i] = "'" + word + "'"
	}
	for _, words := range [][]string{
		{"initdb", "-D", h.data(), "-U", "postgres", "--auth-local=trust", "--auth-host=scram-sha-256", "--data-checksums"},
		{"pg_ctl", "-D", h.data(), "-w", "-l", filepath.Join(h.data(), "first.log"), "-o", strings.Join(quoted, " "), "start"},
		{"sh", "-s"},
		{"pg_ctl", "-D", h.data(), "-w", "stop"},
	} {
		cmd := h.command("postgres", words)
		cmd.Stdin = bytes.NewReader(text)
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%v: %w", words, err)
		}
	}
	return h.command("postgres", server), nil
}

// rabbitmq has the definitions of the installation, and ports, a cookie and a port mapper of its own.
func (h *host) rabbitmq() (*exec.Cmd, error) {
	definitions := ""
	for _, volume := range h.project.Services["rabbitmq"].Volumes {
		if strings.HasSuffix(volume.Target, "/definitions.json") {
			definitions = volume.Source
		}
	}
	node := h.at("node")
	for file, text := range map[string]string{
		"enabled_plugins": "[rabbitmq_management].\n", "env.conf": "", ".erlang.cookie": "cookieofatest",
		"rabbitmq.conf": "definitions.import_backend = local_filesystem\ndefinitions.local.path = " + definitions + "\nlisteners.tcp.1 = 127.0.0.1:" +
			h.Ports["rabbitmq"] + "\nmanagement.tcp.ip = 127.0.0.1\nmanagement.tcp.port = " + h.Ports["rabbitmq:ops"] +
			"\ndisk_free_limit.absolute = 50MB\nlog.console = true\nlog.file = false\n",
	} {
		if err := os.MkdirAll(node, 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(node, file), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	found, err := filepath.Glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server")
	if err != nil || len(found) == 0 {
		return nil, errors.New("RabbitMQ is not installed")
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + node, "LANG=C.UTF-8", "ERL_EPMD_PORT=" + h.Ports["mapper"], "ERL_EPMD_ADDRESS=127.0.0.1"}
	if !h.alive("mapper") {
		mapper := exec.Command("epmd", "-port", h.Ports["mapper"], "-address", "127.0.0.1")
		mapper.Env = env
		if err := h.begin("mapper", mapper); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(slices.Max(found), "-noinput")
	cmd.Dir = node
	cmd.Env = append(env, "RABBITMQ_ALLOW_INPUT=1", "RABBITMQ_NODENAME=vps@localhost", "RABBITMQ_DIST_PORT="+h.Ports["dist"], "RABBITMQ_LOGS=-",
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}")
	for variable, file := range map[string]string{
		"CONF_ENV_FILE": "env.conf", "CONFIG_FILE": "rabbitmq.conf", "ADVANCED_CONFIG_FILE": "advanced.config", "ENABLED_PLUGINS_FILE": "enabled_plugins",
		"GENERATED_CONFIG_DIR": "generated", "MNESIA_BASE": "mnesia", "LOG_BASE": "log", "PID_FILE": "pid",
	} {
		cmd.Env = append(cmd.Env, "RABBITMQ_"+variable+"="+filepath.Join(node, file))
	}
	return cmd, nil
}

// begin starts a process that outlives this one.
func (h *host) begin(name string, cmd *exec.Cmd) error {
	log, err := os.Create(h.at("log", name))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.WriteFile(h.at("pid", name), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
}

func (h *host) pid(name string) int {
	raw, err := os.ReadFile(h.at("pid", name))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0
	}
	return pid
}

// alive: a process that has ended may wait for its parent for ever.
func (h *host) alive(name string) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.pid(name)))
	return err == nil && !bytes.Contains(raw, []byte(") Z "))
}

func (h *host) stop(name string) error {
	signal := syscall.SIGTERM
	if name == "postgres" {
		signal = syscall.SIGINT
	}
	if !h.alive(name) {
		return nil
	}
	if err := syscall.Kill(h.pid(name), signal); err != nil {
		return err
	}
	if !awaited(50*time.Millisecond, func() bool { return !h.alive(name) }) {
		return errors.New("it does not end")
	}
	return nil
}

// machine is one on which nothing runs yet.
func machine(t *testing.T, dir string) *host {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	h := &host{dir: filepath.Join(dir, "machine"), Bin: bin, Archive: found(t, "pgbackrest", "pgbackrest"), Ports: map[string]string{}}
	for _, part := range []string{"pid", "log"} {
		if err := os.MkdirAll(h.at(part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for at := dir; at != "/"; at = filepath.Dir(at) { // the servers' users pass through
		if info, err := os.Stat(at); err == nil && info.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(at, info.Mode().Perm()|0o011); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range slices.Concat(services, []string{"postgres", "rabbitmq"}) {
		h.Ports[name], h.Ports[name+":ops"] = freePort(t), freePort(t)
	}
	h.Ports["mapper"], h.Ports["dist"] = freePort(t), freePort(t)
	raw, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.at("host.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "path", "docker")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, filepath.Join(dir, "path", "docker")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ENGINE", h.dir)
	t.Cleanup(func() {
		for _, name := range slices.Sorted(maps.Keys(h.Ports)) {
			if h.alive(name) {
				_ = syscall.Kill(-h.pid(name), syscall.SIGKILL)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(h.Ports)) {
			if !awaited(50*time.Millisecond, func() bool { return !h.alive(name) }) {
				t.Errorf("%s does not end", name)
			}
		}
	})
	return h
}
