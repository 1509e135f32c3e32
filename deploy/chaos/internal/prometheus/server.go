// Package prometheus runs a real Prometheus beside a stack, with the real alert rules, and says which alerts fire.
package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// scrapeEvery is a bit oftener than in production (15 s) by the factor that the fast rules are faster.
const (
	scrapeEvery = 2 * time.Second
	readyWithin = 30 * time.Second
	stopWithin  = 10 * time.Second
)

// Target is something to scrape.
type Target struct {
	URL    string // of the metrics
	Labels map[string]string
}

// Server is a running Prometheus.
type Server struct {
	dir     string
	base    string
	command *exec.Cmd
	ended   chan error
}

// Start starts Prometheus in a new directory with files of rules as they are, and with others, which may be the same,
// whose clock is made faster by the factor.
func Start(ctx context.Context, program, dir string, plain, quick []string, factor int) (*Server, error) {
	if err := os.MkdirAll(filepath.Join(dir, "rules"), 0o700); err != nil {
		return nil, fmt.Errorf("making a directory for Prometheus: %w", err)
	}
	for prefix, files := range map[string][]string{"": plain, "fast-": quick} {
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil && prefix != "" {
				text = []byte(Faster(string(text), factor))
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "rules", prefix+filepath.Base(file)), text, 0o600)
			}
			if err != nil {
				return nil, fmt.Errorf("copying the rules: %w", err)
			}
		}
	}
	config := fmt.Sprintf(`global: {scrape_interval: %[1]s, scrape_timeout: %[1]s, evaluation_interval: %[1]s}
rule_files: [rules/*.yml]
scrape_configs:
  - job_name: stack
    file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]
`, scrapeEvery)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("configuring Prometheus: %w", err)
	}
	p := &Server{dir: dir, ended: make(chan error, 1)}
	if err := p.Scrape(nil); err != nil {
		return nil, err
	}
	return p, p.start(ctx, program)
}

func (p *Server) start(ctx context.Context, program string) error {
	free, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("finding a port for Prometheus: %w", err)
	}
	address := free.Addr().String()
	_ = free.Close()
	log, err := os.Create(filepath.Join(p.dir, "prometheus.log"))
	if err != nil {
		return fmt.Errorf("opening Prometheus' log: %w", err)
	}
	defer log.Close() //nolint:errcheck // the process has its own
	p.base = "http://" + address
	p.command = exec.Command(program, "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address="+address)
	p.command.Dir, p.command.Stdout, p.command.Stderr = p.dir, log, log
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.command.Start(); err != nil {
		return fmt.Errorf("starting Prometheus: %w", err)
	}
	go func() { p.ended <- p.command.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		if err = p.get(ctx, "/api/v1/query", url.Values{"query": {"1"}}, nil); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			p.Stop()
			return fmt.Errorf("prometheus does not get ready (%s): %w", log.Name(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Stop ends it.
func (p *Server) Stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended: //nolint:errcheck // a stopped process may end with any status
	case <-time.After(stopWithin):
		_ = p.command.Process.Kill()
		<-p.ended //nolint:errcheck // a killed process ends with an error
	}
}

// Scrape replaces what is scraped; it takes effect within two seconds or so.
func (p *Server) Scrape(targets []Target) error {
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	groups := []group{}
	for _, t := range targets {
		address, err := url.Parse(t.URL)
		if err != nil {
			return fmt.Errorf("a target has no URL: %w", err)
		}
		labels := map[string]string{"__metrics_path__": address.Path}
		for name, value := range t.Labels {
			labels[name] = value
		}
		groups = append(groups, group{Targets: []string{address.Host}, Labels: labels})
	}
	text, err := json.Marshal(groups)
	if err != nil {
		return fmt.Errorf("rendering the targets: %w", err)
	}
	path := filepath.Join(p.dir, "targets.json")
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return fmt.Errorf("writing the targets: %w", err)
	}
	return os.Rename(path+".new", path)
}

// Fast lists the alerts of the fast rules that fire now.
func (p *Server) Fast(ctx context.Context) ([]string, error) {
	return p.names(ctx, `ALERTS{alertstate="firing", clock="fast"}`, "alertname")
}

// Fired lists the alerts of the real rules that have fired since then, if only for a moment.
func (p *Server) Fired(ctx context.Context, since time.Time) ([]string, error) {
	return p.names(ctx, fmt.Sprintf(`max_over_time(ALERTS{alertstate="firing", clock=""}[%ds])`, int(time.Since(since).Seconds())+1), "alertname")
}

// Missing lists the metrics with the prefix that files of rules or dashboards name and nobody has.
func (p *Server) Missing(ctx context.Context, prefix string, files ...string) ([]string, error) {
	name := regexp.MustCompile(`\b` + prefix + `[a-z_]+\b`)
	var named, missing []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		named = append(named, name.FindAllString(string(text), -1)...)
	}
	slices.Sort(named)
	for _, metric := range slices.Compact(named) {
		found, err := p.names(ctx, metric, "__name__")
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			missing = append(missing, metric)
		}
	}
	return missing, nil
}

// Broken lists the rules that cannot be evaluated, and fails if there are none at all.
func (p *Server) Broken(ctx context.Context) (broken []string, err error) {
	var answer struct {
		Groups []struct {
			Rules []struct {
				Name      string `json:"name"`
				Health    string `json:"health"`
				LastError string `json:"lastError"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := p.get(ctx, "/api/v1/rules", nil, &answer); err != nil {
		return nil, err
	}
	rules := 0
	for _, g := range answer.Groups {
		for _, r := range g.Rules {
			rules++
			if r.Health == "err" {
				broken = append(broken, r.Name+": "+r.LastError)
			}
		}
	}
	if rules == 0 {
		return nil, errors.New("prometheus has no rules")
	}
	return broken, nil
}

// names are the values of a label of what a query returns.
func (p *Server) names(ctx context.Context, query, label string) ([]string, error) {
	var answer struct {
		Result []struct {
			Metric map[string]string `json:"metric"`
		} `json:"result"`
	}
	if err := p.get(ctx, "/api/v1/query", url.Values{"query": {query}}, &answer); err != nil {
		return nil, err
	}
	var names []string
	for _, r := range answer.Result {
		names = append(names, r.Metric[label])
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (p *Server) get(ctx context.Context, path string, query url.Values, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking Prometheus: %w", err)
	}
	defer response.Body.Close()
	var answer struct {
		Status string          `json:"status"`
		Error  string          `json:"error"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("reading Prometheus' answer: %w", err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("prometheus refuses %s: %s", strings.TrimPrefix(path, "/api/v1/"), answer.Error)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Data, into)
}
