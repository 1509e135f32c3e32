//go:build integration

package store

import (
	"testing"

	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/callback-dispatcher/migrations"
)

// A delivery that becomes due, and a replay that begins or goes on, wake the leader that sleeps.
func TestWork(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	tables := Work(func() {}, func() {})
	pg.Wakes(t, db, tables[0].Due, func() { accept(t, s, arrival(1, "waits", 1, false)) })
	change := func(sql string) func() {
		return func() {
			if _, err := db.Exec(t.Context(), sql); err != nil {
				t.Errorf("%s: %v, want no error", sql, err)
			}
		}
	}
	pg.Wakes(t, db, tables[1].Due, change(`INSERT INTO replay (id, merchant_id, mode, from_at, to_at, states, types, state, total)
		VALUES ('rpl_1', 'm1', 'test', now(), now(), '{}', '{}', 'running', 1)`))
	change(`UPDATE replay SET state = 'paused'`)()
	pg.Wakes(t, db, tables[1].Due, change(`UPDATE replay SET state = 'running'`))
}
