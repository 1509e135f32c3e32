package postgres

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/config"
	"causeway.internal/libs/trust"
)

// TLS names the authorities that connections trust.
type TLS struct {
	CA       config.Secret `env:"DATABASE_CA" doc:"certificates of the authorities that PostgreSQL's certificate may come from, in PEM; empty: the system's"`
	Required bool          `env:"DATABASE_TLS_REQUIRED" envDefault:"false" doc:"true refuses a database URL without sslmode=verify-full, which verifies the server's certificate and name; true in production"`
}

// Parse reads the URL of a pool.
func (c Config) Parse() (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(c.URL.Reveal())
	if err != nil {
		return nil, errors.New("read the database's URL: not a PostgreSQL URL") // the parser's error may quote the password
	}
	return pc, c.TLS.guard(pc.ConnConfig)
}

// guard gives every server of a URL the authorities. It refuses an unverified one if verification is required.
func (s TLS) guard(cc *pgx.ConnConfig) error {
	authorities, err := trust.Authorities(s.CA.Reveal())
	if err != nil {
		return fmt.Errorf("DATABASE_CA: %w", err)
	}
	ways := []*tls.Config{cc.TLSConfig}
	for _, other := range cc.Fallbacks {
		ways = append(ways, other.TLSConfig)
	}
	for _, way := range ways {
		if s.Required && (way == nil || way.InsecureSkipVerify || way.ServerName == "") {
			return errors.New("DATABASE_TLS_REQUIRED is true and the database's URL lacks sslmode=verify-full")
		}
		if way != nil && authorities != nil {
			way.RootCAs = authorities
		}
	}
	return nil
}
