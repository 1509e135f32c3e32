package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"causeway.internal/services/wallets/internal/intent"
)

const (
	bodyMost    = 12 << 20 // a PSBT with its previous transactions
	patience    = 10 * time.Second
	connections = 64
)

// Listen opens the unix socket for the listed user ids. It replaces a socket that a dead process left behind and fails
// on one that answers.
func Listen(path string, peers []uint32, log *slog.Logger) (net.Listener, error) {
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("another signer answers on %s", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing the old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("opening the socket: %w", err)
	}
	if err := os.Chmod(path, 0o660); err != nil { //nolint:gosec // wallets is a member of the group
		return nil, errors.Join(err, l.Close())
	}
	if len(peers) == 0 {
		peers = []uint32{uint32(os.Getuid())} //nolint:gosec // a user id has 32 bits
	}
	return &checked{UnixListener: l, peers: peers, log: log, free: make(chan struct{}, connections)}, nil
}

// checked accepts connections of listed users only (the kernel names the user by SO_PEERCRED), and a bounded number of
// them at a time.
type checked struct {
	*net.UnixListener
	peers []uint32
	log   *slog.Logger
	free  chan struct{}
}

func (c *checked) Accept() (net.Conn, error) {
	for {
		conn, err := c.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := userOf(conn)
		if err != nil || !slices.Contains(c.peers, uid) {
			//nolint:gosec // a user id has 32 bits
			if err != nil || uid != uint32(os.Getuid()) { // Health connects as this process's own user
				c.log.Warn("unauthorized peer refused", "uid", uid, "err", err)
			}
			_ = conn.Close()
			continue
		}
		select {
		case c.free <- struct{}{}:
			return &counted{UnixConn: conn, free: c.free}, nil
		default:
			_ = conn.Close()
		}
	}
}

// counted frees its slot once.
type counted struct {
	*net.UnixConn
	free chan struct{}
}

func (c *counted) Close() error {
	err := c.UnixConn.Close()
	if err == nil { // only the first close succeeds
		<-c.free
	}
	return err
}

func userOf(conn *net.UnixConn) (uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); inner == nil {
			uid = cred.Uid
		}
	})
	return uid, errors.Join(err, inner)
}

// Health returns an error unless a signer accepts connections on the socket at path. The caller's own user may ask even
// if it is not a peer: the signer answers a peer and closes any other connection, and both show that it is alive.
func Health(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, patience/2)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("no signer answers: %w", err)
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	if err := conn.SetDeadline(end); err != nil {
		return fmt.Errorf("asking the signer: %w", err)
	}
	_, wrote := io.WriteString(conn, "GET /v1/stations HTTP/1.0\r\n\r\n")
	_, read := conn.Read(make([]byte, 1))
	if err := errors.Join(wrote, read); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the signer does not answer: %w", err)
	}
	return nil
}

// Serve answers requests until the listener is closed.
func Serve(l net.Listener, h *Handler, log *slog.Logger) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/sign", func(w http.ResponseWriter, r *http.Request) {
		exchange(w, r, log, func(q intent.Request) (any, error) { return h.Sign(q) })
	})
	mux.HandleFunc("POST /v1/addresses", func(w http.ResponseWriter, r *http.Request) {
		exchange(w, r, log, func(p Places) (any, error) {
			list, err := h.Addresses(p)
			return map[string][]string{"addresses": list}, err
		})
	})
	mux.HandleFunc("GET /v1/stations", func(w http.ResponseWriter, _ *http.Request) {
		s, err := h.Stations()
		answer(w, log, s, err)
	})
	server := &http.Server{
		Handler: mux, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() { _ = server.Serve(l) }()
	return server
}

func exchange[T any](w http.ResponseWriter, r *http.Request, log *slog.Logger, f func(T) (any, error)) {
	var body T
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyMost))
	d.DisallowUnknownFields()
	err := d.Decode(&body)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("trailing data after the request")
		}
	}
	if err != nil {
		answer(w, log, nil, intent.Refuse(intent.Malformed, "%.200s", err))
		return
	}
	out, err := f(body)
	answer(w, log, out, err)
}

func answer(w http.ResponseWriter, log *slog.Logger, body any, err error) {
	status := http.StatusOK
	if err != nil {
		var refusal *intent.Refusal
		if status = http.StatusForbidden; !errors.As(err, &refusal) {
			log.Error("request failed", "err", err)
			status, refusal = http.StatusInternalServerError, intent.Refuse("fault", "the signer failed; its log says why")
		}
		body = refusal
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
