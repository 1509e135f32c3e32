package bus

import (
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/libs/config"
	"causeway.internal/libs/telemetry/telemetrytest"
)

// halfBroker greets every connection as a broker does and then calls end, which answers the credentials never or by
// hanging up.
func halfBroker(t *testing.T, end func(net.Conn)) (url string, greeted *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	greeted = new(atomic.Int64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buffer := make([]byte, 4096)
				if _, err := conn.Read(buffer); err != nil { // the protocol header
					return
				}
				if _, err := conn.Write(startFrame()); err != nil {
					return
				}
				if _, err := conn.Read(buffer); err != nil { // the credentials
					return
				}
				greeted.Add(1)
				end(conn)
			}()
		}
	}()
	return "amqp://user:secret@" + listener.Addr().String() + "/", greeted
}

// startFrame is connection.start of AMQP 0-9-1 with an empty table of properties.
func startFrame() []byte {
	method := []byte{0, 10, 0, 10, 0, 9, 0, 0, 0, 0} // class, method, version 0-9, an empty table
	for _, word := range []string{"PLAIN", "en_US"} {
		method = binary.BigEndian.AppendUint32(method, uint32(len(word)))
		method = append(method, word...)
	}
	frame := binary.BigEndian.AppendUint32([]byte{1, 0, 0}, uint32(len(method)))
	return append(append(frame, method...), 0xCE)
}

// TestHandshake_slowBrokerIsNoRefusal: the client library names every failure after the credentials were sent "username
// or password not allowed". A broker under load that takes its time must not stop a service.
func TestHandshake_slowBrokerIsNoRefusal(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	url, _ := halfBroker(t, func(net.Conn) { <-done })
	l, err := dial(t.Context(), Config{URL: config.Secret(url)}, billing, telemetrytest.ForTest(t), lines())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestHandshake_droppedWhileRunning: a broker that hangs up on a service that runs already, as one does that is being
// stopped, is tried again.
func TestHandshake_droppedWhileRunning(t *testing.T) {
	t.Parallel()
	url, greeted := halfBroker(t, func(net.Conn) {})
	l := &Link{service: billing, url: url, lines: lines(), tel: telemetrytest.ForTest(t)}
	l.metrics = newMetrics(l.tel.Registry)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := l.subscriber(ctx, &origins{}, &exit{})
		ended <- err
	}()
	for deadline := time.After(2 * time.Minute); greeted.Load() < 3; {
		select {
		case err := <-ended:
			t.Fatalf("it gave up after %d tries: %v", greeted.Load(), err)
		case <-deadline:
			t.Fatal("no third try")
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	<-ended //nolint:errcheck // it ends because it is cancelled
}

// TestHandshake_droppedAtTheStart: the same at the start of a process is what wrong credentials look like, which an
// operator must see.
func TestHandshake_droppedAtTheStart(t *testing.T) {
	t.Parallel()
	url, _ := halfBroker(t, func(net.Conn) {})
	if _, err := dial(t.Context(), Config{URL: config.Secret(url)}, billing, telemetrytest.ForTest(t), lines()); err == nil {
		t.Error("refused credentials were taken for a broker that is away")
	}
}
