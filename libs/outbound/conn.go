package outbound

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// dial opens a connection, with TLS where it is to be secure. The guard sees every address that is tried (guard.Control).
func (c *Client) dial(ctx context.Context, watch *stopwatch, address string, withTLS bool) (socket *net.TCPConn, secure *tls.Conn, err error) {
	plain, err := c.dialer.DialContext(watch.dialling(ctx), "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	socket = plain.(*net.TCPConn) // what dialling "tcp" gives
	if !withTLS {
		return socket, nil, nil
	}
	cfg := c.tls.Clone()
	cfg.ServerName, _, _ = net.SplitHostPort(address) // it was joined, or the dial had failed
	secure = tls.Client(socket, cfg)
	ctx, cancel := context.WithTimeout(ctx, min(handshake, c.total))
	defer cancel()
	watch.start(&watch.shake)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = socket.Close()
		return nil, nil, err
	}
	watch.stop(&watch.shake, &watch.timing.TLS)
	return socket, secure, nil
}

// conn is a connection to an endpoint that speaks HTTP/1.1. It belongs to one attempt at a time, or to the pool.
type conn struct {
	net.Conn // the socket, or TLS over it
	socket   *net.TCPConn
	remote   netip.AddrPort
	reader   *bufio.Reader
	left     int64 // bytes that may yet be read
	lines    int   // and ends of lines among them, within a read
	late     error // that a read was not over in time, whatever the parser makes of it
	idle     time.Time
}

func newConn(socket *net.TCPConn, secure *tls.Conn) *conn {
	c := &conn{Conn: socket, socket: socket, remote: remoteOf(socket)}
	if secure != nil {
		c.Conn = secure
	}
	c.reader = bufio.NewReader(c)
	return c
}

func remoteOf(c net.Conn) netip.AddrPort {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

var errHead = errors.New("the head of the response is too large")

// Read bounds the head of a response, those of 1xx before it included. Each of its lines, however short, costs the parser a
// hundred bytes.
func (c *conn) Read(b []byte) (int, error) {
	if c.left <= 0 || c.lines <= 0 {
		return 0, errHead
	}
	n, err := c.Conn.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	c.lines -= bytes.Count(b[:n], newline)
	if err != nil && timedOut(err) {
		c.late = err
	}
	return n, err
}

// failure is why no answer came: the time was over, rather than what is wrong with the half line that had come by then.
func (c *conn) failure(err, unsent error) error {
	switch {
	case c.late != nil:
		return c.late
	case unsent != nil:
		return fmt.Errorf("%w after %w", err, unsent)
	}
	return err
}

// abort closes the socket without a farewell, which a peer that does not read could hold up for seconds.
func (c *conn) abort() { _ = c.socket.Close() }

// quiet reports whether a connection that was idle is still open and has brought nothing: no farewell, and no answer to a
// question that was not asked.
func (c *conn) quiet() bool {
	raw, err := c.socket.SyscallConn()
	if err != nil || c.reader.Buffered() > 0 {
		return false
	}
	var peeked error
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, peeked = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	if err != nil || !errors.Is(peeked, syscall.EAGAIN) {
		return false
	}
	if c.Conn == net.Conn(c.socket) {
		return true
	}
	_ = c.SetReadDeadline(past) // what TLS has read already comes all the same
	c.left = 1
	_, err = c.reader.Peek(1)
	return errors.Is(err, os.ErrDeadlineExceeded)
}

var (
	past    = time.Unix(1, 0) // as a deadline it ends what is under way
	newline = []byte{'\n'}
	asked   = &http.Request{Method: http.MethodPost} // what an answer is read as the answer to
	buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}
)

// exchange writes the request and reads the response. It says whether the connection may carry another.
func (c *conn) exchange(ctx context.Context, watch *stopwatch, r *request) (res Result, reusable bool) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(past) })
	defer func() { reusable = stop() && reusable }() // or the deadline of the next attempt may be moved
	_ = c.SetDeadline(r.until)                       // it fails on a closed socket, where everything does
	c.late = nil
	unsent := c.send(ctx, r)
	if unsent != nil && (ctx.Err() != nil || timedOut(unsent)) {
		return Result{Err: unsent}, false
	}
	// Where it was the other side that closed, it may have answered first.
	watch.start(&watch.sent)
	resp, err := c.head(ctx, watch) //nolint:bodyclose // closing it would read it to its end
	if err != nil {
		return Result{Err: c.failure(err, unsent)}, false
	}
	ended := res.read(resp)
	if res.Err != nil && c.late != nil {
		res.Err = &truncated{c.late}
	}
	return res, ended && unsent == nil && !resp.Close && resp.StatusCode >= http.StatusOK && c.reader.Buffered() == 0
}

func (c *conn) send(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil { // it may have ended before the deadline was set
		return err
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	*buffer = r.append((*buffer)[:0])
	_, err := c.Write(*buffer)
	return err
}

// head reads until the head of the final response.
func (c *conn) head(ctx context.Context, watch *stopwatch) (*http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.left, c.lines = headerBytes, headerLines
	defer func() { c.left, c.lines = math.MaxInt64, math.MaxInt }()
	if _, err := c.reader.Peek(1); err != nil {
		return nil, err
	}
	watch.answer()
	for {
		resp, err := http.ReadResponse(c.reader, asked)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, nil
		}
	}
}
