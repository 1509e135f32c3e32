package store

import "causeway.internal/libs/idempotency"

// Every statement of the package, by name, so that a test can have each prepared on the migrated schema.
var queries = map[string]string{
	"accept": acceptSQL, "claim": claimSQL, "bodies": bodiesSQL, "release": releaseSQL, "old": oldSQL, "unblock": unblockSQL, "record": recordSQL,
	"join": joinSQL, "beat": beatSQL, "dead": deadSQL, "takeOver": takeOverSQL, "bury": burySQL, "orphans": orphansSQL, "leave": leaveSQL,
	"valid": validSQL, "create": createSQL, "lockOwner": lockOwnerSQL, "newest": newestSQL, "retire": retireSQL, "overlap": overlapSQL,
	"next": nextSQL, "rotate": rotateSQL, "backlog": backlogSQL, "answer": idempotency.InsertSQL,
}

// attempted tells, for a row x of (target, object_id, sequence, event_slot), whether the first attempt of the sequence
// before it is over. A predecessor that is done is looked for in the slots of the event's day and the two days before;
// one that is older, or that this database never saw, costs the wait of five seconds and nothing else. LIMIT keeps the
// planner from hashing a whole table.
const attempted = `(coalesce((SELECT true FROM delivery b WHERE b.target = x.target AND b.object_id = x.object_id
		AND b.sequence = x.sequence - 1 AND b.attempts > 0 LIMIT 1), false)
	OR coalesce((SELECT true FROM delivery_done b WHERE b.target = x.target AND b.object_id = x.object_id
		AND b.sequence = x.sequence - 1 AND b.slot IN (x.event_slot, (x.event_slot + 35) % 36, (x.event_slot + 34) % 36) LIMIT 1), false))`

// acceptSQL writes events and the deliveries of those that are new. $1..$9 are the events, $10..$15 the deliveries, $16
// the owner of the leases.
const acceptSQL = `WITH e AS (
	INSERT INTO event (slot, id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body)
	SELECT dispatcher_slot(occurred_at), id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body
	FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[], $8::text[], $9::bytea[])
		AS t(id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body)
	ON CONFLICT (id, slot) DO NOTHING
	RETURNING id, slot, merchant_id, mode, type, object_id, sequence
), x AS (
	SELECT t.id, t.endpoint_id, t.target, t.url, t.leased, e.id AS event_id, e.slot AS event_slot,
		e.merchant_id, e.mode, e.type, e.object_id, e.sequence
	FROM unnest($10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::boolean[])
		AS t(id, event_id, endpoint_id, target, url, leased) JOIN e ON e.id = t.event_id
), w AS (
	SELECT x.*, x.sequence > 1 AND NOT ` + attempted + ` AS waits FROM x
), d AS (
	INSERT INTO delivery (id, event_id, event_slot, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence,
		state, waits, next_at, lease_owner, lease_until)
	SELECT id, event_id, event_slot, merchant_id, mode, nullif(endpoint_id, ''), target, url, type, object_id, sequence,
		CASE WHEN leased AND NOT waits THEN 'leased' ELSE 'due' END, waits,
		CASE WHEN waits THEN now() + interval '5 seconds' ELSE now() END,
		CASE WHEN leased AND NOT waits THEN $16::text END, CASE WHEN leased AND NOT waits THEN now() + interval '5 minutes' END
	FROM w
	ON CONFLICT (event_id, target) DO NOTHING
	RETURNING id, state, waits
)
SELECT id, state, waits FROM d`

// claimSQL leases due rows: the oldest, but not more than $4 of one target, so that one merchant's backlog does not
// fill a whole claim.
const claimSQL = `WITH c AS (
	SELECT id, target, next_at FROM delivery
	WHERE state = 'due' AND next_at <= now() AND target <> ALL($2::text[]) ORDER BY next_at LIMIT $3::bigint * 4
), r AS (
	SELECT id, next_at, row_number() OVER (PARTITION BY target ORDER BY next_at) AS place FROM c
), k AS (
	SELECT d.id FROM delivery d JOIN r ON r.id = d.id
	WHERE r.place <= $4::bigint AND d.state = 'due' ORDER BY r.next_at LIMIT $3::bigint FOR UPDATE OF d SKIP LOCKED
)
UPDATE delivery d SET state = 'leased', waits = false, lease_owner = $1, lease_until = now() + interval '5 minutes'
FROM k WHERE d.id = k.id
RETURNING d.id, d.event_id, d.event_slot, d.merchant_id, d.mode, coalesce(d.endpoint_id, ''), d.target, d.url, d.type, d.object_id,
	d.sequence, d.attempts, d.next_at, d.created_at`

const bodiesSQL = `SELECT id, trace, body FROM event WHERE id = ANY($1::text[]) AND slot = ANY($2::smallint[])`

const releaseSQL = `UPDATE delivery SET state = 'due', lease_owner = NULL, lease_until = NULL
WHERE id = ANY($2::text[]) AND state = 'leased' AND lease_owner = $1`

// oldSQL lists leases that are older than 15 seconds, longer than any statement of the intake or a claim may take.
const oldSQL = `SELECT id FROM delivery WHERE state = 'leased' AND lease_owner = $1 AND lease_until < now() + interval '285 seconds'`

// unblockSQL ends the wait of rows whose predecessor has been attempted and counts those that wait on.
const unblockSQL = `WITH x AS (
	SELECT id, target, object_id, sequence, event_slot FROM delivery
	WHERE state = 'due' AND waits AND next_at > now() ORDER BY next_at LIMIT 500 FOR UPDATE SKIP LOCKED
), f AS (
	SELECT id FROM x WHERE ` + attempted + `
), u AS (
	UPDATE delivery d SET waits = false, next_at = now() FROM f WHERE d.id = f.id RETURNING d.id
)
SELECT (SELECT count(*) FROM u), (SELECT count(*) FROM x) - (SELECT count(*) FROM u)`

// recordSQL logs attempts and moves their deliveries on. A success ends a delivery whoever holds its lease now; any
// other outcome counts only for the holder that made exactly this attempt. $1 is the owner.
const recordSQL = `WITH r AS (
	SELECT * FROM unnest($2::text[], $3::uuid[], $4::integer[], $5::boolean[], $6::text[], $7::bigint[], $8::timestamptz[], $9::text[],
		$10::smallint[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::text[], $18::bytea[],
		$19::text[], $20::integer[])
	AS r(id, attempt_id, number, counted, state, delay_us, at, class, status, remote, dns_us, connect_us, tls_us, wait_us, total_us,
		headers, excerpt, detail, generation)
), l AS (
	INSERT INTO attempt (slot, delivery_id, id, number, at, class, status, remote, dns_us, connect_us, tls_us, wait_us, total_us,
		headers, excerpt, detail, generation)
	SELECT dispatcher_slot(at), id, attempt_id, number, at, class, status, remote, dns_us, connect_us, tls_us, wait_us, total_us,
		headers, excerpt, detail, generation
	FROM r WHERE counted
	ON CONFLICT (delivery_id, id, slot) DO NOTHING
), u AS (
	UPDATE delivery d SET state = 'due', waits = false, lease_owner = NULL, lease_until = NULL,
		next_at = now() + r.delay_us * interval '1 microsecond',
		attempts = CASE WHEN r.counted THEN r.number ELSE d.attempts END,
		last_class = CASE WHEN r.counted THEN r.class ELSE d.last_class END,
		last_status = CASE WHEN r.counted THEN r.status ELSE d.last_status END,
		first_attempt_at = CASE WHEN r.counted THEN coalesce(d.first_attempt_at, r.at) ELSE d.first_attempt_at END
	FROM r WHERE d.id = r.id AND r.state = 'due' AND d.state = 'leased' AND d.lease_owner = $1 AND d.attempts = r.number - 1
), o AS (
	DELETE FROM delivery d USING r
	WHERE d.id = r.id AND (r.state = 'delivered' OR r.state = 'exhausted' AND d.lease_owner = $1 AND d.attempts = r.number - 1)
	RETURNING d.id, d.event_id, d.event_slot, d.merchant_id, d.mode, d.endpoint_id, d.target, d.url, d.type, d.object_id, d.sequence,
		d.created_at, coalesce(d.first_attempt_at, r.at) AS first_attempt_at, r.state, r.number, r.class, r.status
)
INSERT INTO delivery_done (slot, id, event_id, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, state, attempts,
	last_class, last_status, created_at, first_attempt_at)
SELECT event_slot, id, event_id, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, state, number, class, status,
	created_at, first_attempt_at
FROM o ON CONFLICT (id, slot) DO NOTHING`

// The statements of membership.
const (
	joinSQL = `INSERT INTO instance (id, lock_key) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING xmax = 0`
	beatSQL = `UPDATE instance SET seen_at = now() WHERE id = $1`
	// A process that was killed has lost its session and so its lock at once; one that hangs is silent.
	deadSQL = `SELECT id FROM instance
WHERE id <> $1 AND (seen_at < now() - interval '6 seconds' OR pg_try_advisory_xact_lock(lock_key)) FOR UPDATE SKIP LOCKED`
	takeOverSQL = `UPDATE delivery SET state = 'due', lease_owner = NULL, lease_until = NULL WHERE state = 'leased' AND lease_owner = ANY($1::text[])`
	burySQL     = `DELETE FROM instance WHERE id = ANY($1::text[])`
	orphansSQL  = `UPDATE delivery SET state = 'due', lease_owner = NULL, lease_until = NULL
WHERE state = 'leased' AND (lease_until < now() OR lease_owner NOT IN (SELECT id FROM instance))`
	leaveSQL = `WITH gone AS (DELETE FROM instance WHERE id = $1)
UPDATE delivery SET state = 'due', lease_owner = NULL, lease_until = NULL WHERE state = 'leased' AND lease_owner = $1`
)

// The statements of secrets; $1..$3 name the owner.
const (
	validSQL = `SELECT generation, sealed, created_at, expires_at FROM secret
WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3 AND (expires_at IS NULL OR expires_at > now()) ORDER BY generation DESC LIMIT 2`
	createSQL = `INSERT INTO secret (merchant_id, mode, endpoint_id, generation, sealed)
SELECT $1, $2, $3, 1, $4 WHERE NOT EXISTS (SELECT FROM secret WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3)
ON CONFLICT DO NOTHING`
	lockOwnerSQL = `SELECT pg_advisory_xact_lock(hashtextextended('secret' || chr(31) || $1 || chr(31) || $2 || chr(31) || $3, 0))`
	newestSQL    = `SELECT coalesce(max(generation), 0) FROM secret WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3`
	retireSQL    = `UPDATE secret SET expires_at = now() WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3 AND expires_at > now()`
	overlapSQL   = `UPDATE secret SET expires_at = now() + $4::bigint * interval '1 microsecond'
WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3 AND expires_at IS NULL`
	nextSQL = `INSERT INTO secret (merchant_id, mode, endpoint_id, generation, sealed, created_at) VALUES ($1, $2, $3, $4, $5, $6)`
)

// The statements of upkeep.
const (
	rotateSQL  = `SELECT dispatcher_rotate()`
	backlogSQL = `SELECT coalesce(extract(epoch FROM now() - min(next_at)), 0)::bigint FROM delivery WHERE state = 'due' AND next_at < now()`
)
