package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// connection is an AMQP connection with its socket. The library's calls ignore contexts and may block for as long as
// the broker does not read (a memory alarm); closing the socket ends every one of them.
type connection struct {
	*amqp.Connection
	socket net.Conn
}

// open connects for one role. It gives up when ctx ends or after connectTimeout.
func (l *Link) open(ctx context.Context, role string) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var socket net.Conn
	settings := l.settings(role, func(network, addr string) (net.Conn, error) {
		var err error
		socket, err = l.socket(ctx, role, network, addr)
		return socket, err
	})
	inner, err := amqp.DialConfig(l.url, settings)
	if err != nil {
		if socket != nil {
			_ = socket.Close() // not usable any more
		}
		if deadline, _ := ctx.Deadline(); errors.Is(err, amqp.ErrCredentials) && (ctx.Err() != nil || !time.Now().Before(deadline)) {
			// The library reports every failure after the credentials were sent as their refusal. The socket may reach
			// its deadline just before the context does.
			return nil, fmt.Errorf("the broker did not finish the handshake: %w", context.DeadlineExceeded)
		}
		return nil, err
	}
	return &connection{Connection: inner, socket: socket}, nil
}

// settings are the connection's parameters; the name shows in RabbitMQ's management pages.
func (l *Link) settings(role string, dial func(network, addr string) (net.Conn, error)) amqp.Config {
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(l.service + " " + role)
	// The library adds the name that the certificate must bear, and uses TLS for amqps alone.
	secure := &tls.Config{RootCAs: l.authorities, MinVersion: tls.VersionTLS12}
	return amqp.Config{Heartbeat: heartbeat, Properties: properties, Dial: dial, Locale: "en_US", TLSClientConfig: secure}
}

// socket dials and counts the connection as open until its socket is closed.
func (l *Link) socket(ctx context.Context, role, network, addr string) (net.Conn, error) {
	gauge := l.metrics.connected.WithLabelValues(role) // starts at 0: an alert cannot see a missing series
	dialer := net.Dialer{Timeout: connectTimeout}
	raw, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(connectTimeout)
	}
	// The library clears this deadline once the handshake is done.
	if err := raw.SetDeadline(deadline); err != nil {
		_ = raw.Close() // the first error says more
		return nil, err
	}
	gauge.Inc()
	if role == roleConsume {
		l.conn.Add(1)
	}
	return &tracked{Conn: raw, gone: func() {
		gauge.Dec()
		if role == roleConsume {
			l.conn.Add(-1)
		}
	}}, nil
}

// The roles of connections.
const (
	rolePublish = "publish"
	roleConsume = "consume"
	roleInspect = "inspect"
)

// tracked is a socket that reports its closing; the library closes it as soon as it notices a failure.
type tracked struct {
	net.Conn
	once sync.Once
	gone func()
}

func (t *tracked) Close() error {
	t.once.Do(t.gone)
	return t.Conn.Close()
}

// end closes the connection by the protocol within a second, else by the socket.
func (c *connection) end() {
	if err := c.CloseDeadline(time.Now().Add(time.Second)); err != nil {
		_ = c.socket.Close() // the protocol's close failed
	}
}

// cut closes the socket, which unblocks every call on the connection.
func (c *connection) cut() {
	_ = c.socket.Close() // an error means that it is closed already
}

// isFinal reports whether the broker itself has returned an error that waiting does not cure. The library's own
// ErrCredentials is not final: it also means a broker that closed the connection during the handshake, as a
// stopping one does.
func isFinal(err error) bool {
	broker, ok := errors.AsType[*amqp.Error](err)
	return ok && broker.Server && broker.Code == amqp.AccessRefused
}
