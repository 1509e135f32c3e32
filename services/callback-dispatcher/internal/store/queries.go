package store

import (
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

// Every statement of the package, by name, so that a test can have each prepared on the migrated schema.
var queries = map[string]string{
	"accept": acceptSQL, "acceptNew": acceptNewSQL, "claim": claimSQL, "claimed": claimedSQL, "count": countSQL, "well": wellSQL, "bodies": bodiesSQL, "release": releaseSQL, "old": oldSQL, "waits": waitsSQL, "unblock": unblockSQL, "record": recordSQL, "recordWell": recordWellSQL,
	"land": landSQL, "ended": endedSQL, "landSome": landSomeSQL, "strays": straysSQL, "lost": lostSQL,
	"join": joinSQL, "beat": beatSQL, "dead": deadSQL, "takeOver": takeOverSQL, "bury": burySQL, "orphans": orphansSQL, "leave": leaveSQL,
	"staleSecrets": staleSecretsSQL, "resealSecrets": resealSQL, "staleAnswers": idempotency.StaleSQL,
	"valid": validSQL, "create": createSQL, "lockOwner": lockOwnerSQL, "newest": newestSQL, "revoke": revokeSQL, "overlap": overlapSQL,
	"registered": registeredSQL, "endpoints": endpointsSQL, "endpoint": endpointSQL, "lockEndpoint": lockEndpointSQL, "lockOwners": lockOwnersSQL,
	"countOwned": countOwnedSQL, "addEndpoint": addEndpointSQL, "changeEndpoint": changeEndpointSQL, "deleteEndpoint": deleteEndpointSQL,
	"hold": holdSQL, "nextSequence": nextSequenceSQL, "unwait": unwaitSQL, "deliveries": filtered(app.DeliveryFilter{}), "filtered": filtered(app.DeliveryFilter{ID: "x", Before: "x", EndpointID: "x", EventID: "x", Type: "x", Status: "x"}),
	"attempts": attemptsSQL,
	"events":   eventsSQL, "where": whereSQL, "retry": retrySQL, "probe": probeSQL, "replayCount": replayCountSQL, "replayOpen": replayOpenSQL,
	"replayAdd": replayAddSQL, "replay": replaySQL, "replayTurn": replayTurnSQL, "replayNext": replayNextSQL, "replayDone": replayDoneSQL,
	"replayMove": replayMoveSQL, "ailing": ailingSQL, "treat": treatSQL, "warned": warnedSQL, "abandon": abandonSQL,
	"forgetLanes": forgetLanesSQL, "forgetEndpoints": forgetEndpointsSQL, "buryMessage": buryMessageSQL, "deadList": deadListSQL,
	"kept": keptSQL, "missing": missingSQL, "deadDrop": deadDropSQL, "deadAgain": deadAgainSQL, "forgetDead": forgetDeadSQL, "deadLock": deadLockSQL,
	"next": nextSQL, "rotate": rotateSQL, "backlog": backlogSQL, "answer": idempotency.InsertSQL,
}

func filtered(f app.DeliveryFilter) string {
	sql, _ := deliveriesSQL(app.Owner{}, f, 1)
	return sql
}

// attempted tells, for a row x of (target, merchant_id, object_id, sequence), whether the first attempt of the sequence
// before it is over: that event is known, no delivery of it to the target is still without an attempt, and one that was
// begun without a row of its own (00005_flight.sql) has one now. So a type that the endpoint filters out, and an event from
// before the endpoint was registered, count as attempted. The event is looked for in the slots of the last three days; one
// that is older, or that this database never saw, costs the wait of five seconds and nothing else. The slots depend on
// now() alone, so the plan opens these four partitions and not all, and chooses among them once. LIMIT keeps the planner from
// hashing a whole table, and the empty text from the index by merchant, whose events may be many.
const attempted = `coalesce((SELECT coalesce(
		(SELECT c.attempts > 0 FROM delivery c WHERE c.event_id = b.id AND c.target = x.target LIMIT 1),
		dispatcher_fan(b.fan, x.target) IS NULL
		OR (SELECT true FROM delivery_done o WHERE o.id = dispatcher_fan(b.fan, x.target)
			AND o.slot IN (` + lately + `) LIMIT 1), false)
	FROM event b WHERE b.object_id = x.object_id AND b.sequence = x.sequence - 1 AND b.merchant_id || '' = x.merchant_id
		AND b.slot IN (` + lately + `) LIMIT 1), false)`

const lately = `dispatcher_slot(now()), dispatcher_slot(now() - interval '1 day'), dispatcher_slot(now() - interval '2 days'),
			dispatcher_slot(now() - interval '3 days')`

// touch keeps a lane's due_at no later than the rows of f(target, next_at) that were just made due. It takes the lane's
// lock even where nothing changes: see dispatcher_claim.
func touch(f string) string {
	return `INSERT INTO lane (target, due_at) SELECT target, min(next_at) FROM ` + f + ` GROUP BY target ORDER BY target
	ON CONFLICT (target) DO UPDATE SET due_at = excluded.due_at WHERE lane.due_at > excluded.due_at`
}

// mayFly says that what is sent at once may go without rows, as a flight: while this process ($12) is on the list, whose row is
// locked so that it cannot be taken off meanwhile, and every other process there knows of flights. Whoever asks does so before
// it writes an event.
const mayFly = `SELECT true AS yes FROM instance WHERE id = $12 AND NOT EXISTS (SELECT FROM instance WHERE NOT flies) FOR KEY SHARE`

// newEvents are the events of a commit, $1..$11.
const newEvents = `INSERT INTO event (slot, id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body, token, fan)
	SELECT dispatcher_slot(occurred_at), id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body, token,
		nullif(fan, '')
	FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[], $8::text[], $9::bytea[],
		$10::bytea[], $11::text[])
		AS t(id, merchant_id, mode, type, object_id, sequence, occurred_at, trace, body, token, fan)`

// acceptNewSQL is what nearly every commit of a burst needs of acceptSQL, for less than half of its price: the events are the first of
// their objects, all of their deliveries are sent at once, and fly. It answers nothing where none may fly, and fails where an event
// is known already; then acceptSQL is asked.
const acceptNewSQL = `WITH k AS MATERIALIZED (` + mayFly + `), e AS (
	` + newEvents + `
	WHERE (SELECT yes FROM k)
	RETURNING id, slot
)
INSERT INTO flight (owner, events, slots) SELECT $12, array_agg(id), array_agg(slot) FROM e HAVING count(*) > 0
RETURNING id, events, slots, now()`

// acceptSQL writes events and the deliveries of those that are new. $1..$11 are the events, $12 the owner of the leases, $13..$18
// the deliveries, $19 why they are made, $20 whether what is sent at once may fly. Materialized, or else the plan would hold w,
// and all partitions of event, once for each of its uses.
var acceptSQL = `WITH k AS MATERIALIZED (
	SELECT yes FROM (` + mayFly + `) l WHERE $20::boolean
), e AS (
	` + newEvents + `
	WHERE coalesce((SELECT yes FROM k), true)
	ON CONFLICT (id, slot) DO NOTHING
	RETURNING id, slot, merchant_id, mode, type, object_id, sequence
), x AS (
	SELECT t.id, t.endpoint_id, t.target, t.url, t.leased, e.id AS event_id, e.slot AS event_slot,
		e.merchant_id, e.mode, e.type, e.object_id, e.sequence
	FROM unnest($13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::boolean[])
		AS t(id, event_id, endpoint_id, target, url, leased) JOIN e ON e.id = t.event_id
), w AS MATERIALIZED (
	SELECT y.*, y.leased AND NOT y.waits AND coalesce((SELECT yes FROM k), false) AS flies
	FROM (SELECT x.*, x.sequence > 1 AND NOT ` + attempted + ` AS waits FROM x OFFSET 0) y
), d AS (
	INSERT INTO delivery (id, event_id, event_slot, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence,
		state, waits, next_at, lease_owner, lease_until, trigger)
	SELECT id, event_id, event_slot, merchant_id, mode, nullif(endpoint_id, ''), target, url, type, object_id, sequence,
		CASE WHEN leased AND NOT waits THEN 'leased' ELSE 'due' END, waits,
		CASE WHEN waits THEN now() + interval '5 seconds' ELSE now() END,
		CASE WHEN leased AND NOT waits THEN $12::text END, CASE WHEN leased AND NOT waits THEN now() + interval '5 minutes' END,
		$19::text
	FROM w WHERE NOT flies
	ON CONFLICT (event_id, target) DO NOTHING
	RETURNING id, event_slot, state, waits, target, next_at
), f AS (
	INSERT INTO flight (owner, events, slots) SELECT $12, array_agg(event_id), array_agg(event_slot)
	FROM (SELECT DISTINCT event_id, event_slot FROM w WHERE flies) v HAVING count(*) > 0
	RETURNING id
), l AS (
	` + touch("d WHERE state = 'due'") + `
)
SELECT id, state, waits, event_slot, 0::bigint, now() FROM d
UNION ALL SELECT w.id, 'leased', false, w.event_slot, f.id, now() FROM w CROSS JOIN f WHERE w.flies`

// claimSQL leases due rows (dispatcher_claim), and claimedSQL reads them: to an endpoint they go where it is now.
const (
	claimSQL   = `SELECT dispatcher_claim($1, $2::text[], $3::bigint, $4::bigint, $5::bigint)`
	claimedSQL = `SELECT d.id, d.event_id, d.event_slot, d.merchant_id, d.mode, coalesce(d.endpoint_id, ''), d.target, coalesce(p.url, d.url),
	d.type, d.object_id, d.sequence, d.attempts, d.base, d.trigger, d.next_at, d.created_at
FROM delivery d LEFT JOIN endpoint p ON p.id = d.endpoint_id WHERE d.id = ANY($1::text[])`
)

const bodiesSQL = `SELECT id, trace, body, token FROM event WHERE id = ANY($1::text[]) AND slot = ANY($2::smallint[])`

var releaseSQL = `WITH u AS (
	UPDATE delivery SET state = 'due', lease_owner = NULL, lease_until = NULL
	WHERE id = ANY($2::text[]) AND state || '' = 'leased' AND lease_owner || '' = $1 RETURNING target, next_at
)
` + touch("u")

// oldSQL lists leases that are older than 15 seconds, longer than any statement of the intake or a claim may take.
const oldSQL = `SELECT id FROM delivery WHERE state = 'leased' AND lease_owner = $1 AND lease_until < now() + interval '285 seconds'`

// waitsSQL asks whether unblockSQL has anything to do, which it nearly never has: to plan that one, over all partitions, costs tens
// of milliseconds on every connection after every change of their statistics.
const waitsSQL = `SELECT EXISTS (SELECT FROM delivery WHERE ` + waiting + `)`

const waiting = `state = 'due' AND waits AND next_at > now()`

const unblockMost = 500 // rows in one look

// unblockSQL ends the wait of rows whose predecessor has been attempted, among the first $3 behind the place ($1, $2). It says how
// many it has freed, how many it has looked at, and the last of these.
var unblockSQL = `WITH x AS (
	SELECT id, target, merchant_id, object_id, sequence, event_slot, next_at FROM delivery
	WHERE ` + waiting + ` AND (next_at, id) > ($1, $2) ORDER BY next_at, id LIMIT $3 FOR UPDATE SKIP LOCKED
), f AS (
	SELECT id FROM x WHERE ` + attempted + `
), u AS (
	UPDATE delivery d SET waits = false, next_at = now() FROM f WHERE d.id = f.id RETURNING d.id, d.target, d.next_at
), l AS (
	` + touch("u") + `
)
SELECT (SELECT count(*) FROM u), (SELECT count(*) FROM x), coalesce(z.next_at, $1), coalesce(z.id, $2)
FROM (SELECT) AS one LEFT JOIN (SELECT next_at, id FROM x ORDER BY next_at DESC, id DESC LIMIT 1) AS z ON true`

// ownFlights are those of the flights $2 that the process $1 still has. They are held, so that none lands meanwhile
// (00006_fence.sql); the statement fails where one has landed since it began.
const ownFlights = `SELECT t.id FROM unnest($2::bigint[]) AS t(id) WHERE CASE WHEN (SELECT owner FROM flight WHERE flight.id = t.id) = $1
		THEN coalesce((SELECT true FROM flight WHERE flight.id = t.id FOR KEY SHARE), dispatcher_landed()) END`

const intoDone = `INSERT INTO delivery_done (slot, id, event_id, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, state, attempts,
		last_class, last_status, created_at, first_attempt_at, trigger, remote, dns_us, connect_us, tls_us, wait_us, total_us, headers,
		excerpt, detail, generation)`

// unwell says of a lane that a success changes it.
const unwell = `lane.failures <> 0 OR lane.probe_at IS NOT NULL`

// recordWellSQL is what nearly every commit needs of recordSQL, for half of its price: first attempts, of flights that are still
// this process's, that were successes at targets whose lanes it leaves as they are. Where it is otherwise it writes nothing, or
// fails, for a row that is there already; then recordSQL is asked.
const recordWellSQL = `WITH y AS MATERIALIZED (
	` + ownFlights + `
)
` + intoDone + `
SELECT event_slot, id, event_id, merchant_id, mode, nullif(endpoint_id, ''), target, url, type, object_id, sequence, 'delivered', 1,
	class, status, created_at, at, 'auto', remote, dns_us, connect_us, tls_us, wait_us, total_us, headers, excerpt, detail, generation
FROM unnest($3::text[], $4::timestamptz[], $5::text[], $6::smallint[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[],
	$11::bigint[], $12::bigint[], $13::text[], $14::bytea[], $15::text[], $16::integer[], $17::text[], $18::text[], $19::smallint[],
	$20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::bigint[], $27::timestamptz[])
	AS t(id, at, class, status, remote, dns_us, connect_us, tls_us, wait_us, total_us, headers, excerpt, detail, generation, target,
		event_id, event_slot, merchant_id, mode, endpoint_id, url, type, object_id, sequence, created_at)
WHERE (SELECT count(*) FROM y) = cardinality($2)
	AND NOT EXISTS (SELECT FROM lane WHERE lane.target = ANY($17::text[]) AND (` + unwell + `))`

// recordSQL logs attempts and moves their deliveries on. A success ends a delivery whoever holds its lease now; any
// other outcome counts only for the holder that made exactly this attempt. $1 is the owner. A delivery of a flight (y
// are those that this process still has) has no row: what is over gets the row that stays, with its attempt in
// it, and what is not the row that waits ($28..$38). A result that is recorded again ($39) may be here already, the answer
// lost: the delivery is over, or it was brought back since, and then it has a row that counts the attempt. It keeps the health of
// the targets: failures in a row, and from $24 of them on, or where a result trips it, the breaker, which lets the first
// probe through after $25 microseconds. A success closes it once a probe was let through (its wait has grown then): one
// of an attempt that was under way when it opened tells nothing new. An endpoint that answered 410 is disabled in the
// same statement, and its lane held.
// The lanes are written in one go and in order, or else two records would wait for each other.
// The answer names the targets whose breaker is open, and those that are well again. The empty texts keep a plan from
// starting at all leases of the process (delivery_leased), where dead rows pile up, instead of the ids.
var recordSQL = `WITH y AS MATERIALIZED (
	` + ownFlights + `
), r AS MATERIALIZED (
	SELECT t.*, y.id IS NOT NULL AND NOT (again AND coalesce((SELECT true FROM delivery d WHERE d.id = t.id LIMIT 1), false)) AS flies
	FROM unnest($3::text[], $4::uuid[], $5::integer[], $6::boolean[], $7::text[], $8::bigint[], $9::timestamptz[], $10::text[],
		$11::smallint[], $12::text[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::text[], $19::bytea[],
		$20::text[], $21::integer[], $22::text[], $23::text[], $26::text[], $27::boolean[], $28::bigint[], $29::text[], $30::smallint[],
		$31::text[], $32::text[], $33::text[], $34::text[], $35::text[], $36::text[], $37::bigint[], $38::timestamptz[], $39::boolean[])
	AS t(id, attempt_id, number, counted, state, delay_us, at, class, status, remote, dns_us, connect_us, tls_us, wait_us, total_us,
		headers, excerpt, detail, generation, trigger, target, gone, trips, flight, event_id, event_slot, merchant_id, mode, endpoint_id,
		url, type, object_id, sequence, created_at, again)
	LEFT JOIN y ON y.id = t.flight
), a AS (
	INSERT INTO attempt (slot, delivery_id, id, number, trigger, at, class, status, remote, dns_us, connect_us, tls_us, wait_us, total_us,
		headers, excerpt, detail, generation)
	SELECT dispatcher_slot(at), id, attempt_id, number, trigger, at, class, status, remote, dns_us, connect_us, tls_us, wait_us, total_us,
		headers, excerpt, detail, generation
	FROM r WHERE counted AND NOT (state <> 'due' AND flight <> 0 AND (flies
		OR again AND NOT coalesce((SELECT d.attempts < r.number FROM delivery d WHERE d.id = r.id LIMIT 1), false)))
	ON CONFLICT (delivery_id, id, slot) DO NOTHING
), u AS (
	UPDATE delivery d SET state = 'due', waits = false, lease_owner = NULL, lease_until = NULL,
		next_at = now() + r.delay_us * interval '1 microsecond',
		attempts = CASE WHEN r.counted THEN r.number ELSE d.attempts END,
		trigger = CASE WHEN r.counted AND d.trigger = 'manual' THEN 'auto' ELSE d.trigger END,
		last_class = CASE WHEN r.counted THEN r.class ELSE d.last_class END,
		last_status = CASE WHEN r.counted THEN r.status ELSE d.last_status END,
		first_attempt_at = CASE WHEN r.counted THEN coalesce(d.first_attempt_at, r.at) ELSE d.first_attempt_at END
	FROM r WHERE d.id = r.id AND NOT r.flies AND r.state = 'due' AND d.state || '' = 'leased' AND d.lease_owner || '' = $1
		AND d.attempts = r.number - 1
	RETURNING d.target, d.next_at
), n AS (
	INSERT INTO delivery (id, event_id, event_slot, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, state,
		attempts, next_at, last_class, last_status, created_at, first_attempt_at)
	SELECT id, event_id, event_slot, merchant_id, mode, nullif(endpoint_id, ''), target, url, type, object_id, sequence, 'due',
		CASE WHEN counted THEN 1 ELSE 0 END, now() + delay_us * interval '1 microsecond', CASE WHEN counted THEN class END,
		CASE WHEN counted THEN status END, created_at, CASE WHEN counted THEN at END
	FROM r WHERE flies AND state = 'due'
	ON CONFLICT DO NOTHING
	RETURNING target, next_at
), o AS (
	DELETE FROM delivery d USING r
	WHERE d.id = r.id AND NOT r.flies
		AND (r.state = 'delivered' OR r.state = 'exhausted' AND d.lease_owner = $1 AND d.attempts = r.number - 1)
	RETURNING d.id, d.event_id, d.event_slot, d.merchant_id, d.mode, d.endpoint_id, d.target, d.url, d.type, d.object_id, d.sequence,
		d.created_at, coalesce(d.first_attempt_at, r.at) AS first_attempt_at, r.state, r.number, r.class, r.status
), z AS (
	` + intoDone + `
	SELECT event_slot, id, event_id, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, state, number, class, status,
		created_at, first_attempt_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
	FROM o
	UNION ALL SELECT event_slot, id, event_id, merchant_id, mode, nullif(endpoint_id, ''), target, url, type, object_id, sequence, state,
		number, class, status, created_at, at, trigger, remote, dns_us, connect_us, tls_us, wait_us, total_us, headers, excerpt, detail,
		generation
	FROM r WHERE flies AND state <> 'due'
	ON CONFLICT (id, slot) DO NOTHING
), g AS (
	UPDATE endpoint p SET enabled = false, disabled_reason = 'gone', disabled_at = now(), updated_at = now(), announced = false
	FROM (SELECT DISTINCT gone FROM r WHERE gone <> '') AS q WHERE p.id = q.gone AND p.enabled RETURNING p.id
), h AS (
	SELECT target, bool_or(state = 'delivered') AS well, count(*) FILTER (WHERE counted AND state <> 'delivered') AS failed,
		bool_or(trips) AS trips
	FROM r GROUP BY target
), s AS (
	SELECT h.target, h.well, h.failed, h.trips, min(u.next_at) AS due_at, bool_or(g.id IS NOT NULL) AS gone,
		CASE WHEN h.well AND h.failed = 0 AND min(u.next_at) IS NULL THEN coalesce((SELECT ` + unwell + `
			FROM lane WHERE lane.target = h.target), false) ELSE false END AS cured
	FROM h LEFT JOIN (SELECT * FROM u UNION ALL SELECT * FROM n) u ON u.target = h.target LEFT JOIN g ON g.id = h.target
	GROUP BY h.target, h.well, h.failed, h.trips
), l AS (
	INSERT INTO lane (target, due_at, failures, failing_since, failed_at, probe_at, probe_wait, held)
	SELECT target, coalesce(due_at, 'infinity'), CASE WHEN well THEN -1 ELSE failed END, CASE WHEN NOT well AND failed > 0 THEN now() END,
		CASE WHEN failed > 0 THEN now() END,
		CASE WHEN trips AND NOT cured OR NOT well AND failed >= $24::bigint THEN now() + $25::bigint * interval '1 microsecond' END,
		$25::bigint * interval '1 microsecond', gone
	FROM s WHERE due_at IS NOT NULL OR failed > 0 OR cured ORDER BY target
	ON CONFLICT (target) DO UPDATE SET
		due_at = least(lane.due_at, excluded.due_at), used_at = now(), held = lane.held OR excluded.held,
		failures = CASE WHEN excluded.failures < 0 THEN 0 ELSE greatest(lane.failures, 0) + excluded.failures END,
		failing_since = CASE WHEN excluded.failures < 0 THEN NULL ELSE coalesce(lane.failing_since, excluded.failing_since) END,
		failed_at = coalesce(excluded.failed_at, lane.failed_at),
		warned = CASE WHEN excluded.failures < 0 THEN 0 ELSE lane.warned END,
		probe_at = CASE WHEN excluded.failures < 0 AND lane.probe_at IS NOT NULL AND lane.probe_wait <> excluded.probe_wait THEN NULL
			WHEN lane.probe_at IS NOT NULL THEN lane.probe_at WHEN excluded.probe_at IS NOT NULL THEN excluded.probe_at
			WHEN excluded.failures > 0 AND greatest(lane.failures, 0) + excluded.failures >= $24::bigint THEN now() + excluded.probe_wait END,
		probe_wait = CASE WHEN lane.probe_at IS NULL THEN excluded.probe_wait ELSE lane.probe_wait END
	RETURNING target, probe_at
)
SELECT l.target, l.probe_at IS NOT NULL FROM l JOIN s ON s.target = l.target WHERE l.probe_at IS NOT NULL OR s.cured`

const wellSQL = `SELECT t.target FROM unnest($1::text[]) AS t(target)
WHERE NOT EXISTS (SELECT FROM lane l WHERE l.target = t.target AND l.probe_at IS NOT NULL)`

// The statements of membership.
const (
	joinSQL = `INSERT INTO instance (id, lock_key, flies) VALUES ($1, $2, true) ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING xmax = 0`
	beatSQL = `UPDATE instance SET seen_at = now() WHERE id = $1`
	// A process that was killed has lost its session and so its lock at once; one that hangs is silent.
	deadSQL = `SELECT id FROM instance
WHERE id <> $1 AND (seen_at < now() - interval '6 seconds' OR pg_try_advisory_xact_lock(lock_key)) FOR UPDATE SKIP LOCKED`
	burySQL  = `DELETE FROM instance WHERE id = ANY($1::text[])`
	countSQL = `SELECT count(*) FROM instance WHERE seen_at > now() - interval '6 seconds'`
)

// The statements of flights. endedSQL goes by the table, which is small, and its dead rows.
const (
	landSQL  = `SELECT dispatcher_land($1::bigint[], $2)`
	endedSQL = `DELETE FROM flight WHERE id = ANY($1::bigint[])`
	// landSomeSQL lands some flights of processes that are dead or leave. What has landed is leased to the first of them, to be freed
	// with all that they hold: whoever locks rows and lanes does so in this order, and the lanes in one go.
	landSomeSQL = `SELECT count(*), coalesce(dispatcher_land(array_agg(f.id), ($1::text[])[1]), 0)
FROM (SELECT id FROM flight WHERE owner = ANY($1::text[]) ORDER BY id LIMIT $2) f`
	// straysSQL lands flights of this process that it does not know ($2), for longer than any statement may take.
	straysSQL = `SELECT dispatcher_land(x.ids, NULL) FROM (SELECT array_agg(id) AS ids FROM flight
	WHERE owner = $1 AND taken_at < now() - interval '15 seconds' AND id <> ALL($2::bigint[])) x WHERE x.ids IS NOT NULL`
	lostSQL = `SELECT dispatcher_land(x.ids, NULL) FROM (SELECT array_agg(id) AS ids FROM flight
	WHERE taken_at < now() - interval '5 minutes' OR owner NOT IN (SELECT id FROM instance)) x WHERE x.ids IS NOT NULL`
)

// The statements that make leased deliveries due again.
var (
	takeOverSQL = `WITH u AS (` + freeSQL + `lease_owner = ANY($1::text[]) RETURNING target, next_at), l AS (` + touch("u") + `)
SELECT count(*) FROM u`
	orphansSQL = `WITH u AS (` + freeSQL + `(lease_until < now() OR lease_owner NOT IN (SELECT id FROM instance)) RETURNING target, next_at)
` + touch("u")
	leaveSQL = `WITH gone AS (DELETE FROM instance WHERE id = $1), u AS (` + freeSQL + `lease_owner = $1 RETURNING target, next_at)
` + touch("u")
)

const freeSQL = `UPDATE delivery SET state = 'due', lease_owner = NULL, lease_until = NULL WHERE state = 'leased' AND `

// The statements of secrets; $1..$3 name the owner.
const (
	validSQL = `SELECT generation, sealed, created_at, expires_at FROM secret
WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3 AND (expires_at IS NULL OR expires_at > now()) ORDER BY generation DESC LIMIT 4`
	createSQL = `INSERT INTO secret (merchant_id, mode, endpoint_id, generation, sealed)
SELECT $1, $2, $3, 1, $4 WHERE NOT EXISTS (SELECT FROM secret WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3)
ON CONFLICT DO NOTHING`
	lockOwnerSQL = `SELECT pg_advisory_xact_lock(hashtextextended('secret' || chr(31) || $1 || chr(31) || $2 || chr(31) || $3, 0))`
	newestSQL    = `SELECT coalesce(max(generation), 0), count(*) FILTER (WHERE expires_at IS NULL OR expires_at > now())
FROM secret WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3`
	revokeSQL = `UPDATE secret SET expires_at = now()
WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3 AND (expires_at IS NULL OR expires_at > now())`
	overlapSQL = `UPDATE secret SET expires_at = now() + $4::bigint * interval '1 microsecond'
WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3 AND expires_at IS NULL`
	nextSQL = `INSERT INTO secret (merchant_id, mode, endpoint_id, generation, sealed, created_at) VALUES ($1, $2, $3, $4, $5, $6)`
)

// The statements of a rotation of the master key. A sealed value begins with its version, the length of its key's id and the id
// (libs/keyring), so what another key has sealed is found without opening it.
const (
	staleSecretsSQL = `SELECT merchant_id, mode, endpoint_id, generation, sealed FROM secret
WHERE substring(sealed from 3 for get_byte(sealed, 1)) <> $1 AND (merchant_id, mode, endpoint_id, generation) > ($2, $3, $4, $5::integer)
ORDER BY merchant_id, mode, endpoint_id, generation LIMIT $6`
	resealSQL = `UPDATE secret s SET sealed = u.fresh
FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::bytea[], $6::bytea[]) AS u(merchant_id, mode, endpoint_id, generation, was, fresh)
WHERE (s.merchant_id, s.mode, s.endpoint_id, s.generation) = (u.merchant_id, u.mode, u.endpoint_id, u.generation) AND s.sealed = u.was`
)

// The statements of upkeep.
const (
	rotateSQL  = `SELECT dispatcher_rotate()`
	backlogSQL = `SELECT coalesce(extract(epoch FROM now() - min(ready_at)), 0)::bigint, (SELECT count(*) FROM dead) FROM lane WHERE ready_at < now()`
)
