package toxic

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

// echo answers every connection with what it sends, and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func open(t *testing.T, targets ...string) *Door {
	t.Helper()
	door, err := Open("127.0.0.1:0", targets...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = door.Close() })
	return door
}

func dial(t *testing.T, door *Door) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", door.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ask sends a word and reads it back, within the deadline.
func ask(conn net.Conn, word string, within time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte(word)); err != nil {
		return err
	}
	got := make([]byte, len(word))
	_, err := io.ReadFull(conn, got)
	if err == nil && string(got) != word {
		return errors.New("read " + string(got))
	}
	return err
}

func TestDoor_forwardsAndEnds(t *testing.T) {
	t.Parallel()
	conn := dial(t, open(t, echo(t)))
	if err := ask(conn, "hello", 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); err != nil || len(rest) != 0 {
		t.Errorf("the end arrived as %q, %v", rest, err)
	}
}

func TestDoor_latency(t *testing.T) {
	t.Parallel()
	door := open(t, echo(t))
	conn := dial(t, door)
	door.Set(Poison{Latency: 60 * time.Millisecond})
	began := time.Now()
	if err := ask(conn, "hello", 5*time.Second); err != nil || time.Since(began) < 120*time.Millisecond {
		t.Errorf("there and back: %v after %s", err, time.Since(began))
	}
}

func TestDoor_stuckUntilHealed(t *testing.T) {
	t.Parallel()
	door := open(t, echo(t))
	conn := dial(t, door)
	door.Set(Poison{Stuck: true})
	if err := ask(conn, "hello", 150*time.Millisecond); err == nil {
		t.Fatal("it passed a stuck door")
	}
	door.Set(Poison{})
	got := make([]byte, 5)
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
		t.Errorf("after healing: %q, %v", got, err)
	}
}

func TestDoor_cutResets(t *testing.T) {
	t.Parallel()
	door := open(t, echo(t))
	conn := dial(t, door)
	if err := ask(conn, "hello", 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if n := door.Cut(1.1); n != 1 {
		t.Errorf("cut %d", n)
	}
	if err := ask(conn, "again", 5*time.Second); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.EOF) {
		t.Errorf("after the cut: %v", err)
	}
	if err := ask(dial(t, door), "anew", 5*time.Second); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}

// A connection meets a target that takes it, whichever of the others are down.
func TestDoor_someTargetsDown(t *testing.T) {
	t.Parallel()
	door := open(t, "127.0.0.1:1", echo(t), "127.0.0.1:2")
	for range 10 {
		if err := ask(dial(t, door), "hello", 5*time.Second); err != nil {
			t.Errorf("ask through a door with one target of three: %v", err)
		}
	}
}

func TestDoor_targetDown(t *testing.T) {
	t.Parallel()
	door := open(t, "127.0.0.1:1") // nobody listens on a port that only root may take
	conn, err := net.Dial("tcp", door.Addr())
	if err != nil {
		return // the door's reset came before the handshake was seen to end
	}
	defer conn.Close()
	if err := ask(conn, "hello", 5*time.Second); err == nil {
		t.Error("a server that is down answered")
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	door := open(t, echo(t))
	control := Control(map[string]*Door{"postgres": door})
	call := func(method, target string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		control.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, nil))
		return w
	}
	if w := call(http.MethodPut, "/postgres?latency=5ms&jitter=7ms&stuck=true"); w.Code != http.StatusOK {
		t.Fatalf("set toxics of postgres: got %d %s, want 200", w.Code, w.Body)
	}
	if got := door.current(); got != (Poison{Latency: 5 * time.Millisecond, Jitter: 7 * time.Millisecond, Stuck: true}) {
		t.Errorf("poison %+v", got)
	}
	if w := call(http.MethodPut, "/postgres"); w.Code != http.StatusOK || door.current() != (Poison{}) {
		t.Errorf("healing: %d, %+v", w.Code, door.current())
	}
	if w := call(http.MethodPost, "/postgres/cut?share=1"); strings.TrimSpace(w.Body.String()) != "0" {
		t.Errorf("cut: %s", w.Body)
	}
	for _, bad := range []string{"/other", "/postgres?latency=x", "/postgres?jitter=-1s"} {
		if w := call(http.MethodPut, bad); w.Code != http.StatusBadRequest {
			t.Errorf("set toxics by %s: got %d, want 400", bad, w.Code)
		}
	}
}
