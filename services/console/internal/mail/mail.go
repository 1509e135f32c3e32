// Package mail sends the console's few letters by SMTP.
package mail

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"

	"causeway.internal/libs/config"
)

// Config holds the settings of the mail server.
type Config struct {
	URL  config.Secret `env:"SMTP_URL" doc:"mail server, such as smtp://user:password@mail.example:587 (STARTTLS) or smtps://…:465 (TLS). Empty: the console shows one-time links to the person who makes them, instead of mailing them"`
	From string        `env:"MAIL_FROM" doc:"sender of mail, such as Causeway <no-reply@pay.example>; needed with SMTP_URL"`

	Timeout time.Duration `env:"SMTP_TIMEOUT" envDefault:"10s" doc:"longest wait for the mail server; a page that sends a letter waits for it, at most 20 s"`
}

// Sender sends letters. The zero Sender sends none.
type Sender struct {
	client *gomail.Client
	from   string
}

// New reads the settings.
func New(cfg Config) (Sender, error) {
	if cfg.URL == "" {
		return Sender{}, nil
	}
	at, err := url.Parse(cfg.URL.Reveal())
	if err != nil || at.Hostname() == "" || at.Scheme != "smtp" && at.Scheme != "smtps" {
		return Sender{}, errors.New("SMTP_URL: want smtp://user:password@host:port or smtps://…") // the error would show the password
	}
	if cfg.From == "" {
		return Sender{}, errors.New("MAIL_FROM is missing")
	}
	if cfg.Timeout <= 0 {
		return Sender{}, errors.New("SMTP_TIMEOUT: want a duration above 0, such as 10s")
	}
	options := []gomail.Option{gomail.WithTimeout(cfg.Timeout)}
	if at.Scheme == "smtps" {
		options = append(options, gomail.WithSSLPort(false))
	} else {
		options = append(options, gomail.WithTLSPortPolicy(gomail.TLSMandatory))
	}
	if at.Query().Get("tls") == "none" { // a relay on this machine
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if port := at.Port(); port != "" {
		n, err := strconv.Atoi(port)
		if err != nil {
			return Sender{}, errors.New("SMTP_URL: the port is no number")
		}
		options = append(options, gomail.WithPort(n))
	}
	if at.User != nil {
		password, _ := at.User.Password()
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(at.User.Username()), gomail.WithPassword(password))
	}
	client, err := gomail.NewClient(at.Hostname(), options...)
	if err != nil {
		return Sender{}, fmt.Errorf("SMTP_URL: %w", err)
	}
	return Sender{client, cfg.From}, nil
}

// Sends reports whether there is a mail server.
func (s Sender) Sends() bool { return s.client != nil }

// Send sends a plain letter.
func (s Sender) Send(ctx context.Context, to, subject, text string) error {
	m := gomail.NewMsg()
	if err := m.From(s.from); err != nil {
		return fmt.Errorf("MAIL_FROM: %w", err)
	}
	if err := m.To(to); err != nil {
		return fmt.Errorf("address a letter: %w", err)
	}
	m.Subject(subject)
	m.SetBodyString(gomail.TypeTextPlain, text)
	if err := s.client.DialAndSendWithContext(ctx, m); err != nil {
		return fmt.Errorf("send a letter: %w", err)
	}
	return nil
}
