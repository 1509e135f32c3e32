//go:build integration && long

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// plain is a setting of production that is changed, and what the service then says as it ends.
type plain struct{ setting, value, says string }

// TestTLS: with the settings of production every service reaches PostgreSQL and RabbitMQ in TLS, and a payment settles.
// It ends, and says why, where a URL is plain, the server's certificate is from another authority, or the server has
// another name.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Private: true})
	c := client(t, s)
	for service := range s.Databases {
		s.Kill(t, service)
	}
	foreign := foreignAuthority(t)
	t.Run("refused", func(t *testing.T) {
		for service := range s.Databases {
			t.Run(service, func(t *testing.T) {
				t.Parallel()
				refuses(t, s, service, foreign)
			})
		}
	})
	for service := range s.Databases {
		if err := s.StartWith(t, service, production(t, s, service)); err != nil {
			t.Fatalf("%s does not start with the settings of production: %v", service, err)
		}
	}
	awaitNetworks(t, c)
	walkBehind(t, s, c, func() {})
}

// refuses starts a service with each setting that must not work.
func refuses(t *testing.T, s *stack.Stack, service, foreign string) {
	t.Helper()
	said := func(text string) int {
		log, err := os.ReadFile(filepath.Join(s.Dir(), "log", service+".log"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(log), text)
	}
	for name, test := range refused(t, s, service, foreign) {
		env := production(t, s, service)
		env[test.setting] = test.value
		before := said(test.says)
		if s.StartWith(t, service, env) == nil {
			t.Errorf("%s runs with %s", service, name)
			s.Kill(t, service)
		}
		if said(test.says) == before {
			t.Errorf("%s with %s does not say %q", service, name, test.says)
		}
	}
}

// production are the settings by which a service speaks TLS alone.
func production(t *testing.T, s *stack.Stack, service string) map[string]string {
	t.Helper()
	env := map[string]string{
		"DATABASE_URL": verified(t, s.Databases[service]), "DATABASE_CA_FILE": s.CA, "DATABASE_TLS_REQUIRED": "true",
	}
	if s.Brokers[service] != "" {
		env["AMQP_URL"], env["AMQP_CA_FILE"], env["AMQP_TLS_REQUIRED"] = secured(t, s, service), s.CA, "true"
	}
	return env
}

// refused are changes of a service's settings that must not work.
func refused(t *testing.T, s *stack.Stack, service, foreign string) map[string]plain {
	t.Helper()
	const unknown, misnamed = "certificate signed by unknown authority", "certificate is not valid for any names, but wanted to match localhost"
	cases := map[string]plain{
		"a plain database":           {"DATABASE_URL", s.Databases[service], "DATABASE_TLS_REQUIRED is true"},
		"a foreign database":         {"DATABASE_CA_FILE", foreign, unknown},
		"a database of another name": {"DATABASE_URL", renamed(t, verified(t, s.Databases[service])), misnamed},
	}
	if s.Brokers[service] != "" {
		maps.Copy(cases, map[string]plain{
			"a plain broker":           {"AMQP_URL", s.Brokers[service], "AMQP_TLS_REQUIRED is true"},
			"a foreign broker":         {"AMQP_CA_FILE", foreign, unknown},
			"a broker of another name": {"AMQP_URL", renamed(t, secured(t, s, service)), misnamed},
		})
	}
	return cases
}

// verified makes a database's URL verify its server.
func verified(t *testing.T, address string) string {
	t.Helper()
	return change(t, address, func(u *url.URL) { u.RawQuery = "sslmode=verify-full" })
}

// secured is the broker's URL in TLS with a service's credentials.
func secured(t *testing.T, s *stack.Stack, service string) string {
	t.Helper()
	server, err := url.Parse(s.AMQPSURL)
	if err != nil {
		t.Fatal(err)
	}
	return change(t, s.Brokers[service], func(u *url.URL) { u.Scheme, u.Host = server.Scheme, server.Host })
}

// renamed reaches the same server by a name that its certificate does not bear.
func renamed(t *testing.T, address string) string {
	t.Helper()
	return change(t, address, func(u *url.URL) { u.Host = "localhost:" + u.Port() })
}

func change(t *testing.T, address string, how func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	how(u)
	return u.String()
}

// foreignAuthority is the file of an authority that certified nobody here.
func foreignAuthority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "foreign.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitNetworks waits until the networks are open again after wallets was away.
func awaitNetworks(t *testing.T, c *api.Client) {
	t.Helper()
	api.Eventually(t, time.Minute, "networks to be followed again", func() bool {
		a, err := c.Try(t.Context(), "POST", "/v1/payments", transfer(nil))
		return err == nil && a.Status == http.StatusCreated
	})
}

// walkBehind settles a payment and does something once its deposit is seen.
func walkBehind(t *testing.T, s *stack.Stack, c *api.Client, do func()) {
	t.Helper()
	hook, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path)})).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitCallbacks(t, hook, path, "payment.confirming")
	do()
	awaitAgain(t, c, ref, "settled")
	awaitExactly(t, hook, path, walkEvents...)
	clean(t, hook)
	paidOnce(t, s, ref)
}
