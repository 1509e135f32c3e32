package telemetry_test

import (
	"bufio"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"

	"causeway.internal/libs/telemetry"
)

// TestStart_logsNothingThatAPeerSent posts to a server that sends the request's body back once too often. net/http
// writes such bytes to the standard logger; none of them reaches the log of a process.
func TestStart_logsNothingThatAPeerSent(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	stderr, provider, propagator := os.Stderr, otel.GetTracerProvider(), otel.GetTextMapPropagator()
	t.Cleanup(func() {
		os.Stderr = stderr
		stdlog.SetOutput(stderr)
		otel.SetTracerProvider(provider)
		otel.SetTextMapPropagator(propagator)
		_ = file.Close()
	})
	os.Stderr = file
	stdlog.SetOutput(file)
	tel, err := telemetry.Start(t.Context(), "test", telemetry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer tel.Flush(t.Context())

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"+string(body))
		_, _ = io.Copy(io.Discard, c) // until the client hangs up
	}()
	client := &http.Client{Transport: &http.Transport{}}
	res, err := client.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader("token-of-a-settlement"))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	<-hungUp
	client.CloseIdleConnections()
	_ = l.Close()
	written, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if log := string(written); !strings.Contains(log, `"line of a library dropped"`) || strings.Contains(log, "token-of") {
		t.Errorf("logged %s", log)
	}
}
