package store

import (
	"fmt"
	"maps"
	"strings"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/report"
)

const (
	columns = `r.id, r.reference, r.mode, r.merchant_id, r.key_id, r.session, r.kind, r.name, r.phone, r.wallet, r.fraudster,
	r.description, r.status, r.confirmer, r.notes, r.version, r.sequence, r.created_at, r.updated_at, r.person, r.phone_index, r.earlier`

	// Times of reports have whole milliseconds, as in answers, so that the order of a list is that of the shown times.
	// They come from one clock, whichever replica files.
	clock = `SELECT date_trunc('milliseconds', clock_timestamp())`
	// With EXISTS PostgreSQL would read the whole table while its statistics say that the table is small.
	openReports = `SELECT k.place - 1, nextval('report_ids'), date_trunc('milliseconds', clock_timestamp()), date_trunc('hour', clock_timestamp()),
	(SELECT true FROM reports r WHERE r.reference = k.reference LIMIT 1) IS NOT NULL FROM unnest($1::text[]) WITH ORDINALITY AS k(reference, place)`
	filedThisHour = `SELECT k.place - 1, coalesce((SELECT window_n FROM sources s WHERE s.mode = k.mode AND s.address = k.address AND s.role = k.role
	AND s.key_id = k.key_id AND s.window_at = date_trunc('hour', clock_timestamp())), 0)
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS k(mode, address, role, key_id, place)`

	insertReports = `INSERT INTO reports (id, reference, mode, merchant_id, key_id, session, kind, name, phone, wallet, wallet_key, fraudster,
	description, status, confirmer, notes, version, sequence, created_at, updated_at, person, phone_index)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
	$12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bigint[], $18::bigint[], $19::timestamptz[], $20::timestamptz[], $21::bytea[], $22::bytea[])`
	countSources = `INSERT INTO sources AS s (mode, address, role, key_id, merchant_id, reports, window_at, window_n, first_at, last_at)
SELECT mode, address, role, key_id, merchant_id, n, window_at, window_n, first_at, last_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::timestamptz[], $9::timestamptz[], $10::timestamptz[])
	WITH ORDINALITY AS k(mode, address, role, key_id, merchant_id, n, window_n, window_at, first_at, last_at, place) ORDER BY place
ON CONFLICT (mode, address, role, key_id) DO UPDATE SET reports = s.reports + excluded.reports, last_at = greatest(s.last_at, excluded.last_at),
	window_n = CASE WHEN s.window_at = excluded.window_at THEN s.window_n + excluded.window_n WHEN s.window_at > excluded.window_at THEN s.window_n
		ELSE excluded.window_n END,
	window_at = greatest(s.window_at, excluded.window_at)`
	refuseSource = `INSERT INTO sources AS s (mode, address, role, key_id, merchant_id, refused, refused_at, window_at, first_at, last_at)
VALUES ($1, $2, $3, $4, $5, 1, $7, $6, $7, $7)
ON CONFLICT (mode, address, role, key_id) DO UPDATE SET refused = s.refused + 1, refused_at = greatest(s.refused_at, excluded.refused_at)`

	addCounts = `INSERT INTO report_counts AS c (subject, day, n)
SELECT subject, day::date, n::int[] FROM unnest($1::bytea[], $2::text[], $3::text[]) WITH ORDINALITY AS k(subject, day, n, place) ORDER BY place
ON CONFLICT (subject, day) DO UPDATE SET n = counts_plus(c.n, excluded.n)`

	countAccused = `INSERT INTO accused AS a (mode, address, n, first_at, last_at)
SELECT mode, address, n::int[], first_at, last_at FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[]) WITH ORDINALITY
	AS k(mode, address, n, first_at, last_at, place) ORDER BY place
ON CONFLICT (mode, address) DO UPDATE SET n = counts_plus(a.n, excluded.n), last_at = greatest(a.last_at, excluded.last_at)`
	// A reporter who is marked already under another hash of a phone is not counted again.
	markAccused = `WITH given AS (
	SELECT mode, address, reporter, merchant, place
	FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[]) WITH ORDINALITY AS k(mode, address, reporter, merchant, place)
), fresh AS (
	INSERT INTO accused_marks (mode, address, what, mark)
	SELECT k.mode, k.address, v.what, v.mark FROM given k, LATERAL (VALUES ('reporter', k.reporter), ('merchant', k.merchant)) AS v(what, mark)
	WHERE v.what = 'merchant' OR (
		SELECT true FROM unnest($5::bigint[], $6::bytea[]) AS x(of, mark), LATERAL (
			SELECT FROM accused_marks m WHERE m.mode = k.mode AND m.address = k.address AND m.what = 'reporter' AND m.mark = x.mark LIMIT 1) AS m
		WHERE x.of = k.place LIMIT 1) IS NULL
	ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING RETURNING mode, address, what
)
UPDATE accused a SET reporters = a.reporters + f.reporters, merchants = a.merchants + f.merchants
FROM (SELECT mode, address, count(*) FILTER (WHERE what = 'reporter') AS reporters, count(*) FILTER (WHERE what = 'merchant') AS merchants
	FROM fresh GROUP BY mode, address) AS f
WHERE a.mode = ANY($1::text[]) AND a.address = ANY($2::text[]) AND a.mode = f.mode AND a.address = f.address`
	moveAccused = `UPDATE accused SET n = counts_plus(n, $3::int[]) WHERE mode = $1 AND address = $2`
	// A version is at least a time, so that a signal wins over those that were sent before the database was restored
	// from a backup.
	convictAccused = `WITH fresh AS (
	INSERT INTO accused_marks (mode, address, what, mark) VALUES ($1, $2, 'convictor', $3) ON CONFLICT DO NOTHING RETURNING what
)
UPDATE accused SET convictions = convictions + 1, convicted_by = convicted_by + (SELECT count(*) FROM fresh), 
	signal_version = greatest(signal_version + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
WHERE mode = $1 AND address = $2 RETURNING convicted_by, convictions, signal_version, confirmed`

	selectByReference = `SELECT ` + columns + ` FROM reports r WHERE r.reference = $1 AND r.mode = ANY($2)`
	// Every status and type is a run of the index reports_own in the order of the list.
	selectOwn = `SELECT ` + columns + ` FROM (
	SELECT f.id FROM unnest($3::text[]) AS s(status) CROSS JOIN unnest($4::text[]) AS k(kind) CROSS JOIN LATERAL (
		SELECT id, created_at FROM reports
		WHERE merchant_id = $1 AND mode = $2 AND status = s.status AND kind = k.kind AND (created_at, id) < ($5, $6)
		ORDER BY created_at DESC, id DESC LIMIT $7) AS f
	ORDER BY f.created_at DESC, f.id DESC LIMIT $7
) AS p CROSS JOIN LATERAL (SELECT * FROM reports WHERE id = p.id OFFSET 0) AS r ORDER BY r.created_at DESC, r.id DESC`
	lockOwned    = `SELECT ` + columns + ` FROM reports r WHERE r.reference = $1 AND r.merchant_id = $2 AND r.mode = $3 FOR UPDATE`
	updateReport = `UPDATE reports SET status = $3, confirmer = $4, notes = $5, version = $6, sequence = $7, updated_at = $8, person = $9
WHERE id = $1 AND version = $2`
	insertHistory = `INSERT INTO report_history (report_id, version, from_status, to_status, merchant_id, key_id, request_id, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

	// The reports in the order of their ids, with the columns that sealing changes.
	ownReports = `SELECT ` + columns + ` FROM reports r WHERE r.id > $1 ORDER BY r.id LIMIT $2`
	lockReport = `SELECT ` + columns + ` FROM reports r WHERE r.id = $1 FOR UPDATE`
	sealReport = `UPDATE reports SET session = NULL, name = '', phone = NULL, description = NULL, confirmer = NULL, notes = NULL,
	person = $2, phone_index = $3, wallet = $4, wallet_key = $5 WHERE id = $1`
	// The reports of a person, by one of three ways, that existed at a time.
	reportsOf = `SELECT id FROM reports WHERE mode = $1 AND phone = $2 AND created_at <= $6
UNION SELECT id FROM reports WHERE mode = $1 AND phone_index = ANY($3) AND created_at <= $6
UNION SELECT id FROM reports WHERE mode = $1 AND wallet_key = $4 AND created_at <= $6
UNION SELECT id FROM reports WHERE mode = $1 AND reference = $5 AND created_at <= $6 ORDER BY id`
	changedWithin = `SELECT $1::timestamptz > now() - $2 * interval '1 second'`
	// One report less of a key on an address. The last one deletes the row, unless the row records a flood.
	uncountSource = `UPDATE sources SET reports = greatest(reports - 1, 0)
WHERE mode = $1 AND address = $2 AND role = 'reporter' AND key_id = $3`
	forgetSource = `DELETE FROM sources
WHERE mode = $1 AND address = $2 AND role = 'reporter' AND key_id = $3 AND reports = 0 AND refused = 0`
	// A subject with zero counts would still reveal that it was counted.
	dropCounts = `DELETE FROM report_counts WHERE subject = ANY($1) AND n = array_fill(0, ARRAY[12])`
	moveMark   = `WITH gone AS (DELETE FROM accused_marks WHERE mode = $1 AND address = $2 AND what = 'reporter' AND mark = $3 RETURNING mode)
INSERT INTO accused_marks (mode, address, what, mark) SELECT $1, $2, 'reporter', $4::bytea FROM gone ON CONFLICT DO NOTHING`

	// Counts of several subjects, each with its sign, over the wanted cells: $3 is one in each of those. OFFSET 0 makes
	// the planner read each subject's rows by the index, whatever number of rows it estimates.
	totalOf = `SELECT coalesce(sum(s.weight * counts_of(c.n, $3::int[])), 0)::bigint FROM unnest($1::bytea[], $2::int[]) AS s(subject, weight)
CROSS JOIN LATERAL (SELECT n FROM report_counts WHERE subject = s.subject AND day = '-infinity' OFFSET 0) AS c`
	selectCounts = `SELECT n FROM report_counts WHERE subject = $1 AND day = '-infinity'`

	accusedColumns = `a.mode, a.address, a.n, a.reporters, a.merchants, a.convicted_by, a.first_at, a.last_at, a.confirmed, a.signal_version,
	d.operator, d.reason, d.at
FROM accused a LEFT JOIN LATERAL (SELECT operator, reason, at FROM accused_decisions
	WHERE mode = a.mode AND address = a.address ORDER BY id DESC LIMIT 1) AS d ON true`
	selectAccused = `SELECT ` + accusedColumns + ` WHERE a.mode = $1 AND a.address = $2`
	suspectsAfter = ` AND a.mode = ANY($1) AND a.convicted_by >= $2
	AND (a.convicted_by < $3 OR (a.convicted_by = $3 AND (a.mode, a.address) > ($4, $5)))
ORDER BY a.convicted_by DESC, a.mode, a.address LIMIT $6`
	selectWaiting   = `SELECT ` + accusedColumns + ` WHERE NOT a.confirmed AND a.convicted_by > a.reviewed` + suspectsAfter
	selectConfirmed = `SELECT ` + accusedColumns + ` WHERE a.confirmed` + suspectsAfter
	countWaiting    = `SELECT mode, count(*) FROM accused WHERE NOT confirmed AND convicted_by > reviewed AND convicted_by >= $1 GROUP BY mode`
	// A version is at least a time, as in convictAccused.
	judgeAccused = `UPDATE accused SET confirmed = $3, reviewed = convicted_by,
	signal_version = greatest(signal_version + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
WHERE mode = $1 AND address = $2 AND convicted_by > 0 RETURNING convicted_by, convictions, signal_version, confirmed`
	lockAccused = `SELECT FROM accused WHERE mode = $1 AND address = $2 AND convicted_by > 0 FOR UPDATE`
	// An open request about an address.
	selectAsked = `SELECT version, action, operator, reason, at FROM approvals
WHERE mode = $1 AND address = $2 AND at > clock_timestamp() - make_interval(secs => $3)`
	putAsked = `INSERT INTO approvals (mode, address, version, action, operator, reason, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (mode, address) DO UPDATE SET version = excluded.version, action = excluded.action, operator = excluded.operator,
	reason = excluded.reason, at = excluded.at`
	dropAsked      = `DELETE FROM approvals WHERE mode = $1 AND address = $2`
	insertDecision = `INSERT INTO accused_decisions (mode, address, confirmed, merchants, operator, reason, request_id, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	sourceColumns = `mode, address, role, key_id, merchant_id, reports,
	CASE WHEN window_at = date_trunc('hour', clock_timestamp()) THEN window_n ELSE 0 END, refused, refused_at, first_at, last_at`
	selectSources = `SELECT ` + sourceColumns + ` FROM sources WHERE mode = $1 AND address = $2 ORDER BY reports DESC, key_id LIMIT $3`
	selectFloods  = `SELECT ` + sourceColumns + ` FROM sources WHERE refused_at IS NOT NULL AND mode = ANY($1)
	AND (refused_at < $2 OR (refused_at = $2 AND (mode, address, role, key_id) > ($3, $4, $5, $6)))
ORDER BY refused_at DESC, mode, address, role, key_id LIMIT $7`
)

// dayOf makes the statement of a deep offset for a number of subjects: the day in which the report at offset $4 was
// filed, and how many wanted ones are newer than that day. It merges the days of the subjects from the newest on, up to
// that day. $5 is null and limits nothing: with an unknown limit the planner walks the index instead of sorting all
// days.
func dayOf(subjects int) string {
	var days []string
	for i := range subjects {
		days = append(days, fmt.Sprintf(`	(SELECT day, ($2::int[])[%[1]d] * counts_of(n, $3::int[]) AS matched FROM report_counts
	WHERE subject = ($1::bytea[])[%[1]d] AND day > '-infinity' ORDER BY day DESC LIMIT $5)`, i+1))
	}
	return `SELECT day, running - (SELECT sum(s.weight * counts_of(c.n, $3::int[])) FROM unnest($1::bytea[], $2::int[]) AS s(subject, weight)
	JOIN report_counts c ON c.subject = s.subject AND c.day = days.day)
FROM (SELECT day, sum(matched) OVER (ORDER BY day DESC) AS running FROM (
` + strings.Join(days, "\n\tUNION ALL\n") + `
) AS counted) AS days WHERE running > $4 ORDER BY day DESC LIMIT 1`
}

// shape is the form of a look-up; each shape has its own statement, and so its own plan.
type shape struct {
	modes         int // how many
	phone, wallet bool
	status, kind  bool // is there a filter
}

var pages = map[shape]string{}

func init() {
	for _, s := range shapes() {
		pages[s] = pageOf(s)
	}
}

func shapes() []shape {
	var all []shape
	flags := []bool{false, true}
	for modes := 1; modes <= len(tenant.Modes()); modes++ {
		for _, by := range []shape{{phone: true}, {wallet: true}, {phone: true, wallet: true}} {
			for _, status := range flags {
				for _, kind := range flags {
					all = append(all, shape{modes, by.phone, by.wallet, status, kind})
				}
			}
		}
	}
	return all
}

// shapeOf is the shape of a look-up with the statement's arguments after the first five. A phone is searched in the
// clear and, for each mode, under its indexes.
func (s *Store) shapeOf(modes []tenant.Mode, l report.Lookup) (shape, []any) {
	of := shape{len(modes), l.Phone != "", l.Wallet != "", len(l.Statuses) == 1, len(l.Kinds) == 1}
	var args []any
	for _, mode := range modes {
		args = append(args, string(mode))
	}
	if of.phone {
		var indexes [][]byte
		for _, mode := range modes {
			indexes = append(indexes, s.indexes(mode, l.Phone)...)
		}
		args = append(args, l.Phone, indexes)
	}
	if of.wallet {
		args = append(args, l.Wallet)
	}
	if of.status {
		args = append(args, string(l.Statuses[0]))
	}
	if of.kind {
		args = append(args, string(l.Kinds[0]))
	}
	return of, args
}

// pageOf makes the statement of a page. Arguments: $1 and $2 the position behind which to begin, $3 rows to walk from
// there, $4 rows to skip, $5 rows to give; then those of shapeOf.
//
// Every combination of mode and, with filters, of status and type is a run of one index in the order of the list. At
// most $3 entries of each run are read, and only the rows that are given are fetched: OFFSET 0 keeps the planner from
// joining them any other way.
func pageOf(s shape) string {
	n := 5
	next := func(kind string) string { n++; return fmt.Sprintf("$%d::%s", n, kind) }
	values := func(name, column string, of []string) string {
		return fmt.Sprintf("(VALUES (%s)) AS %s(%s)", strings.Join(of, "), ("), name, column)
	}
	var modes, where []string
	var sealed string // the phone's indexes
	for range s.modes {
		modes = append(modes, next("text"))
	}
	if s.phone {
		where = append(where, "phone = "+next("text"), "phone_index = x.value")
		sealed = " CROSS JOIN unnest(" + next("bytea[]") + ") AS x(value)"
	}
	if s.wallet {
		where = append(where, "wallet_key = "+next("text"))
	}
	runs, also := values("m", "mode", modes), ""
	if s.status || s.kind {
		statuses, kinds := quoted(report.Statuses()), quoted(report.Kinds())
		if s.status {
			statuses = []string{next("text")}
		}
		if s.kind {
			kinds = []string{next("text")}
		}
		runs += " CROSS JOIN " + values("s", "status", statuses) + " CROSS JOIN " + values("k", "kind", kinds)
		also = " AND status = s.status AND kind = k.kind"
	}
	var found []string
	for _, w := range where {
		from := runs
		if strings.HasPrefix(w, "phone_index") {
			from += sealed
		}
		found = append(found, fmt.Sprintf(`	SELECT f.id, f.created_at FROM %s CROSS JOIN LATERAL (
		SELECT id, created_at FROM reports WHERE mode = m.mode AND %s%s AND (created_at, id) < ($1, $2)
		ORDER BY created_at DESC, id DESC LIMIT $3) AS f`, from, w, also))
	}
	return fmt.Sprintf(`WITH found AS (
%s
), page AS (
	SELECT id, created_at FROM found ORDER BY created_at DESC, id DESC OFFSET $4 LIMIT $5
)
SELECT %s FROM page p CROSS JOIN LATERAL (SELECT * FROM reports WHERE id = p.id OFFSET 0) AS r ORDER BY r.created_at DESC, r.id DESC`,
		strings.Join(found, "\n\tUNION\n"), columns)
}

func quoted[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = "'" + string(one) + "'" // words of this program, without quotes in them
	}
	return out
}

// Statements lists every SQL text of the package by name; a test prepares each on the migrated schema.
func Statements() map[string]string {
	all := map[string]string{
		"clock": clock, "openReports": openReports, "filedThisHour": filedThisHour, "insertReports": insertReports, "countSources": countSources, "briefly": idempotency.BrieflySQL,
		"refuseSource": refuseSource, "addCounts": addCounts, "countAccused": countAccused, "markAccused": markAccused,
		"moveAccused": moveAccused, "convictAccused": convictAccused, "selectByReference": selectByReference, "lockOwned": lockOwned,
		"updateReport": updateReport, "insertHistory": insertHistory, "totalOf": totalOf,
		"selectCounts": selectCounts, "selectAccused": selectAccused, "selectWaiting": selectWaiting, "selectConfirmed": selectConfirmed,
		"countWaiting": countWaiting, "lockAccused": lockAccused, "selectAsked": selectAsked, "putAsked": putAsked, "dropAsked": dropAsked,
		"judgeAccused": judgeAccused, "insertDecision": insertDecision, "selectSources": selectSources, "selectFloods": selectFloods,
		"selectOwn": selectOwn, "ownReports": ownReports, "lockReport": lockReport, "sealReport": sealReport, "dropCounts": dropCounts, "reportsOf": reportsOf, "changedWithin": changedWithin, "uncountSource": uncountSource, "forgetSource": forgetSource, "moveMark": moveMark, "lostReports": lostReports,
		"skipIDs": skipIDs,
		"outbox":  outbox.InsertSQL, "findAnswers": idempotency.FindAllSQL, "putAnswers": idempotency.InsertAllSQL,
	}
	maps.Copy(all, erasure.Statements())
	for s, sql := range pages {
		all[fmt.Sprintf("page%+v", s)] = sql
	}
	for _, subjects := range []int{1, 3, 10} {
		all[fmt.Sprintf("dayOfOffset%d", subjects)] = dayOf(subjects)
	}
	return all
}
