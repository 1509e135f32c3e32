// Package trust reads the authorities that certify a service's servers: PostgreSQL and the broker.
package trust

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// Authorities reads certificates in PEM; nil, which means the system's authorities, for an empty text.
func Authorities(pem string) (*x509.CertPool, error) {
	if pem == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil, errors.New("holds no certificate in PEM")
	}
	return pool, nil
}

// Refused reports an error about a server's certificate, which waiting does not cure.
func Refused(err error) bool {
	_, is := errors.AsType[*tls.CertificateVerificationError](err)
	return is
}
