package mail_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/config"
	"causeway.internal/libs/testkit/postbox"
	"causeway.internal/services/console/internal/mail"
)

// patient is a timeout that no working server reaches.
const patient = 20 * time.Second

// authority makes certificates that this process trusts, as a company's machines trust its own authority.
var authority *postbox.Authority

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mail")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if authority, err = postbox.NewAuthority(); err != nil {
		panic(err)
	}
	file := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(file, authority.PEM(), 0o600); err != nil {
		panic(err)
	}
	if err := os.Setenv("SSL_CERT_FILE", file); err != nil {
		panic(err)
	}
	return m.Run()
}

func sender(t *testing.T, url string, timeout time.Duration) mail.Sender {
	t.Helper()
	s, err := mail.New(mail.Config{URL: config.Secret(url), From: "Causeway <no-reply@pay.example>", Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A letter arrives over each kind of connection, with the user's name where the server wants one.
func TestSend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options       postbox.Options
		before, after string // around the address
		encrypted     bool
	}{
		"STARTTLS with a user": {postbox.Options{Security: postbox.StartTLS, User: "ada", Password: "p@ss word"}, "smtp://ada:p%40ss%20word@", "", true},
		"STARTTLS":             {postbox.Options{Security: postbox.StartTLS}, "smtp://", "", true},
		"TLS":                  {postbox.Options{Security: postbox.TLS, User: "ada", Password: "x"}, "smtps://ada:x@", "", true},
		"plain text":           {postbox.Options{Security: postbox.None}, "smtp://", "?tls=none", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.Certificate = authority.Certificate(t, "127.0.0.1")
			box := postbox.New(t, c.options)
			s := sender(t, c.before+box.Address+c.after, patient)
			if err := s.Send(t.Context(), "obi@acme.example", "Join Acme", "Open this:\n\nhttps://pay.example/console/link/ABC\n"); err != nil {
				t.Fatalf("send: %v", err)
			}
			got := box.Letters()
			if len(got) != 1 {
				t.Fatalf("send one letter: %d came", len(got))
			}
			l := got[0]
			if l.From != "no-reply@pay.example" || l.To != "obi@acme.example" || l.Subject != "Join Acme" || l.Encrypted != c.encrypted ||
				!strings.Contains(l.Text, "https://pay.example/console/link/ABC") {
				t.Errorf("send: %+v came", l)
			}
		})
	}
}

// The sender gives no letter and no password to the wrong server, and the error names no password.
func TestSend_refused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options       postbox.Options
		host          string // of the certificate
		before, after string
	}{
		"a server without STARTTLS":      {postbox.Options{Security: postbox.None}, "127.0.0.1", "smtp://ada:hunter2@", ""},
		"a certificate of somebody else": {postbox.Options{Security: postbox.StartTLS}, "mail.example", "smtp://", ""},
		"a wrong password":               {postbox.Options{Security: postbox.StartTLS, User: "ada", Password: "x"}, "127.0.0.1", "smtp://ada:hunter2@", ""},
		"an unknown recipient":           {postbox.Options{Security: postbox.TLS, Refuse: true}, "127.0.0.1", "smtps://", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.Certificate = authority.Certificate(t, c.host)
			box := postbox.New(t, c.options)
			err := sender(t, c.before+box.Address+c.after, patient).Send(t.Context(), "obi@acme.example", "Join Acme", "secret")
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("send: got %v, want a refusal without the password", err)
			}
			if n := len(box.Letters()); n != 0 {
				t.Errorf("send: %d letters came, want none", n)
			}
		})
	}
}

// Send waits for a silent server no longer than the timeout.
func TestSend_silence(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	began := time.Now()
	if err := sender(t, "smtp://"+listener.Addr().String(), 200*time.Millisecond).Send(t.Context(), "obi@acme.example", "Join Acme", "x"); err == nil {
		t.Error("a letter was sent to a silent server")
	}
	if took := time.Since(began); took > patient {
		t.Errorf("send to a silent server: it took %s", took)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if s, err := mail.New(mail.Config{}); err != nil || s.Sends() {
		t.Errorf("without a server: got %v, %v", s, err)
	}
	for _, url := range []string{"mail.example:25", "http://mail.example", "smtp://", "smtp://u:hunter2@mail.example:x"} {
		if _, err := mail.New(mail.Config{URL: config.Secret(url), From: "a@b.example", Timeout: patient}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("read %s: got %v, want an error without the password", url, err)
		}
	}
	if _, err := mail.New(mail.Config{URL: "smtp://mail.example", Timeout: patient}); err == nil {
		t.Error("a server without a sender is taken")
	}
}
