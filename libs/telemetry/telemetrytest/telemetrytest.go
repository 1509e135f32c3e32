// Package telemetrytest gives a test its own telemetry, so that no binary links package testing.
package telemetrytest

import (
	"io"
	"sync"
	"testing"

	"causeway.internal/libs/telemetry"
)

// ForTest returns telemetry with a private registry that logs into the test's output for as long as the test runs.
func ForTest(t testing.TB) *telemetry.Telemetry {
	t.Helper()
	out := &output{w: t.Output()}
	t.Cleanup(out.end)
	return telemetry.To(out, "test")
}

// output drops lines after the end of the test, for which package testing would panic.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(line)
}

func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w = io.Discard
}
