package store

import (
	"fmt"
	"strconv"
	"strings"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

// Every statement of the package, by name, so that a test can have each prepared on the migrated schema.
var queries = map[string]string{
	"accept": acceptSQL(lately), "claim": claimSQL, "nextLane": nextLaneSQL, "anyReplay": anyReplaySQL, "anyDead": anyDeadSQL, "claimed": claimedSQL, "well": wellSQL, "bodies": bodiesSQL, "release": releaseSQL, "old": oldSQL, "waits": waitsSQL, "unblock": unblockSQL(lately), "advance": advanceSQL(lately), "record": recordSQL, "recordPlan": recordPlanSQL,
	"join": joinSQL, "beat": beatSQL, "dead": deadSQL, "takeOver": takeOverSQL, "landOld": landOldSQL, "bury": burySQL, "orphans": orphansSQL, "leave": leaveSQL,
	"staleSecrets": staleSecretsSQL, "resealSecrets": resealSQL, "staleAnswers": idempotency.StaleSQL,
	"valid": validSQL, "create": createSQL, "adopt": adoptSQL, "lockOwner": lockOwnerSQL, "newest": newestSQL, "revoke": revokeSQL, "overlap": overlapSQL,
	"registered": registeredSQL, "endpoints": endpointsSQL, "endpoint": endpointSQL, "lockEndpoint": lockEndpointSQL, "lockOwners": lockOwnersSQL,
	"countOwned": countOwnedSQL, "addEndpoint": addEndpointSQL, "changeEndpoint": changeEndpointSQL, "deleteEndpoint": deleteEndpointSQL,
	"leaveURL": leaveURLSQL, "fewURLs": fewURLsSQL, "guarded": guardedSQL, "also": alsoSQL, "forgetURLs": forgetURLsSQL, "lately": latelySQL,
	"hold": holdSQL, "nextSequence": nextSequenceSQL, "unwait": unwaitSQL, "deliveries": filtered(app.DeliveryFilter{}), "filtered": filtered(app.DeliveryFilter{ID: "x", Before: "x", EndpointID: "x", EventID: "x", ObjectID: "x", Type: "x", Status: "x"}),
	"attempts": attemptsSQL,
	"events":   eventsSQL, "where": whereSQL, "retry": retrySQL, "probe": probeSQL, "replayCount": replayCountSQL, "replayOpen": replayOpenSQL,
	"replayAdd": replayAddSQL, "replay": replaySQL, "replayTurn": replayTurnSQL, "replayNext": replayNextSQL, "replayDone": replayDoneSQL,
	"replayMove": replayMoveSQL, "ailing": ailingSQL, "treat": treatSQL, "warned": warnedSQL, "abandon": abandonSQL,
	"forgetLanes": forgetLanesSQL, "forgetEndpoints": forgetEndpointsSQL, "buryMessage": buryMessageSQL, "deadList": deadListSQL,
	"kept": keptSQL, "missing": missingSQL, "deadDrop": deadDropSQL, "deadAgain": deadAgainSQL, "forgetDead": forgetDeadSQL, "deadLock": deadLockSQL,
	"deliveryOwner": deliveryOwnerSQL, "lastAttempts": lastAttemptsSQL, "graves": gravesSQL, "deadFound": deadFoundSQL, "noteAct": noteActSQL,
	"next": nextSQL, "rotate": rotateSQL, "backlog": backlogSQL, "answer": idempotency.InsertSQL,
}

func filtered(f app.DeliveryFilter) string {
	sql, _ := deliveriesSQL(tenant.Owner{MerchantID: "x", Mode: tenant.Test}, f, 1)
	return sql
}

// dated are the statements that read the events of the last days. They name these days' partitions: a plan over all 36
// of each table takes tens of milliseconds, on every connection, each time that statistics change.
type dated struct {
	day                      int64
	accept, unblock, advance string
}

const (
	lately    = 4  // days whose events are looked for
	slots     = 36 // partitions of a ring
	daySecond = 86_400
)

// datedOf are the statements of a day, counted from 1970.
func datedOf(day int64) *dated {
	return &dated{day: day, accept: acceptSQL(day), unblock: unblockSQL(day), advance: advanceSQL(day)}
}

// recent reads columns of the partitions of the last days.
func recent(table, columns string, day int64) string {
	parts := make([]string, lately)
	for n := range parts {
		parts[n] = fmt.Sprintf("SELECT %s FROM %s_%d", columns, table, (day-int64(n))%slots)
	}
	return "(" + strings.Join(parts, " UNION ALL ") + ")"
}

// attempted says, for a row x of (target, merchant_id, object_id, sequence), whether the first attempt of the
// sequence before it was made: that event is known, and no delivery of it to the target is still without an attempt.
// So a type that the endpoint filters out, and an event from before the endpoint was registered, count as attempted.
// A process of an earlier version may attempt deliveries that have no row yet (00005_flight.sql): the event's fan
// names them. An event that is older than the last days, or that this database never saw, costs the wait of five
// seconds and nothing else. LIMIT keeps the planner from hashing a whole table, and the empty text from the index by
// merchant, whose events may be many.
func attempted(day int64) string {
	return `coalesce((SELECT coalesce(
		(SELECT c.attempts > 0 FROM delivery c WHERE c.event_id = b.id AND c.target = x.target LIMIT 1),
		dispatcher_fan(b.fan, x.target) IS NULL
		OR (SELECT true FROM ` + recent("delivery_done", "id", day) + ` o WHERE o.id = dispatcher_fan(b.fan, x.target) LIMIT 1),
		false)
	FROM ` + recent("event", "id, merchant_id, object_id, sequence, fan", day) + ` b
	WHERE b.object_id = x.object_id AND b.sequence = x.sequence - 1 AND b.merchant_id || '' = x.merchant_id LIMIT 1), false)`
}

// touch keeps a lane's due_at no later than the rows of f(target, next_at) that were just made due. It takes the lane's
// lock even where nothing changes: see dispatcher_claim.
func touch(f string) string {
	return `INSERT INTO lane (target, due_at) SELECT target, min(next_at) FROM ` + f + ` GROUP BY target ORDER BY target
	ON CONFLICT (target) DO UPDATE SET due_at = excluded.due_at WHERE lane.due_at > excluded.due_at`
}

// claimSQL leases due rows (dispatcher_claim) to a process that others have not given up, and claimedSQL reads them:
// to an endpoint they go where it is now, and to its earlier URL there.
const (
	claimSQL = `SELECT dispatcher_claim($1, $2::text[], $3::bigint, $4::bigint, $5::bigint)
WHERE EXISTS (SELECT FROM instance WHERE id = $1)`
	claimedSQL = `SELECT d.id, d.event_id, d.event_slot, d.merchant_id, d.mode, coalesce(d.endpoint_id, ''), d.target, coalesce(p.url, d.url),
	d.type, d.object_id, d.sequence, d.attempts, d.base, d.trigger, d.next_at, d.created_at
FROM delivery d LEFT JOIN endpoint p ON p.id = d.target WHERE d.id = ANY($1::text[])`
)

// nextLaneSQL gives the seconds until a target is ready, anyReplaySQL 0 while a replay runs.
const (
	nextLaneSQL  = `SELECT extract(epoch FROM min(ready_at) - now())::float8 FROM lane WHERE ready_at < 'infinity'`
	anyReplaySQL = `SELECT (SELECT 0::float8 FROM replay WHERE state = 'running' LIMIT 1)`
)

const bodiesSQL = `SELECT id, trace, body, token FROM event WHERE id = ANY($1::text[]) AND slot = ANY($2::smallint[])`

var releaseSQL = `WITH u AS (
	UPDATE delivery SET state = 'due', lease_owner = NULL, lease_until = NULL
	WHERE id = ANY($2::text[]) AND state || '' = 'leased' AND lease_owner || '' = $1 RETURNING target, next_at
)
` + touch("u")

// oldSQL lists leases that are older than 15 seconds, longer than any statement of the intake or a claim may take.
const oldSQL = `SELECT id FROM delivery WHERE state = 'leased' AND lease_owner = $1 AND lease_until < now() + interval '285 seconds'`

// waitsSQL asks whether unblockSQL has anything to do, which it nearly never has and which takes longer to plan.
const waitsSQL = `SELECT EXISTS (SELECT FROM delivery WHERE ` + waiting + `)`

const waiting = `state = 'due' AND waits AND next_at > now()`

const (
	unblockMost = 500 // rows in one look
	advanceMost = 500 // lines in one statement
	lineMost    = 100 // rows of one line
)

// freed ends the wait of the rows x whose predecessor has been attempted. A row that another transaction has locked is
// freed or claimed there. The others are not locked: that would write each of them. Rows are found by lists of ids,
// because to join an empty table, which delivery is when PostgreSQL counts its rows, any order seems cheap.
func freed(day int64) string {
	return `ready AS MATERIALIZED (
	SELECT x.id FROM x WHERE ` + attempted(day) + `
), f AS MATERIALIZED (
	SELECT id FROM delivery WHERE id = ANY(ARRAY(SELECT id FROM ready)) AND state || '' = 'due' AND waits
	ORDER BY id FOR UPDATE SKIP LOCKED
), u AS (
	UPDATE delivery SET waits = false, next_at = now() WHERE id = ANY(ARRAY(SELECT id FROM f)) RETURNING target, next_at
), l AS (
	` + touch("u") + `
)`
}

// unblockSQL frees some of the first $3 rows behind the place ($1, $2). It says how many it has freed, how many it has
// looked at, and the last of these.
func unblockSQL(day int64) string {
	return `WITH x AS MATERIALIZED (
	SELECT id, target, merchant_id, object_id, sequence, event_slot, next_at FROM delivery
	WHERE ` + waiting + ` AND (next_at, id) > ($1, $2) ORDER BY next_at, id LIMIT $3
), ` + freed(day) + `
SELECT (SELECT count(*) FROM u), (SELECT count(*) FROM x), coalesce(z.next_at, $1), coalesce(z.id, $2)
FROM (SELECT) AS one LEFT JOIN (SELECT next_at, id FROM x ORDER BY next_at DESC, id DESC LIMIT 1) AS z ON true`
}

// advanceSQL frees rows of lines: of each target in $1 and the object beside it in $2. It says how many. LIMIT keeps
// the planner from joining the other way round.
func advanceSQL(day int64) string {
	return `WITH x AS MATERIALIZED (
	SELECT d.* FROM unnest($1::text[], $2::text[]) AS line(target, object_id) CROSS JOIN LATERAL (
		SELECT id, target, merchant_id, object_id, sequence, event_slot FROM delivery
		WHERE object_id = line.object_id AND target = line.target AND state || '' = 'due' AND waits AND next_at > now()
		ORDER BY sequence LIMIT ` + strconv.Itoa(lineMost) + `) d
), ` + freed(day) + `
SELECT count(*) FROM u`
}

const wellSQL = `SELECT t.target FROM unnest($1::text[]) AS t(target)
WHERE NOT EXISTS (SELECT FROM lane l WHERE l.target = t.target AND l.probe_at IS NOT NULL)`

// The statements of membership.
const (
	// Beside a process whose flies is false, none of an earlier version begins a flight.
	joinSQL = `INSERT INTO instance (id, lock_key) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET seen_at = now(), lock_key = excluded.lock_key
RETURNING xmax = 0`
	beatSQL = `UPDATE instance SET seen_at = now() WHERE id = $1`
	// A process that was killed has lost its session and so its lock at once; one that hangs is silent.
	deadSQL = `SELECT id FROM instance
WHERE id <> $1 AND (seen_at < now() - interval '6 seconds' OR pg_try_advisory_xact_lock(lock_key)) FOR UPDATE SKIP LOCKED`
	// anyDeadSQL asks first, without a transaction, because a process has rarely died. It counts those that live, too.
	anyDeadSQL = `SELECT count(*) FILTER (WHERE seen_at > now() - interval '6 seconds'),
	coalesce(bool_or(CASE WHEN id = $1 THEN false WHEN seen_at < now() - interval '6 seconds' THEN true
		ELSE pg_try_advisory_xact_lock(lock_key) END), false) FROM instance`
	burySQL = `DELETE FROM instance WHERE id = ANY($1::text[])`
)

// landOldSQL makes rows of what dead processes of an earlier version attempted without rows: the deliveries of some
// of their flights at a time (00005_flight.sql), leased to the first of them, so that takeOverSQL frees them with all
// other leases.
const landOldSQL = `SELECT count(*), coalesce(dispatcher_land(array_agg(f.id), ($1::text[])[1]), 0)
FROM (SELECT id FROM flight WHERE owner = ANY($1::text[]) ORDER BY id LIMIT 20) f`

// The statements that make leased deliveries due again.
var (
	// takeOverSQL frees some, so that each part of a dead process's leases is a short transaction.
	takeOverSQL = `WITH m AS (
	SELECT id FROM delivery WHERE state = 'leased' AND lease_owner = ANY($1::text[]) ORDER BY id LIMIT $2 FOR UPDATE
), u AS (
	UPDATE delivery d SET state = 'due', lease_owner = NULL, lease_until = NULL FROM m WHERE d.id = m.id RETURNING d.target, d.next_at
), l AS (` + touch("u") + `)
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
	// latelySQL has the secrets that may have signed when an endpoint left a URL, revoked ones too: the oldest, because a
	// thief of a key adds newer ones.
	latelySQL = `SELECT generation, sealed, created_at, expires_at FROM secret
WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3 AND (expires_at IS NULL OR expires_at > now() - $4::bigint * interval '1 microsecond')
ORDER BY generation LIMIT 4`
	createSQL = `INSERT INTO secret (merchant_id, mode, endpoint_id, generation, sealed)
SELECT $1, $2, $3, 1, $4 WHERE NOT EXISTS (SELECT FROM secret WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3)
ON CONFLICT DO NOTHING`
	// An end that is known stays: of two copies at once, the older one may come later.
	adoptSQL = `WITH ended AS (
	UPDATE secret SET expires_at = now()
	WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3 AND generation < $8 AND (expires_at IS NULL OR expires_at > now())
) INSERT INTO secret AS s (merchant_id, mode, endpoint_id, generation, sealed, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (merchant_id, mode, endpoint_id, generation) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at,
	expires_at = least(s.expires_at, excluded.expires_at)`
	lockOwnerSQL = `SELECT pg_advisory_xact_lock(hashtextextended('secret' || chr(31) || $1 || chr(31) || $2 || chr(31) || $3, 0))`
	newestSQL    = `SELECT coalesce(max(generation), 0), count(*) FILTER (WHERE expires_at IS NULL OR expires_at > now())
FROM secret WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3`
	revokeSQL = `UPDATE secret SET expires_at = now()
WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3 AND (expires_at IS NULL OR expires_at > now())`
	overlapSQL = `UPDATE secret SET expires_at = now() + $4::bigint * interval '1 microsecond'
WHERE merchant_id = $1 AND mode = $2 AND endpoint_id = $3 AND expires_at IS NULL`
	nextSQL = `INSERT INTO secret (merchant_id, mode, endpoint_id, generation, sealed, created_at) VALUES ($1, $2, $3, $4, $5, $6)`
)

// The statements of a rotation of the master key. A sealed value begins with its version, the length of its key's id
// and the id (libs/keyring), so what another key has sealed is found without opening it.
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
