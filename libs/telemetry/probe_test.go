package telemetry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestProbe(t *testing.T) {
	ready := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(ready)
	}))
	addr := strings.TrimPrefix(s.URL, "http://")
	for _, spelling := range []string{addr, strings.TrimPrefix(addr, "127.0.0.1")} {
		if err := Probe(t.Context(), spelling); err != nil {
			t.Errorf("probe %s: %v", spelling, err)
		}
	}
	ready = http.StatusServiceUnavailable
	if err := Probe(t.Context(), addr); err == nil {
		t.Error("a process that is not ready passed")
	}
	s.Close()
	for _, bad := range []string{addr, "nonsense"} {
		if err := Probe(t.Context(), bad); err == nil {
			t.Errorf("%s passed", bad)
		}
	}
}
