// Package trust reads the authorities that a service's servers are certified by. PostgreSQL and the broker are reached
// with it.
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

// Refused reports that a server's certificate was not accepted, which waiting does not cure.
func Refused(err error) bool {
	_, is := errors.AsType[*tls.CertificateVerificationError](err)
	return is
}
