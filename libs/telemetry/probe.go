package telemetry

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

const probeTimeout = 4 * time.Second

// Probe calls /readyz at an OPS_ADDR on this machine; empty means the default :9090. It is the `health` verb of every
// binary, for images without any other client.
func Probe(ctx context.Context, opsAddr string) error {
	if opsAddr == "" {
		opsAddr = ":9090"
	}
	host, port, err := net.SplitHostPort(opsAddr)
	if err != nil {
		return fmt.Errorf("read OPS_ADDR: %w", err)
	}
	if host == "" {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("read readiness: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("read readiness: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", response.Status)
	}
	return nil
}
