//go:build integration

package store

import (
	"testing"
	"time"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/callback-dispatcher/migrations"
)

// Payments and reports erase nothing until this service has dropped its copies (erasure.Copies): an event after the
// days of its ring; the receiver's answer to its last attempt, which may be made until then, after as many more; a
// message that could not be taken in after a month, however often it is tried again.
func TestCopies_areGoneBeforeAnErasure(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations.FS)
	s := New(pool, "dsp_copies", 1)
	const day = 24 * time.Hour
	kept := time.Duration(0)
	for _, ring := range []string{"event", "attempt"} {
		var slots int
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_inherits WHERE inhparent = $1::text::regclass`, ring).Scan(&slots); err != nil {
			t.Fatal(err)
		}
		kept += time.Duration(slots-2) * day // the slot of the day after tomorrow is empty
	}
	if least := kept + day; erasure.Copies < least {
		t.Errorf("copies may be here for %s, and erasures wait %s for them", least, erasure.Copies)
	}
	for _, sql := range []string{
		`INSERT INTO event (slot, id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body)
		SELECT (floor(extract(epoch FROM now()) / 86400)::bigint + n) % 36, 'evt_' || n, 'm', 'test', 'payment.pending', 'pay_1', 1, now(), '', '\x00'
		FROM generate_series(2, 3) n`,
		`INSERT INTO attempt (slot, delivery_id, id, number, at, class, remote, dns_us, connect_us, tls_us, wait_us, total_us, headers, excerpt, detail, generation)
		SELECT (floor(extract(epoch FROM now()) / 86400)::bigint + n) % 36, 'dlv_' || n, gen_random_uuid(), 1, now(), '2xx', '', 0, 0, 0, 0, 0, '', '\x00', '', 1
		FROM generate_series(2, 3) n`,
		`INSERT INTO dead (at, message_id, name, reason, body, trace) SELECT now() - n * interval '1 day', n, '', '', '\x00', '' FROM generate_series(31, 29, -2) n`,
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	old, err := s.Dead(t.Context(), nil, 1)
	if err != nil || len(old) != 1 || old[0].MessageID != "31" {
		t.Fatalf("the oldest dead message: %+v, %v", old, err)
	}
	if err := s.Raised(t.Context(), old[0].ID, "refused again"); err != nil {
		t.Fatal(err)
	}
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left string
	if err := pool.QueryRow(t.Context(), `SELECT concat_ws(' ', (SELECT string_agg(id, ' ') FROM event), (SELECT string_agg(delivery_id, ' ') FROM attempt),
		(SELECT string_agg(message_id, ' ') FROM dead))`).Scan(&left); err != nil || left != "evt_3 dlv_3 29" {
		t.Errorf("left are %s, %v; want what is a day younger than what has to go", left, err)
	}
}
