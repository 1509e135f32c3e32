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

	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/state"
	"causeway.internal/libs/testkit/port"
)

// findRabbit returns the server script, "" if there is none. Debian's wrapper in /usr/sbin is passed over: it insists
// on the system's account and directories.
func findRabbit() string {
	patterns := []string{
		"/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server",
		"/usr/lib/rabbitmq/bin/rabbitmq-server",
		"/opt/rabbitmq/sbin/rabbitmq-server",
		"/usr/local/lib/rabbitmq/sbin/rabbitmq-server",
	}
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern)
		if len(found) > 0 {
			return slices.Max(found)
		}
	}
	return ""
}

func findEpmd() string {
	if path, err := exec.LookPath("epmd"); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib*/erlang/erts-*/bin/epmd")
	if len(found) == 0 {
		return ""
	}
	return slices.Max(found)
}

func overview(api string) string { return strings.TrimRight(api, "/") + "/api/overview" }

// listens is the URL that answers 200 once the broker takes connections on a port. Other calls of the management API
// succeed earlier.
func listens(api string, port int) string {
	return fmt.Sprintf("%s/api/health/checks/port-listener/%d", api, port)
}

// clusterNodes is how many nodes a RabbitMQ has that has several.
const clusterNodes = 3

// rabbit starts a private broker with its management and its metrics. Its port mapper, ports, cookie and home are its
// own, so that it neither meets nor disturbs another broker on the machine. Further nodes join the first one by one.
func (s Servers) rabbit(ctx context.Context, user *process.User, password string, ca *authority) error {
	data, err := s.dataDir()
	if err != nil {
		return err
	}
	nodes := 1
	if s.Cluster {
		nodes = clusterNodes
	}
	for number := 1; number <= nodes; number++ {
		if err := s.rabbitNode(ctx, number, data, user, password, ca); err != nil {
			return err
		}
		if s.Cluster {
			if err := s.joined(number); err != nil {
				return err
			}
		}
	}
	return nil
}

// joined waits until a node has ended its start. It answers before, and a virtual host that is made meanwhile waits for
// its part on that node in vain.
func (s Servers) joined(number int) error {
	st, err := state.Load(s.Dir)
	if err != nil {
		return err
	}
	node, err := st.Find(rabbitName(number))
	if err != nil {
		return err
	}
	control := filepath.Join(filepath.Dir(node.Spec.Path), "rabbitmqctl")
	return node.Spec.User.Run(node.Spec.Env, control, "await_startup", "--timeout", "60")
}

// rabbitName names the process of a node, and the directory of its files.
func rabbitName(number int) string {
	if number == 1 {
		return Rabbit
	}
	return Rabbit + "-" + strconv.Itoa(number)
}

// erlangName names a node to the others.
func erlangName(number int) string {
	return strings.Replace(rabbitName(number), Rabbit, "causeway", 1) + "@localhost"
}

func (s Servers) rabbitNode(ctx context.Context, number int, data string, user *process.User, password string, ca *authority) error {
	node := filepath.Join(data, rabbitName(number))
	if err := user.Own(node); err != nil {
		return err
	}
	if err := ca.issue(user, filepath.Join(node, "server.crt"), filepath.Join(node, "server.key")); err != nil {
		return err
	}
	log := filepath.Join(state.LogDir(s.Dir), rabbitName(number)+".log")
	for attempt := 1; ; attempt++ {
		err := s.startRabbit(ctx, number, user, node, password, log)
		if err != nil && errors.Is(err, ErrEnded) && attempt < 3 && taken(log) {
			continue
		}
		return err
	}
}

func (s Servers) startRabbit(ctx context.Context, number int, user *process.User, node, password, log string) error {
	ports, err := port.Take(5)
	if err != nil {
		return err
	}
	amqp, management, dist, amqps, metrics := ports[0], ports[1], ports[2], ports[3], ports[4]
	files := map[string]string{
		".erlang.cookie":  password,
		"enabled_plugins": "[rabbitmq_management,rabbitmq_prometheus].\n",
		"env.conf":        "",
		"rabbitmq.conf":   rabbitConf(amqp, amqps, management, metrics, node, password) + s.clusterConf(number),
	}
	for name, content := range files {
		if err := os.Remove(filepath.Join(node, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replace %s: %w", name, err)
		}
		if err := user.Write(filepath.Join(node, name), content); err != nil {
			return err
		}
	}
	mapper, err := s.mapper(number, user, node)
	if err != nil {
		return err
	}
	api := (&url.URL{
		Scheme: "http", User: url.UserPassword("causeway", password), Host: "127.0.0.1:" + strconv.Itoa(management),
	}).String()
	address := url.URL{Scheme: "amqp", User: url.UserPassword("causeway", password), Host: "127.0.0.1:" + strconv.Itoa(amqp), Path: "/"}
	server := state.Server{Private: true, URL: address.String(), API: api, CA: s.authorityFile()}
	host := address.Host
	address.Scheme, address.Host = "amqps", "127.0.0.1:"+strconv.Itoa(amqps)
	server.TLS, server.Metrics = address.String(), fmt.Sprintf("http://127.0.0.1:%d/metrics", metrics)
	p := state.Process{Name: rabbitName(number), Ready: listens(api, amqps), Spec: process.Spec{
		Path: findRabbit(), Args: []string{"-noinput"}, Dir: node, Log: log, User: user,
		Env: append(s.erlangEnv(node, mapper), rabbitEnv(node, erlangName(number), dist)...),
	}}
	if p.Ref, err = process.Start(p.Spec); err != nil {
		return err
	}
	err = s.started(p, func(st *state.State) {
		if number == 1 {
			st.Rabbit = server
		}
		if s.Cluster {
			st.Rabbit.Nodes = append(st.Rabbit.Nodes[:number-1], host)
		}
	})
	if err != nil {
		return err
	}
	return Ready(ctx, p)
}

// clusterConf makes a further node join the first. As the operator of RabbitMQ has it on Kubernetes, a node that has
// lost the majority pauses, and the leaders of queues are spread over the nodes.
func (s Servers) clusterConf(number int) string {
	if !s.Cluster {
		return ""
	}
	conf := "cluster_partition_handling = pause_minority\nqueue_leader_locator = balanced\n"
	if number > 1 {
		conf += "cluster_formation.peer_discovery_backend = classic_config\ncluster_formation.classic_config.nodes.1 = " + erlangName(1) + "\n"
	}
	return conf
}

// mapper starts the port mapper with the first node, and returns its port.
func (s Servers) mapper(number int, user *process.User, node string) (string, error) {
	if number > 1 {
		st, err := state.Load(s.Dir)
		if err != nil {
			return "", err
		}
		epmd, err := st.Find(Epmd)
		if err != nil {
			return "", err
		}
		return epmd.Spec.Setting(mapperPort), nil
	}
	ports, err := port.Take(1)
	if err != nil {
		return "", err
	}
	mapper := strconv.Itoa(ports[0])
	return mapper, s.replaceEpmd(&state.Process{Name: Epmd, Spec: process.Spec{
		Path: findEpmd(), Args: []string{"-port", mapper, "-address", "127.0.0.1"}, Dir: node, Env: s.erlangEnv(node, mapper), User: user,
		Log: filepath.Join(state.LogDir(s.Dir), Epmd+".log"),
	}})
}

const mapperPort = "ERL_EPMD_PORT"

func (s Servers) erlangEnv(home, mapper string) []string {
	return s.env("HOME="+home, "LANG=C.UTF-8", mapperPort+"="+mapper, "ERL_EPMD_ADDRESS=127.0.0.1")
}

// replaceEpmd starts the port mapper, in place of the one of an attempt that failed.
func (s Servers) replaceEpmd(epmd *state.Process) error {
	if epmd.Spec.Path == "" {
		return errors.New("erlang's epmd is not installed")
	}
	_, err := state.Change(s.Dir, func(st *state.State) error {
		if old, err := st.Find(Epmd); err == nil {
			if err := old.Ref.Kill(); err != nil {
				return err
			}
		}
		ref, err := process.Start(epmd.Spec)
		epmd.Ref = ref
		st.Put(*epmd)
		return err
	})
	return err
}

func rabbitConf(amqp, amqps, management, metrics int, node, password string) string {
	return fmt.Sprintf(`listeners.tcp.1 = 127.0.0.1:%d
listeners.ssl.1 = 127.0.0.1:%d
ssl_options.certfile = %[5]s/server.crt
ssl_options.keyfile = %[5]s/server.key
management.tcp.ip = 127.0.0.1
management.tcp.port = %[3]d
prometheus.tcp.ip = 127.0.0.1
prometheus.tcp.port = %[4]d
default_user = causeway
default_pass = %[6]s
disk_free_limit.absolute = 50MB
log.console = true
log.console.level = info
log.file = false
`, amqp, amqps, management, metrics, node, password)
}

// rabbitEnv names every file the broker would otherwise look for in the system's directories. RABBITMQ_ALLOW_INPUT
// makes the script replace itself by the virtual machine, so that the process we know is the broker itself.
func rabbitEnv(node, name string, dist int) []string {
	return []string{
		"RABBITMQ_ALLOW_INPUT=1",
		"RABBITMQ_NODENAME=" + name,
		"RABBITMQ_DIST_PORT=" + strconv.Itoa(dist),
		"RABBITMQ_CONF_ENV_FILE=" + filepath.Join(node, "env.conf"),
		"RABBITMQ_CONFIG_FILE=" + filepath.Join(node, "rabbitmq.conf"),
		"RABBITMQ_ADVANCED_CONFIG_FILE=" + filepath.Join(node, "advanced.config"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + filepath.Join(node, "enabled_plugins"),
		"RABBITMQ_GENERATED_CONFIG_DIR=" + filepath.Join(node, "generated"),
		"RABBITMQ_MNESIA_BASE=" + filepath.Join(node, "mnesia"),
		"RABBITMQ_LOG_BASE=" + filepath.Join(node, "log"),
		"RABBITMQ_LOGS=-",
		"RABBITMQ_PID_FILE=" + filepath.Join(node, "pid"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
	}
}
