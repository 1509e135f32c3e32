package idempotency

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// A write is made again only after an error that PostgreSQL itself gives in any language, and that undid it.
func TestUndone(t *testing.T) {
	t.Parallel()
	undid := func(code string) error {
		return &pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: "ERROR", Code: code}
	}
	for _, test := range []struct {
		name       string
		err        error
		one, three bool
	}{
		{"no error", nil, false, false},
		{"a constraint", undid("23505"), false, true},
		{"a lock that somebody else has", undid("55P03"), true, true},
		{"a deadlock", undid("40P01"), true, true},
		{"a statement that took too long", undid("57014"), true, true},
		{"a wrapped constraint", fmt.Errorf("send: %w", undid("23514")), false, true},
		{"an error of an old server or of a pooler", &pgconn.PgError{Severity: "ERROR", Code: "23505"}, false, true},
		{"the end of the session", &pgconn.PgError{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01"}, false, false},
		{"a lost connection", errors.New("unexpected EOF"), false, false},
	} {
		for n, want := range map[int]bool{1: test.one, 3: test.three} {
			if got := Undone(nil, "", n, test.err); got != want {
				t.Errorf("Undone(%d, %s) = %t, want %t", n, test.name, got, want)
			}
		}
	}
}
