package infra

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"time"

	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/state"
)

// authority certifies the private servers of an instance, which answer in TLS beside plain text.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// certificateLife is longer than any instance runs.
const certificateLife = 30 * 24 * time.Hour

// newAuthority makes an authority and leaves its certificate where clients find it.
func (s Servers) newAuthority() (*authority, error) {
	a := &authority{}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("make an authority's key: %w", err)
	}
	template := certificate("the stack's authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	if a.certificate, err = x509.ParseCertificate(raw); err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	return a, state.WriteFile(s.authorityFile(), block("CERTIFICATE", raw))
}

func (s Servers) authorityFile() string { return filepath.Join(s.Dir, "ca.pem") }

// issue leaves a server's certificate for 127.0.0.1 and its key in two files that belong to the user.
func (a *authority) issue(user *process.User, certificateFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a server's key: %w", err)
	}
	template := certificate("127.0.0.1")
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return fmt.Errorf("make a server's certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("write a server's key: %w", err)
	}
	if err := user.Write(certificateFile, string(block("CERTIFICATE", raw))); err != nil {
		return err
	}
	return user.Write(keyFile, string(block("PRIVATE KEY", secret)))
}

func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(certificateLife), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

func block(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}
