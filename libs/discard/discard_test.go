//go:build integration

package discard_test

import (
	"testing"
	"testing/fstest"
	"time"

	"causeway.internal/libs/discard"
	"causeway.internal/libs/testkit/pg"
)

var migrations = fstest.MapFS{"00001_discarded.sql": {Data: []byte("-- +goose Up\n" + discard.Schema)}}

// Services prepare the statements of the list against their own schemas.
func TestStatements(t *testing.T) {
	t.Parallel()
	pg.Listed(t, "Statements")
	pg.Prepare(t, pg.New(t, migrations), discard.Statements())
}

// A command that was interrupted keeps the message again: it is noted once, with the first operator.
func TestKeep_once(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations)
	note := discard.Note{
		Queue: "payments.in", ID: "msg\x00\xff", Name: "a.b.v1", DiedAt: time.Now().Truncate(time.Millisecond), DiedOf: "bad", Body: []byte{0, 255},
		Operator: "cli:ada", Reason: "a test",
	}
	for _, operator := range []string{"cli:ada", "cli:ben"} {
		note.Operator = operator
		if err := discard.Keep(t.Context(), pool, note); err != nil {
			t.Fatalf("keep a message as %s: %v", operator, err)
		}
	}
	note.Body = []byte("another body")
	if err := discard.Keep(t.Context(), pool, note); err != nil {
		t.Fatalf("keep a message of the same id with another body: %v", err)
	}
	list, err := discard.List(t.Context(), pool, 10)
	if err != nil || len(list) != 2 || list[1].Operator != "cli:ada" || list[1].ID != "msg??" || string(list[0].Body) != "another body" {
		t.Errorf("list the notes: got %+v, %v, want the message once, by cli:ada, and the one with another body", list, err)
	}
}
