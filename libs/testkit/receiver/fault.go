package receiver

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Call is one delivery that a Fault answers.
type Call struct {
	W       http.ResponseWriter
	R       *http.Request
	Arrival int             // 1 for the path's first delivery since the fault was set
	Closing context.Context // ends when the receiver closes
}

// Fault answers a delivery in its own way. It returns false to leave the answer, a 200, to the receiver.
type Fault func(Call) bool

// Status answers with a code and headers given in pairs.
func Status(code int, header ...string) Fault {
	return func(c Call) bool {
		for i := 0; i+1 < len(header); i += 2 {
			c.W.Header().Set(header[i], header[i+1])
		}
		c.W.WriteHeader(code)
		return true
	}
}

// Busy answers 429 or 503 with Retry-After in seconds.
func Busy(code, seconds int) Fault { return Status(code, "Retry-After", strconv.Itoa(seconds)) }

// RedirectTo answers 307 with a Location.
func RedirectTo(url string) Fault { return Status(http.StatusTemporaryRedirect, "Location", url) }

// Hang answers nothing for d, then 200; the sender is expected to give up first.
func Hang(d time.Duration) Fault {
	return func(c Call) bool { return !c.pause(d) }
}

// Slow answers 200 after d.
func Slow(d time.Duration) Fault { return Hang(d) }

// Reset reads the request and then resets the connection.
func Reset() Fault {
	return raw(func(conn net.Conn, _ Call) {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	})
}

// Drip answers 200 at once and then one byte of body per interval, without end.
func Drip(interval time.Duration) Fault {
	return raw(func(conn net.Conn, c Call) {
		_, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"))
		for err == nil && c.pause(interval) {
			_, err = conn.Write([]byte("."))
		}
	})
}

// Endless answers 200 with a body that never ends, as fast as it is read.
func Endless() Fault {
	return raw(func(conn net.Conn, c Call) {
		_, err := conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
		chunk := []byte(strings.Repeat("endless ", 4096))
		for err == nil && c.Closing.Err() == nil {
			_, err = conn.Write(chunk)
		}
	})
}

// HugeHead answers 200 with n bytes of headers.
func HugeHead(n int) Fault {
	return raw(func(conn net.Conn, _ Call) {
		_, err := conn.Write([]byte("HTTP/1.1 200 OK\r\n"))
		line := []byte("X-Filler: " + strings.Repeat("h", 1000) + "\r\n")
		for sent := 0; err == nil && sent < n; sent += len(line) {
			_, err = conn.Write(line)
		}
		_, _ = conn.Write([]byte("\r\n"))
	})
}

// Garbage answers bytes that are no HTTP.
func Garbage() Fault {
	return raw(func(conn net.Conn, _ Call) { _, _ = conn.Write([]byte("\x00\x01not http\r\n\r\n")) })
}

// FailFirst gives the path's first n deliveries to f and answers the rest with 200.
func FailFirst(n int, f Fault) Fault {
	return func(c Call) bool { return c.Arrival <= n && f(c) }
}

// pause waits for d and reports whether it passed in full: not when the sender gave up or the receiver closes.
func (c Call) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.R.Context().Done():
		return false
	case <-c.Closing.Done():
		return false
	}
}

// raw takes the connection away from net/http, hands it to f and closes it.
func raw(f func(net.Conn, Call)) Fault {
	return func(c Call) bool {
		conn, _, err := http.NewResponseController(c.W).Hijack()
		if err != nil {
			return false
		}
		defer conn.Close()
		stop := context.AfterFunc(c.Closing, func() { _ = conn.Close() })
		defer stop()
		f(conn, c)
		return true
	}
}
