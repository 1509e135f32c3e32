// Package postbox is a mail server for tests: it takes letters by SMTP and keeps them.
package postbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Security says how a server encrypts.
type Security string

// The ways.
const (
	None     Security = "none"
	StartTLS Security = "starttls" // begun in plain text
	TLS      Security = "tls"      // from the first byte
)

// Options say how a server behaves.
type Options struct {
	Security       Security
	User, Password string          // "" wants nobody to authenticate
	Certificate    tls.Certificate // of Authority.Certificate
	Refuse         bool            // no recipient is known
}

// Letter is one that came.
type Letter struct {
	From, To, Subject, Text string
	Encrypted               bool
}

// Postbox is a running server.
type Postbox struct {
	Address string // host and port
	options Options
	mu      sync.Mutex
	letters []Letter
}

// New starts a server, which ends with the test.
func New(t testing.TB, o Options) *Postbox {
	t.Helper()
	p := &Postbox{options: o}
	server := smtp.NewServer(smtp.BackendFunc(p.session))
	server.Domain = "localhost"
	server.AllowInsecureAuth = o.Security == None
	server.ReadTimeout, server.WriteTimeout = time.Minute, time.Minute
	if o.Security != None {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{o.Certificate}, MinVersion: tls.VersionTLS12}
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.Address = listener.Addr().String()
	if o.Security == TLS {
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close() // Serve says how it ended
		if err := <-done; err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			t.Errorf("serve mail: %v", err)
		}
	})
	return p
}

// Letters are those that came so far.
func (p *Postbox) Letters() []Letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Letter(nil), p.letters...)
}

func (p *Postbox) session(c *smtp.Conn) (smtp.Session, error) {
	s := &session{box: p, conn: c}
	if p.options.User == "" {
		return s, nil
	}
	return &locked{session: s}, nil
}

// session is one connection.
type session struct {
	box    *Postbox
	conn   *smtp.Conn
	letter Letter
}

func (s *session) Reset()        { s.letter = Letter{} }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.letter.From = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.box.options.Refuse {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such mailbox"}
	}
	s.letter.To = to
	return nil
}

func (s *session) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body := m.Body
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	s.letter.Subject, s.letter.Text = m.Header.Get("Subject"), string(text)
	_, s.letter.Encrypted = s.conn.TLSConnectionState()
	s.letter.Encrypted = s.letter.Encrypted || s.box.options.Security == TLS
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.box.letters = append(s.box.letters, s.letter)
	return nil
}

// locked is a session that wants a user.
type locked struct {
	*session
	open bool
}

func (l *locked) AuthMechanisms() []string { return []string{sasl.Plain} }

func (l *locked) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != l.box.options.User || password != l.box.options.Password {
			return smtp.ErrAuthFailed
		}
		l.open = true
		return nil
	}), nil
}

func (l *locked) Mail(from string, o *smtp.MailOptions) error {
	if !l.open {
		return smtp.ErrAuthRequired
	}
	return l.session.Mail(from, o)
}

// Authority signs the certificates of servers.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes one.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail of tests"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(raw)
	return &Authority{certificate, key}, err
}

// PEM is its own certificate, as a file of trusted ones has it.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// Certificate makes a certificate for a host.
func (a *Authority) Certificate(t testing.TB, host string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}
