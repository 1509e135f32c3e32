package product

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/state"
)

const (
	// addressStock is the target of the stock of each family, unless the options have another. It is refilled at half, so
	// two fifths are there after any restart, leased blocks apart.
	addressStock = 2560

	stockLimit = time.Minute
	stockGauge = "payments_address_stock"
	openGauge  = "payments_network_open"
)

// families are the groups of networks that share addresses.
func families() []string { return []string{"bitcoin", "evm", "tron", "solana"} }

// wanted is how many free addresses of each family every shard of an instance has once it is up.
func (o Options) wanted() int {
	target := addressStock
	for _, name := range []string{"ADDRESS_STOCK", payments + ":ADDRESS_STOCK"} {
		if n, err := strconv.Atoi(o.Env[name]); err == nil {
			target = n
		}
	}
	return target * 2 / 5
}

// stock waits until payments holds enough test addresses of every family, and each of its processes has heard from
// wallets that the networks of test mode are scanned. The stock may be reported by any of payments' processes; all are
// asked.
func (p Product) stock(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, stockLimit)
	defer stop()
	st, err := state.Load(p.Dir)
	if err != nil {
		return err
	}
	metrics := map[string][]string{} // by payments of each shard
	for _, one := range st.Processes {
		if name := paymentsOf(one.Name); name != "" {
			metrics[name] = append(metrics[name], strings.TrimSuffix(one.Ready, "/readyz")+"/metrics")
		}
	}
	for {
		var short []string
		for name, addresses := range metrics {
			have, closed := map[string]int{}, []string{}
			for _, address := range addresses {
				text, err := readMetrics(ctx, address)
				if err != nil && ctx.Err() == nil {
					return err
				}
				parseStock(text, have)
				closed = append(closed, closedNetworks(text)...)
			}
			for _, lack := range append(missing(have, p.Options.wanted()), closed...) {
				short = append(short, name+" "+lack)
			}
		}
		if len(short) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return p.unstocked(ctx, short)
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// paymentsOf is the tenant of a process of payments, "" of another process.
func paymentsOf(process string) (tenant string) {
	for _, t := range Tenants(ShardsMax) {
		if name := t.Name(); t.Service == payments && (process == name || strings.HasPrefix(process, name+"-")) && len(name) > len(tenant) {
			tenant = name
		}
	}
	return tenant
}

// missing lists the families that are short, with what they have.
func missing(have map[string]int, wanted int) []string {
	var short []string
	for _, family := range families() {
		if have[family] < wanted {
			short = append(short, fmt.Sprintf("%s %d", family, have[family]))
		}
	}
	return short
}

func (p Product) unstocked(ctx context.Context, short []string) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Canceled
	}
	for _, service := range []string{wallets, payments} { // wallets makes addresses, payments asks for them
		log := filepath.Join(state.LogDir(p.Dir), service+".log")
		if p.Options.Split {
			log = filepath.Join(state.LogDir(p.Dir), service+"-work.log")
		}
		p.Progress.Quote("last lines of "+log, process.Tail(log, 15))
	}
	return fmt.Errorf("payments is not ready to sell after %s (%d addresses of each family and open networks wanted; has %s)",
		stockLimit, p.Options.wanted(), strings.Join(short, ", "))
}

func readMetrics(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", fmt.Errorf("ask payments for its metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask payments for its metrics: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil {
		return "", fmt.Errorf("read the metrics of payments: %w", err)
	}
	return string(text), nil
}

var label = regexp.MustCompile(`(\w+)="([^"]*)"`)

// samples gives a gauge's test-mode samples out of the text format of Prometheus.
func samples(metrics, gauge string, each func(labels map[string]string, value float64)) {
	for line := range strings.SplitSeq(metrics, "\n") {
		if !strings.HasPrefix(line, gauge+"{") {
			continue
		}
		end := strings.LastIndexByte(line, '}')
		if end < 0 {
			continue
		}
		labels := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(line[:end], -1) {
			labels[pair[1]] = pair[2]
		}
		fields := strings.Fields(line[end+1:])
		if labels["mode"] != "test" || len(fields) == 0 {
			continue
		}
		// A gauge may be printed with an exponent.
		if value, err := strconv.ParseFloat(fields[0], 64); err == nil {
			each(labels, value)
		}
	}
}

// parseStock notes the largest stock of each family.
func parseStock(metrics string, have map[string]int) {
	samples(metrics, stockGauge, func(labels map[string]string, value float64) {
		if family := labels["family"]; slices.Contains(families(), family) {
			have[family] = max(have[family], int(value))
		}
	})
}

// closedNetworks lists the networks that a process says are closed. One of an older version says nothing of them.
func closedNetworks(metrics string) (closed []string) {
	samples(metrics, openGauge, func(labels map[string]string, value float64) {
		if value == 0 {
			closed = append(closed, labels["network"]+" closed")
		}
	})
	return closed
}
