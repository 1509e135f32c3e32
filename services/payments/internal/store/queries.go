package store

import (
	"fmt"
	"strings"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
)

var (
	wholeColumns = columnsOf(whole)
	shownColumns = columnsOf(shown)

	reviewedColumns = columnsOf(reviewed)

	insertPayment      = makeInsert(false, false)
	insertPaymentKeyed = makeInsert(true, false)
	insertPayments     = makeInserts(false)
	updatePayment      = makeUpdate(mutable)
	updatePayments     = makeUpdates(mutable)
	usualPayment       = makeUpdate(usual)
	usualPayments      = makeUpdates(usual)

	savePayoutsNoted = fmt.Sprintf(savePayouts, "", "") + " RETURNING k.place, o.xmin, clock_timestamp()"
	// Payouts whose rows nobody has written since they were read: every write of a row changes its xmin.
	savePayoutsAlone = fmt.Sprintf(savePayouts, ", $25::bigint[]", ", written") + " AND o.xmin::text::bigint = k.written RETURNING k.place"

	selectWhole       = "SELECT " + wholeColumns + " FROM payments p"
	lockHot           = "SELECT " + wholeColumns + " FROM ONLY payments p" // archived payments change when they are back
	ownedBy           = " WHERE p.reference = $1 AND p.merchant_id = $2 AND p.mode = $3"
	findOwned         = "SELECT " + shownColumns + " FROM payments p" + ownedBy
	findWholeOwned    = selectWhole + ownedBy
	findAllOwned      = fmt.Sprintf(findPlaced, shownColumns)
	findAllWholeOwned = fmt.Sprintf(findPlaced, columnsOf(whole))
	withID            = " WHERE p.id = $1"
	onAddress         = " WHERE p.mode = $1 AND p.family = $2 AND p.address = $3"
	findByID          = selectWhole + withID
	lockByID          = lockHot + withID + " FOR UPDATE"
	lockOwned         = lockHot + ownedBy + " FOR UPDATE"
	lockByAddress     = lockHot + onAddress + " FOR UPDATE"
	selectDepositRows = "SELECT " + depositColumns + " FROM deposits d WHERE d.payment_id = $1 ORDER BY d.first_seen_at, d.key"
	selectLastPayout  = "SELECT " + payoutColumns + " FROM payouts o WHERE o.payment_id = $1 ORDER BY o.attempt DESC LIMIT 1"
	lockLastPayout    = selectLastPayout + " FOR UPDATE"
)

// findPlaced finds payments of owners by a look-up each, whatever the planner believes about the size of the table.
const findPlaced = `SELECT k.place, %[1]s FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k(reference, merchant_id, mode, place),
	LATERAL (SELECT %[1]s FROM payments p WHERE p.reference = k.reference AND p.merchant_id = k.merchant_id AND p.mode = k.mode OFFSET 0) AS p`

// makeInsert returns the statement that inserts a payment with its first change and its event, so that a create is one
// round trip and updates no row. It inserts nothing when the address has received money, which only happens when
// somebody learnt the address before a payment had it. With a key it inserts nothing when the key has an answer, so
// that no read has to come first.
func makeInsert(keyed, limited bool) string {
	var cols, vals []string
	n := 0
	for _, c := range columns {
		if newborn(c) {
			n++
			cols, vals = append(cols, c.name), append(vals, fmt.Sprintf("$%d::%s", n, c.typ))
		}
	}
	place := map[string]int{}
	for i, c := range cols {
		place[c] = i + 1
	}
	wallet, first, name, messageID, headers, body := n+1, n+2, n+3, n+4, n+5, n+6
	var b strings.Builder
	fresh := ""
	if keyed {
		fresh = idempotency.UnknownAt(body+1) + " AND "
	}
	fmt.Fprintf(&b, `WITH p AS (
	INSERT INTO payments (%[1]s, wallet_id, changes, changed_at) SELECT %[2]s, $%[3]d::text, $%[4]d::text[], ARRAY[now()]
	WHERE %[5]sNOT EXISTS (SELECT FROM deposits WHERE mode = $%[6]d AND family = $%[7]d AND address = $%[8]d)
	AND NOT EXISTS (SELECT FROM archived_payments WHERE mode = $%[6]d AND family = $%[7]d AND address = $%[8]d)
	AND NOT EXISTS (SELECT FROM archived_payments WHERE reference = $%[13]d) RETURNING id
), o AS (
	INSERT INTO outbox (name, message_id, headers, body) SELECT $%[9]d::text, $%[10]d::text, $%[11]d::text, $%[12]d::bytea FROM p
)`, strings.Join(cols, ", "), strings.Join(vals, ", "), wallet, first, fresh, place["mode"], place["family"], place["address"],
		name, messageID, headers, body, place["reference"])
	fmt.Fprintf(&b, ", "+takeReference, place["merchant_id"], place["mode"], place["merchant_reference"])
	if keyed {
		fmt.Fprintf(&b, ", k AS (\n\t%s, p\n)", idempotency.InsertAt(body+1))
	}
	if limited {
		at := body + 1
		if keyed {
			at += idempotencyArgs
		}
		fmt.Fprintf(&b, ", u AS (\n\t"+countUsage+"\n), r AS (\n\t"+noteReservation+"\n)", at, at+1, at+2, at+3, at+4)
	}
	b.WriteString("\nSELECT id FROM p")
	return b.String()
}

// takeReference gives a merchant's reference to the new payment p, where no payment has it that has not ended without
// money. One that this statement does not see was made by another create at the same time, and keeps it.
const takeReference = `m AS (
	INSERT INTO merchant_references AS r (merchant_id, mode, reference, payment_id)
	SELECT $%[1]d::text, $%[2]d::text, $%[3]d::text, p.id FROM p WHERE $%[3]d::text <> ''
	` + referenceTaken + `
)`

// takeReferences does it for the new payments b.
const takeReferences = `m AS (
	INSERT INTO merchant_references AS r (merchant_id, mode, reference, payment_id)
	SELECT merchant_id, mode, merchant_reference, id FROM b WHERE merchant_reference <> '' ORDER BY merchant_id, mode, merchant_reference
	` + referenceTaken + `
)`

const referenceTaken = `ON CONFLICT (merchant_id, mode, reference) DO UPDATE SET payment_id = CASE WHEN ` + endedWithoutMoney + ` THEN excluded.payment_id END`

// endedWithoutMoney says that no payment has the reference of the row r.
const endedWithoutMoney = `(SELECT b.status FROM payments b WHERE b.id = r.payment_id) IN ('expired', 'cancelled', 'refunded')
		AND ` + noneWithMoney

const noneWithMoney = `NOT EXISTS (SELECT FROM payments b WHERE b.merchant_reference = r.reference AND b.merchant_id = r.merchant_id AND b.mode = r.mode
			AND b.merchant_reference <> '' AND b.status NOT IN ('expired', 'cancelled', 'refunded'))`

// elsewhere is the payment of a merchant's reference that a create in another shard has. No payment has such an id, so
// a create here is refused.
const elsewhere = "elsewhere"

// giveReference gives a merchant's reference to another shard, where no payment here has it.
const giveReference = `INSERT INTO merchant_references AS r (merchant_id, mode, reference, payment_id) VALUES ($1, $2, $3, $4)
ON CONFLICT (merchant_id, mode, reference) DO UPDATE SET payment_id = CASE WHEN ` + endedWithoutMoney + `
	OR (r.payment_id = excluded.payment_id AND ` + noneWithMoney + `) THEN excluded.payment_id END`

// idempotencyArgs is how many arguments idempotency.Args gives.
var idempotencyArgs = len(idempotency.Args(idempotency.Key{}, idempotency.Answer{}))

// makeUpdate returns the statement that writes a set of columns of a payment and adds to its changes. It returns the
// microseconds since the change before. $1 is the id, and $2 the version that was read.
func makeUpdate(set func(column) bool) string {
	var sets []string
	n := 2
	for _, c := range columns {
		if set(c) {
			n++
			sets = append(sets, c.set(fmt.Sprintf("$%d", n)))
		}
	}
	return "UPDATE ONLY payments AS p " + fmt.Sprintf(updateSets, strings.Join(sets, ", "), fmt.Sprintf("$%d", n+1), fmt.Sprintf("$%d::text[]", n+2)) +
		"WHERE p.id = $1 AND p.version = $2 RETURNING " + fmt.Sprintf(sinceChange, fmt.Sprintf("$%d::text[]", n+2))
}

// makeUpdates returns the same statement over lists of these values, which returns the place of each payment first.
// The changes of one payment are lines of one text. The list of ids makes PostgreSQL look each payment up by its index,
// whatever it believes about the size of the table.
func makeUpdates(set func(column) bool) string {
	lists, names, sets := []string{"$1::text[]", "$2::bigint[]"}, []string{"id", "read"}, []string{}
	list := func(name, typ string) {
		lists, names = append(lists, fmt.Sprintf("$%d::%s[]", len(lists)+1, typ)), append(names, name)
	}
	for _, c := range columns {
		if !set(c) {
			continue
		}
		typ, value := c.listed()
		list(c.name, typ)
		sets = append(sets, c.set(value))
	}
	list("wallet_id", "text")
	list("changes", "text")
	const changes = `string_to_array(k.changes, E'\n')`
	return "UPDATE ONLY payments AS p " + fmt.Sprintf(updateSets, strings.Join(sets, ", "), "k.wallet_id", changes) +
		"FROM unnest(" + strings.Join(lists, ", ") + ") WITH ORDINALITY AS k(" + strings.Join(names, ", ") + ", place)\n" +
		"WHERE p.id = ANY($1::text[]) AND p.id = k.id AND p.version = k.read RETURNING k.place, " + fmt.Sprintf(sinceChange, changes)
}

const (
	updateSets = `SET %s, wallet_id = coalesce(%s, p.wallet_id),
	changes = p.changes || %[3]s, changed_at = p.changed_at || array_fill(now(), ARRAY[cardinality(%[3]s)])
`
	sinceChange = `coalesce(1000000 * extract(epoch FROM now() - coalesce(p.changed_at[cardinality(p.changed_at) - cardinality(%s)],
	(SELECT max(h.at) FROM history_rows h WHERE h.payment_id = p.id))), 0)::bigint`
)

// listed is the type of a column's values in a list, and how a row k of lists has one. Numbers and JSON are sent as
// texts.
func (c column) listed() (typ, value string) {
	if c.typ == "numeric" || c.typ == "json" {
		return "text", "k." + c.name + "::" + c.typ
	}
	return c.typ, "k." + c.name
}

// set is the part of an update that sets a column.
func (c column) set(value string) string {
	if c.kind&isSealed != 0 { // null keeps the value, so that only changed values are sealed again; empty clears it
		value = fmt.Sprintf("CASE WHEN %[1]s::bytea IS NULL THEN p.%[2]s ELSE nullif(%[1]s, '') END", value, c.name)
	}
	return c.name + " = " + value
}

const (
	// selectUnknowns reads payouts with a next_at by its index. A payout with an outcome that is only followed is not
	// open.
	selectUnknowns = `SELECT mode, count(*) FILTER (WHERE state = 'unknown'),
	coalesce(1000000 * max(extract(epoch FROM now() - coalesce(first_sent_at, sent_at))) FILTER (WHERE state = 'unknown'), 0)::bigint,
	count(*), coalesce(1000000 * max(extract(epoch FROM now() - created_at)), 0)::bigint,
	count(*) FILTER (WHERE frozen), count(*) FILTER (WHERE NOT frozen AND (paged OR stopped))
FROM payouts WHERE next_at IS NOT NULL AND (frozen OR state IN ('created', 'sending', 'pending', 'unknown')) GROUP BY mode`

	// countOpen reads at most $3 entries of the index payments_lanes for each status, type and mode. In a small table
	// PostgreSQL would read all payments for each of them. No open payment is archived.
	noWholeTable = `SELECT set_config('enable_seqscan', 'off', true)`
	countOpen    = `SELECT s.status, t.type, m.mode, (SELECT count(*) FROM (
	SELECT FROM ONLY payments p WHERE p.status = s.status AND p.type = t.type AND p.mode = m.mode ORDER BY p.merchant_id, p.id COLLATE "C" DESC LIMIT $3) AS counted)
FROM unnest($1::text[]) AS s(status), unnest($2::text[]) AS t(type), (VALUES ('live'), ('test')) AS m(mode)`

	depositColumns = `d.key, d.version, d.network, d.asset, d.contract, d.tx_hash, d.amount, d.reverted, d.block_height, d.block_hash, d.block_time,
	d.first_seen_at, d.depth, d.finalized, d.senders, d.witness, d.screening, d.usd, d.booked, d.booked_amount, d.booked_block, d.bookings, d.counted, d.refunded`
	// A newer snapshot replaces an older one and keeps the marks, the worth in dollars and the first sighting. A decision
	// about its senders is kept too. A snapshot with the same senders and the same verdict as before is no new decision.
	upsertDeposit = `WITH taken AS (
	INSERT INTO scan_taken (mode, network, number) SELECT $1, $6, $21::bigint WHERE $21 > 0 ON CONFLICT DO NOTHING
), decided AS (
	INSERT INTO screenings (mode, payment_id, deposit, stage, verdict, reason, lists, addresses)
	SELECT $1::text, $4::text, $2::text, 'deposit', $22::text, $24::text, $25::text, $19::text[]
	WHERE $22 <> '' AND NOT EXISTS (SELECT FROM deposits s WHERE s.mode = $1 AND s.key = $2 AND s.screening = $22 AND s.senders = $19)
)
INSERT INTO deposits AS d (` + depositInserted + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $22, $23)
` + depositReplaced
	depositInserted = `mode, key, version, payment_id, family, network, address, asset, contract, tx_hash, amount, reverted,
	block_height, block_hash, block_time, first_seen_at, depth, finalized, senders, usd, screening, witness`
	depositReplaced = `ON CONFLICT (mode, key) DO UPDATE SET version = excluded.version, payment_id = coalesce(d.payment_id, excluded.payment_id), amount = excluded.amount,
	reverted = excluded.reverted, block_height = excluded.block_height, block_hash = excluded.block_hash, block_time = excluded.block_time,
	first_seen_at = least(d.first_seen_at, excluded.first_seen_at), depth = excluded.depth, finalized = excluded.finalized, senders = excluded.senders,
	witness = excluded.witness,
	screening = CASE WHEN excluded.screening <> '' OR d.senders <> excluded.senders THEN excluded.screening ELSE d.screening END
WHERE d.version < excluded.version AND d.family = excluded.family AND d.address = excluded.address`
	// The same for lists of snapshots. It returns the place of each that it wrote. The senders of one are lines of a text.
	upsertDeposits = `WITH given AS (
	SELECT mode, key, version, payment_id, family, network, address, asset, contract, tx_hash, amount::numeric, reverted, block_height, block_hash, block_time,
		first_seen_at, depth, finalized, string_to_array(senders, E'\n') AS senders, usd::numeric, number, screening, witness, reason, lists, place
	FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
		$12::boolean[], $13::bigint[], $14::text[], $15::timestamptz[], $16::timestamptz[], $17::bigint[], $18::boolean[], $19::text[], $20::text[],
		$21::bigint[], $22::text[], $23::text[], $24::text[], $25::text[]) WITH ORDINALITY
		AS k(mode, key, version, payment_id, family, network, address, asset, contract, tx_hash, amount, reverted, block_height, block_hash, block_time,
		first_seen_at, depth, finalized, senders, usd, number, screening, witness, reason, lists, place)
), taken AS (
	INSERT INTO scan_taken (mode, network, number) SELECT mode, network, number FROM given WHERE number > 0 ON CONFLICT DO NOTHING
), decided AS (
	INSERT INTO screenings (mode, payment_id, deposit, stage, verdict, reason, lists, addresses)
	SELECT mode, payment_id, key, 'deposit', screening, reason, lists, senders FROM given k
	WHERE screening <> '' AND NOT EXISTS (SELECT FROM deposits s WHERE s.mode = k.mode AND s.key = k.key AND s.screening = k.screening AND s.senders = k.senders)
), written AS (
	INSERT INTO deposits AS d (` + depositInserted + `)
	SELECT ` + depositInserted + ` FROM given
	` + depositReplaced + ` RETURNING mode, key
)
SELECT k.place FROM given k JOIN written USING (mode, key)`
	// Nothing else about the transfer may be new.
	finalDeposit = `WITH done AS (
	UPDATE deposits d SET version = $3, depth = $7, finalized = true
	WHERE d.mode = $1 AND d.key = $2 AND d.family = $4 AND d.network = $5 AND d.address = $6 AND d.payment_id = $15
	AND d.version < $3 AND NOT d.reverted AND d.counted > 0
	AND d.counted = $9 AND d.booked_amount = $9 AND d.amount = $9 AND d.booked_block = $10 AND d.block_hash = $10 AND d.block_hash <> ''
	AND d.senders = $11 AND d.witness = $12 AND $13 IN ('', d.screening) AND d.first_seen_at <= $14 RETURNING d.key
), taken AS (
	INSERT INTO scan_taken (mode, network, number) SELECT $1, $5, $8::bigint FROM done WHERE $8 > 0 ON CONFLICT DO NOTHING
)
SELECT FROM done`
	finalDeposits = `WITH done AS (
	UPDATE deposits d SET version = k.version, depth = k.depth, finalized = true
	FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::text[], $11::text[],
		$12::text[], $13::text[], $14::timestamptz[], $15::text[]) WITH ORDINALITY
		AS k(mode, key, version, family, network, address, depth, number, amount, block_hash, senders, witness, screening, first_seen_at, payment_id, place)
	WHERE d.key = ANY($2::text[]) AND d.mode = k.mode AND d.key = k.key AND d.family = k.family AND d.network = k.network AND d.address = k.address
	AND d.payment_id = k.payment_id AND d.version < k.version AND NOT d.reverted AND d.counted > 0
	AND d.counted = k.amount::numeric AND d.booked_amount = k.amount::numeric AND d.amount = k.amount::numeric
	AND d.booked_block = k.block_hash AND d.block_hash = k.block_hash AND d.block_hash <> ''
	AND d.senders = string_to_array(k.senders, E'\n') AND d.witness = k.witness AND k.screening IN ('', d.screening) AND d.first_seen_at <= k.first_seen_at
	RETURNING k.place, k.mode, k.network, k.number
), taken AS (
	INSERT INTO scan_taken (mode, network, number) SELECT mode, network, number FROM done WHERE number > 0 ON CONFLICT DO NOTHING
)
SELECT place FROM done`
	// A key always names one transfer to one address. A snapshot with another address would change the money of a payment
	// whose row is not locked.
	movedDeposit  = `SELECT FROM deposits WHERE mode = $1 AND key = $2 AND (family <> $3 OR address <> $4)`
	selectDeposit = `SELECT ` + depositColumns + ` FROM deposits d WHERE d.mode = $1 AND d.key = $2 FOR UPDATE`
	markDeposit   = `UPDATE deposits SET booked = $3, booked_amount = $4, bookings = $5, counted = $6, refunded = $7, booked_block = $8 WHERE mode = $1 AND key = $2 RETURNING 1`
	markDeposits  = `UPDATE deposits d SET booked = k.booked, booked_amount = k.booked_amount::numeric, bookings = k.bookings, counted = k.counted::numeric,
	refunded = k.refunded::numeric, booked_block = k.booked_block
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::text[], $7::text[], $8::text[])
	AS k(mode, key, booked, booked_amount, bookings, counted, refunded, booked_block)
WHERE d.key = ANY($2::text[]) AND d.mode = k.mode AND d.key = k.key RETURNING 1`

	// selectMoment returns a row without a network where none is scanned.
	selectMoment = `SELECT clock_timestamp(), coalesce(network, ''), coalesce(height, 0), coalesce(block_time, 'epoch'), coalesce(state, ''),
	coalesce((extract(epoch FROM clock_timestamp() - updated_at) * 1000000)::bigint, 0)
FROM (VALUES (true)) AS once LEFT JOIN scan_progress ON mode = $1`
	selectScans = `SELECT mode, network, state, (extract(epoch FROM clock_timestamp() - updated_at) * 1000000)::bigint, height, head, head_time, untraced FROM scan_progress`
	// Messages may overtake each other: the state comes from the message with the latest told_at. After 30 seconds
	// without a message any message is accepted, so that a clock of wallets that was set back stops quotes only
	// briefly.
	upsertProgress = `INSERT INTO scan_progress AS s (mode, network, height, finalized, block_time, state, head, head_time, told_at)
VALUES ($1, $2, $3, $4, 'epoch', $5, $6, $7, coalesce($8::timestamptz, 'epoch'))
ON CONFLICT (mode, network) DO UPDATE SET height = excluded.height, finalized = greatest(s.finalized, excluded.finalized), updated_at = now(),
(state, head, head_time, told_at) = (SELECT n.state, n.head, n.head_time, n.told_at FROM (VALUES (true, excluded.state, excluded.head, excluded.head_time, excluded.told_at),
	(false, s.state, s.head, s.head_time, s.told_at)) AS n (fresh, state, head, head_time, told_at)
	WHERE fresh = (excluded.told_at = 'epoch' OR excluded.told_at >= s.told_at OR s.updated_at < now() - interval '30 seconds'))`
	// After an operator has skipped missing deposits, progress counts only if wallets published it later (oversight.go).
	noteProgress = `INSERT INTO scan_waiting AS w (mode, network, deposits, block_time)
SELECT $1, $2, $3, $4 FROM scan_progress WHERE mode = $1 AND network = $2 AND believed_from <= coalesce($5::timestamptz, 'epoch')
ON CONFLICT (mode, network, deposits) DO UPDATE SET block_time = greatest(w.block_time, excluded.block_time)`
	// upsertProgress has locked the progress. This is a separate statement, so that it sees rows that were committed
	// before the lock became free.
	settleProgress = `WITH at AS (
	SELECT settled FROM scan_progress WHERE mode = $1 AND network = $2
), run AS ( -- so many numbers follow settled without a gap
	SELECT count(*) AS n FROM at, (SELECT number, row_number() OVER (ORDER BY number) AS place FROM scan_taken t, at
		WHERE t.mode = $1 AND t.network = $2 AND t.number > at.settled) AS taken WHERE number = at.settled + place
), last AS (
	SELECT max(w.deposits) AS deposits, max(w.block_time) AS block_time FROM scan_waiting w, at, run
	WHERE w.mode = $1 AND w.network = $2 AND (at.settled < 0 OR w.deposits <= at.settled + run.n)
), done AS (
	DELETE FROM scan_waiting w USING last WHERE w.mode = $1 AND w.network = $2 AND w.deposits <= last.deposits
), known AS (
	DELETE FROM scan_taken t USING last WHERE t.mode = $1 AND t.network = $2 AND t.number <= last.deposits
)
UPDATE scan_progress s SET settled = greatest(s.settled, last.deposits), block_time = greatest(s.block_time, last.block_time)
FROM last WHERE s.mode = $1 AND s.network = $2 AND last.deposits IS NOT NULL`
	overdueProgress = `SELECT count(*) FROM scan_waiting WHERE mode = $1 AND network = $2 AND told_at < now() - $3 * interval '1 second'`

	payoutColumns = `o.id, o.payment_id, o.mode, o.reference, o.attempt, o.rail, o.currency, o.amount, o.receiver, o.state, o.frozen, o.lease_until,
	o.sends, o.sent_at, o.polls, o.misses, o.first_miss_at, o.next_at, o.paged, o.no_float, o.rail_id, o.reason, o.fee, o.created_at, o.done_at,
	o.stopped, o.first_sent_at, o.answer, o.answer_at, o.concluded, o.concluded_at, o.contradicted`
	// A payout that was withdrawn before it left is revived under its reference. No other state can be revived.
	insertPayout = `INSERT INTO payouts AS o (id, payment_id, mode, reference, attempt, rail, currency, amount, receiver, state, next_at, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
` + payoutRevived
	insertPayouts = `INSERT INTO payouts AS o (id, payment_id, mode, reference, attempt, rail, currency, amount, receiver, state, next_at, created_at)
SELECT id, payment_id, mode, reference, attempt, rail, currency, amount::numeric, receiver, state, at, at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::text[], $7::text[], $8::text[], $9::bytea[], $10::text[], $11::timestamptz[])
	AS k(id, payment_id, mode, reference, attempt, rail, currency, amount, receiver, state, at)
` + payoutRevived
	payoutRevived = `ON CONFLICT (reference) DO UPDATE SET rail = excluded.rail, amount = excluded.amount, receiver = excluded.receiver, state = excluded.state,
	next_at = excluded.next_at, done_at = NULL
WHERE o.state = 'withdrawn' AND o.sends = 0 RETURNING 1`
	// A row that is still due keeps taken_until: the worker that saves it still works on it.
	savePayout = `UPDATE payouts SET state = $2, frozen = $3, lease_until = $4, sends = $5, sent_at = $6, polls = $7, misses = $8, first_miss_at = $9,
	next_at = $10, paged = $11, no_float = $12, rail_id = $13, reason = $14, fee = $15, done_at = $16, receiver = coalesce($17, receiver), stopped = $18, first_sent_at = $19, answer = $20,
	answer_at = $21, concluded = $22, concluded_at = $23, contradicted = $24,
	taken_until = CASE WHEN $10 <= now() THEN taken_until END WHERE id = $1`
	savePayoutNoted = savePayout + ` RETURNING xmin, clock_timestamp()`
	// Several payouts whose rows nobody has written since they were read: every write of a row changes its xmin. Two of
	// the same row would be one write, of which one has a place.
	// Several payouts. Two of the same row would be one write, of which one has a place.
	savePayouts = `UPDATE payouts o SET state = k.state, frozen = k.frozen, lease_until = k.lease_until, sends = k.sends, sent_at = k.sent_at,
	polls = k.polls, misses = k.misses, first_miss_at = k.first_miss_at, next_at = k.next_at, paged = k.paged, no_float = k.no_float,
	rail_id = k.rail_id, reason = k.reason, fee = k.fee::numeric, done_at = k.done_at, receiver = coalesce(k.receiver, o.receiver), stopped = k.stopped,
	first_sent_at = k.first_sent_at, answer = k.answer, answer_at = k.answer_at, concluded = k.concluded, concluded_at = k.concluded_at,
	contradicted = k.contradicted, taken_until = CASE WHEN k.next_at <= now() THEN o.taken_until END
FROM unnest($1::text[], $2::text[], $3::boolean[], $4::timestamptz[], $5::int[], $6::timestamptz[], $7::int[], $8::int[], $9::timestamptz[],
	$10::timestamptz[], $11::boolean[], $12::boolean[], $13::text[], $14::text[], $15::text[], $16::timestamptz[], $17::bytea[], $18::boolean[],
	$19::timestamptz[], $20::text[], $21::timestamptz[], $22::text[], $23::timestamptz[], $24::boolean[]%s) WITH ORDINALITY
	AS k(id, state, frozen, lease_until, sends, sent_at, polls, misses, first_miss_at, next_at, paged, no_float, rail_id, reason, fee, done_at,
	receiver, stopped, first_sent_at, answer, answer_at, concluded, concluded_at, contradicted%s, place)
WHERE o.id = ANY($1::text[]) AND o.id = k.id`
	voidPayout = `UPDATE payouts SET state = 'withdrawn', next_at = NULL, done_at = $2 WHERE reference = $1 AND state = 'created'`
	// Due payouts of a mode, of the rails named or of all others, taken for five seconds, so that two replicas do not read
	// the same row. A second read is harmless while they are few: a call of a rail may take longer.
	// The mode is part of the text, because each has an index of its own: a backlog of one does not slow the other.
	duePayoutsLive = takeDuePayouts + `'live'` + ofDuePayouts
	duePayoutsTest = takeDuePayouts + `'test'` + ofDuePayouts
	// The rows that are locked are changed where they lie: a join with them would read the whole table while that is
	// small. Each row carries the merchant and the trace of its payment, for spans and log lines.
	takeDuePayouts = `WITH o AS (
	UPDATE payouts SET taken_until = now() + interval '5 seconds' WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM payouts WHERE mode = `
	ofDuePayouts = ` AND next_at <= now() AND (taken_until IS NULL OR taken_until < now()) AND (rail = ANY($2)) <> $3
		ORDER BY next_at LIMIT $1 FOR UPDATE SKIP LOCKED))
	RETURNING *, xmin AS written
)
SELECT ` + payoutColumns + `, coalesce(p.merchant_id, ''), coalesce(p.trace, ''), o.written, clock_timestamp() FROM o
LEFT JOIN LATERAL (SELECT merchant_id, trace FROM payments WHERE id = o.payment_id OFFSET 0) AS p ON true`
	selectPayout = `SELECT ` + payoutColumns + ` FROM payouts o WHERE o.id = $1 FOR UPDATE`
	// Seconds until a payout is due, 0 or less if one is. One that is due and taken counts as due.
	nextPayout = `SELECT extract(epoch FROM min(next_at) - now())::float8 FROM payouts`

	// Journals with their entries. Only accounts of one payment have a stored balance. It is updated in the order of
	// their codes under the payment's lock. New shared accounts have no balance and are inserted in that order too.
	insertJournals = `WITH j AS (
	INSERT INTO ledger_journals (key, event, payment_id, accounts, assets, amounts)
	SELECT key, event, nullif(payment, ''), ($7::text[])[first:last], ($8::text[])[first:last], ($9::text[])[first:last]::numeric[]
	FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[]) AS t(key, event, payment, first, last) ON CONFLICT (key) DO NOTHING RETURNING id, key
), e AS (
	SELECT code, asset, normal, owner, amount::numeric AS amount
	FROM unnest($6::text[], $7, $8, $9, $10::text[], $11::text[]) AS t(key, code, asset, amount, normal, owner) JOIN j USING (key)
)` + keepAccounts
	// The same with entries that are rows.
	insertJournalLines = `WITH j AS (
	INSERT INTO ledger_journals (key, event, payment_id) SELECT key, event, nullif(payment, '')
	FROM unnest($1::text[], $2::text[], $3::text[]) AS t(key, event, payment) ON CONFLICT (key) DO NOTHING RETURNING id, key
), e AS (
	SELECT j.id, n, code, asset, normal, owner, amount::numeric AS amount
	FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[]) WITH ORDINALITY AS t(key, code, asset, amount, normal, owner, n) JOIN j USING (key)
), lines AS (
	INSERT INTO ledger_lines (journal_id, line, account, asset, side, amount)
	SELECT id, row_number() OVER (PARTITION BY id ORDER BY n), code, asset, CASE WHEN amount > 0 THEN 'debit' ELSE 'credit' END, abs(amount) FROM e
)` + keepAccounts
	keepAccounts = `, shared AS (
	INSERT INTO ledger_accounts (code, asset, normal) SELECT DISTINCT code, asset, normal FROM e WHERE owner = '' ORDER BY code ON CONFLICT (code) DO NOTHING
)
INSERT INTO ledger_accounts AS a (code, asset, normal, payment_id, balance)
SELECT code, asset, normal, owner, sum(CASE normal WHEN 'debit' THEN amount ELSE -amount END) FROM e WHERE owner <> ''
GROUP BY code, asset, normal, owner ORDER BY code
ON CONFLICT (code) DO UPDATE SET balance = a.balance + excluded.balance`
	// entriesOf are the entries of a journal j: in its row, or rows of their own.
	entriesOf = `LATERAL (SELECT l.line, l.account, l.asset, l.side, l.amount FROM ledger_lines l WHERE j.accounts IS NULL AND l.journal_id = j.id
	UNION ALL SELECT line::smallint, account, asset, CASE WHEN amount > 0 THEN 'debit' ELSE 'credit' END, abs(amount)
	FROM unnest(j.accounts, j.assets, j.amounts) WITH ORDINALITY AS t(account, asset, amount, line)) AS e`

	// Payments with a due timer. A payment with an address waits until its network is scanned past the end of its
	// window by the margin, so that no payment expires while its transfer is in an unread block.
	duePayments = `SELECT p.id FROM payments p LEFT JOIN scan_progress s ON s.mode = p.mode AND s.network = p.network
WHERE p.due_at <= now() AND (p.address IS NULL OR p.due_at = p.deadline_at OR s.block_time > p.due_at + $1 * interval '1 second')
ORDER BY p.due_at LIMIT $2`

	// leaseAddresses changes the rows that it has locked where they lie. A join with them read the whole stock, or looked
	// each up once more.
	leaseAddresses = `WITH leased AS (
	UPDATE address_stock SET lease_owner = $4, lease_until = now() + $5 * interval '1 second' WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM address_stock WHERE mode = $1 AND family = $2 AND lease_owner IS NULL ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED))
	RETURNING address, wallet_id
), used AS (
	INSERT INTO address_usage AS u (mode, family, minute, leased) SELECT $1, $2, date_trunc('minute', now()), count(*) FROM leased HAVING count(*) > 0
	ON CONFLICT (mode, family, minute) DO UPDATE SET leased = u.leased + excluded.leased
)
SELECT wallet_id, address FROM leased`
	releaseAddresses = `UPDATE address_stock s SET lease_owner = NULL, lease_until = NULL
WHERE s.mode = $1 AND s.family = $2 AND s.lease_owner = $3 AND s.address = ANY($4)
	AND NOT EXISTS (SELECT FROM payments p WHERE p.mode = s.mode AND p.family = s.family AND p.address = s.address)`
	// Leased addresses that a payment uses leave the stock. The statement returns those whose payment has a trace. The
	// limit of one payment keeps PostgreSQL from joining all payments with the few addresses that are leased.
	// freeDeadLeases returns unused addresses of an expired lease to the stock.
	dropUsedAddresses = `WITH used AS (
	SELECT a.ctid AS place, a.mode, a.family, a.address, p.trace FROM address_stock a
	CROSS JOIN LATERAL (SELECT trace FROM payments WHERE mode = a.mode AND family = a.family AND address = a.address LIMIT 1) p
	WHERE a.lease_owner IS NOT NULL ORDER BY a.lease_until LIMIT 5000
), gone AS (
	DELETE FROM address_stock WHERE ctid = ANY(ARRAY(SELECT place FROM used))
)
SELECT mode, family, address, trace FROM used WHERE trace IS NOT NULL`
	freeDeadLeases = `UPDATE address_stock s SET lease_owner = NULL, lease_until = NULL WHERE s.lease_owner IS NOT NULL AND s.lease_until < now()
	AND NOT EXISTS (SELECT FROM payments p WHERE p.mode = s.mode AND p.family = s.family AND p.address = s.address)`
	spoilAddress = `DELETE FROM address_stock WHERE mode = $1 AND family = $2 AND address = $3`
	addStock     = `INSERT INTO address_stock (mode, family, address, wallet_id) SELECT $1, $2, a, w FROM unnest($3::text[], $4::text[]) AS t(a, w)
WHERE EXISTS (SELECT FROM address_requests r WHERE r.mode = $1 AND r.family = $2 AND r.request_id = $5)
	AND NOT EXISTS (SELECT FROM payments p WHERE p.mode = $1 AND p.family = $2 AND p.address = a)
	AND NOT EXISTS (SELECT FROM deposits d WHERE d.mode = $1 AND d.family = $2 AND d.address = a)
ON CONFLICT (mode, family, address) DO NOTHING`
	// It searches both modes: live money on an address of test mode is lost, or goes to anybody who knows its published
	// key.
	oursAddress = `SELECT EXISTS (SELECT FROM payments WHERE mode IN ('live', 'test') AND family = $1 AND address = $2)
	OR EXISTS (SELECT FROM address_stock WHERE mode IN ('live', 'test') AND family = $1 AND address = $2)
	OR EXISTS (SELECT FROM deposits WHERE mode IN ('live', 'test') AND family = $1 AND address = $2)
	OR EXISTS (SELECT FROM own_addresses WHERE mode IN ('live', 'test') AND family = $1 AND address = $2)`
	// One order of rows prevents deadlocks between two messages with the same addresses.
	keepOwn = `INSERT INTO own_addresses (mode, family, address) SELECT m, f, a FROM unnest($1::text[], $2::text[], $3::text[]) AS o(m, f, a)
ORDER BY m, f, a ON CONFLICT DO NOTHING`
	answerRequest = `UPDATE address_requests SET parts = parts + 1 WHERE mode = $1 AND family = $2 AND request_id = $3`
	finishRequest = `DELETE FROM address_requests WHERE mode = $1 AND family = $2 AND request_id = $3 AND parts >= $4`
	insertRequest = `INSERT INTO address_requests (mode, family, request_id, count) VALUES ($1, $2, $3, $4) ON CONFLICT (mode, family) DO NOTHING`
	touchRequest  = `UPDATE address_requests SET requested_at = now() WHERE mode = $1 AND family = $2 AND request_id = $3`
	stockLevels   = `SELECT w.mode, w.family, free.n, coalesce(peak.n, 0), coalesce(peak.sum, 0), r.request_id, coalesce(r.count, 0), coalesce(r.requested_at < now() - $3 * interval '1 second', false)
FROM unnest($1::text[], $2::text[]) AS w(mode, family)
CROSS JOIN LATERAL (SELECT count(*) AS n FROM address_stock s WHERE s.mode = w.mode AND s.family = w.family AND s.lease_owner IS NULL) AS free
CROSS JOIN LATERAL (SELECT max(leased) AS n, sum(leased) AS sum FROM address_usage u WHERE u.mode = w.mode AND u.family = w.family AND u.minute > now() - interval '1 hour') AS peak
LEFT JOIN address_requests r ON r.mode = w.mode AND r.family = w.family`
	// While addresses are used, the stock is work.
	usedStock   = `SELECT (SELECT 0::float8 FROM address_usage WHERE minute > now() - interval '2 minutes' LIMIT 1)`
	forgetUsage = `DELETE FROM address_usage WHERE minute < now() - interval '2 hours'`

	simLock = `SELECT pg_advisory_xact_lock(hashtextextended('simulated transfer ' || $1, 0))`
	// In one order, so that two packs of orders do not wait for each other.
	simLocks = `SELECT pg_advisory_xact_lock(hashtextextended('simulated transfer ' || ref, 0)) FROM (
	SELECT ref FROM unnest($1::text[]) AS r(ref) ORDER BY hashtextextended('simulated transfer ' || ref, 0)) AS sorted`
	simRecord = `INSERT INTO sim_transfers (ref, currency, amount, bank_code, account_number, account_name, outcome, at, done_at)
SELECT k.ref, currency, amount::numeric, bank_code, account_number, account_name, coalesce((SELECT s.outcome FROM sim_outcomes s WHERE s.ref = k.ref), k.outcome), at, done_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::timestamptz[])
	AS k(ref, currency, amount, bank_code, account_number, account_name, outcome, at, done_at)
ON CONFLICT (ref) DO NOTHING RETURNING ref`
	simColumns = `ref, currency, amount, bank_code, account_number, account_name, outcome, at, done_at`
	simLookup  = `SELECT ` + simColumns + ` FROM sim_transfers WHERE ref = $1`
	simLookups = `SELECT t.* FROM unnest($1::text[]) AS k(ref), LATERAL (SELECT ` + simColumns + ` FROM sim_transfers WHERE ref = k.ref OFFSET 0) AS t`
	simChange  = `UPDATE sim_transfers SET outcome = $2, done_at = $3 WHERE ref = $1`
	simKeep    = `INSERT INTO sim_outcomes (ref, outcome) VALUES ($1, $2) ON CONFLICT (ref) DO UPDATE SET outcome = excluded.outcome`
	simOrdered = `SELECT outcome FROM sim_outcomes WHERE ref = $1`
)

// duePayouts are the texts by mode.
var duePayouts = map[tenant.Mode]string{tenant.Live: duePayoutsLive, tenant.Test: duePayoutsTest}

// Statements lists every SQL text of the package by name; a test prepares each on the migrated schema.
func Statements() map[string]string {
	return map[string]string{
		"insertPayment": insertPayment, "giveReference": giveReference, "insertPaymentKeyed": insertPaymentKeyed, "insertPayments": insertPayments, "updatePayment": updatePayment, "updatePayments": updatePayments,
		"usualPayment": usualPayment, "usualPayments": usualPayments,
		"findOwned": findOwned, "findWholeOwned": findWholeOwned, "findAllOwned": findAllOwned, "findAllWholeOwned": findAllWholeOwned, "findAnswers": idempotency.FindAllSQL, "putAnswers": idempotency.InsertAllSQL, "selectRefunds": selectRefunds, "listRefunds": listRefunds, "insertRefund": insertRefund, "saveRefund": saveRefund,
		"refundPayment": refundPayment, "waitingRefunds": waitingRefunds, "refundStates": refundStates,
		"findDebtor": findDebtor, "selectDebt": selectDebt, "lockStray": lockStray, "insertUnclaimed": insertUnclaimed, "findUnclaimed": findUnclaimed,
		"lockUnclaimed": lockUnclaimed, "endUnclaimed": endUnclaimed, "listUnclaimed": listUnclaimed, "lockPaymentRow": lockPaymentRow,
		"countUnclaimed": countUnclaimed, "markStray": markStray,
		"findAddress": findAddress, "lockAddress": lockAddress, "strayRows": strayRows, "insertAdopted": insertAdopted, "adoptDeposits": adoptDeposits, "adoptVerdicts": adoptVerdicts,
		"compareRefunds": compareRefunds,
		"lockPayments":   lockPayments, "lockPaymentsByAddress": lockPaymentsByAddress, "selectPackDeposits": selectPackDeposits, "selectPackPayouts": selectPackPayouts,
		"lockByID": lockByID, "lockOwned": lockOwned, "lockByAddress": lockByAddress,
		"selectDepositRows": selectDepositRows,
		"selectLastPayout":  selectLastPayout, "lockLastPayout": lockLastPayout, "selectUnknowns": selectUnknowns, "countOpen": countOpen, "noWholeTable": noWholeTable,
		"upsertDeposit": upsertDeposit, "upsertDeposits": upsertDeposits, "selectDeposit": selectDeposit, "movedDeposit": movedDeposit, "markDeposit": markDeposit, "markDeposits": markDeposits,
		"selectMoment": selectMoment, "finalDeposit": finalDeposit, "finalDeposits": finalDeposits, "selectScans": selectScans, "upsertProgress": upsertProgress, "noteProgress": noteProgress,
		"lockNaming": lockNaming, "namedAlready": namedAlready, "nameTransaction": nameTransaction, "noteUntraced": noteUntraced,
		"settleProgress": settleProgress, "overdueProgress": overdueProgress,
		"insertPayout": insertPayout, "insertPayouts": insertPayouts, "savePayoutNoted": savePayoutNoted, "savePayoutsNoted": savePayoutsNoted, "savePayoutsAlone": savePayoutsAlone, "voidPayout": voidPayout, "duePayoutsLive": duePayoutsLive, "duePayoutsTest": duePayoutsTest, "nextPayout": nextPayout, "selectPayout": selectPayout,
		"insertJournals": insertJournals, "insertJournalLines": insertJournalLines, "duePayments": duePayments,
		"leaseAddresses": leaseAddresses, "releaseAddresses": releaseAddresses, "dropUsedAddresses": dropUsedAddresses,
		"freeDeadLeases": freeDeadLeases, "spoilAddress": spoilAddress, "oursAddress": oursAddress, "keepOwn": keepOwn, "addStock": addStock, "answerRequest": answerRequest,
		"finishRequest": finishRequest, "insertRequest": insertRequest, "touchRequest": touchRequest,
		"stockLevels": stockLevels, "usedStock": usedStock, "forgetUsage": forgetUsage,
		"simLock": simLock, "simRecord": simRecord, "simLookup": simLookup, "onePlan": postgres.OnePlanSQL, "briefly": idempotency.BrieflySQL, "simLocks": simLocks, "simLookups": simLookups, "simChange": simChange, "simKeep": simKeep, "simOrdered": simOrdered, "hintPayout": hintPayout,
		"findAny": findAny, "findByID": findByID, "lockAny": lockAny,
		"cleanAddress": cleanAddress, "selectPayoutOwner": selectPayoutOwner, "selectPayoutPayment": selectPayoutPayment,
		"findLink": findLink, "lockLink": lockLink, "listLinks": listLinks, "lockLinks": lockLinks, "insertLink": insertLink, "saveLink": saveLink, "useLink": useLink, "usedUpLink": usedUpLink, "recountLink": recountLink, "waitingOfLink": waitingOfLink, "noteUse": noteUse,
		"selectHistory": selectHistory, "selectPayouts": selectPayouts,
		"sumStatistics": sumStatistics, "foldStatistics": foldStatistics,
		"listSettled": listSettled, "listOwned": listOwned, "listNewest": listNewest, "listOwnedByAddress": listOwnedByAddress, "listOwnedByTransaction": listOwnedByTransaction, "listOwnedByPayer": listOwnedByPayer,
		"listMerchants": listMerchants, "listByAddress": listByAddress, "listByTransaction": listByTransaction, "listByException": listByException,
		"listByReference": listByReference, "listByMerchants": listByMerchants, "listByPayout": listByPayout, "listByAccount": listByAccount, "listOwnedByMerchants": listOwnedByMerchants, "listEvery": listEvery, "listSome": listSome, "listRows": listRows,
		"listPayouts": listPayouts, "listHeads": listHeads, "noteDecision": noteDecision,
		"discardStock": discardStock, "discardRequests": discardRequests, "doubtPayouts": doubtPayouts, "forgetTaken": forgetTaken,
		"patient": patient, "payoutStates": payoutStates, "paymentStates": paymentStates, "unmatchedReferences": unmatchedReferences, "unmatchedRefunds": unmatchedRefunds, "unendedRefunds": unendedRefunds, "assetSums": assetSums,
		"changedSince": changedSince, "unmarkedGifts": unmarkedGifts, "confirmedAddresses": confirmedAddresses, "selectExpiry": selectExpiry, "lockProgress": lockProgress, "skipDeposits": skipDeposits,
		"forgetWaiting": forgetWaiting, "forgetProgress": forgetProgress, "holdAccounts": holdAccounts,
		"insertScreening": insertScreening, "insertScreenings": insertScreenings, "setVerdict": setVerdict, "unscreened": unscreened, "knownDeposit": knownDeposit, "payoutSenders": payoutSenders,
		"shareClaims": shareClaims, "selectPaused": selectPaused, "selectPauses": selectPauses, "excludeClaims": excludeClaims,
		"insertPause": insertPause, "deletePause": deletePause, "forgetPause": forgetPause, "findPause": findPause, "scopedPause": scopedPause,
		"forgetOutages": forgetOutages, "upsertOutage": upsertOutage, "selectOutages": selectOutages,
		"changedBanks": changedBanks, "insertBanks": insertBanks, "updateBanks": updateBanks, "banksRead": banksRead, "trustBanks": trustBanks,
		"upsertTerms": upsertTerms, "bindingTerms": bindingTerms, "selectSuspended": selectSuspended, "numberPauses": numberPauses, "refundPauses": refundPauses,
		"insertApproval": insertApproval, "selectApproval": selectApproval, "deleteApproval": deleteApproval, "forgetApprovals": forgetApprovals, "noteRequest": noteRequest, "listStrays": listStrays, "listDoubts": listDoubts,
		"listHolds": listHolds, "heldVerdicts": heldVerdicts, "listDifferences": listDifferences, "listOpenDifferences": listOpenDifferences,
		"beginDay": beginDay, "endDay": endDay, "compareTrial": compareTrial, "compareBalances": compareBalances, "compareDeposit": compareDeposit,
		"compareDeposits": compareDeposits, "compareSwept": compareSwept, "comparePayout": comparePayout, "compareClearing": compareClearing, "conclusive": conclusive,
		"floatBooks": floatBooks, "floatMark": floatMark, "setFloat": setFloat, "upsertDifference": upsertDifference,
		"resolveDifferences": resolveDifferences, "openDifferences": openDifferences, "lastCompared": lastCompared,
		"insertPaymentLimited": insertPaymentLimited, "insertPaymentKeyedLimited": insertPaymentKeyedLimited, "insertPaymentsLimited": insertPaymentsLimited, "reserveLimits": reserveLimits,
		"releaseLimits": releaseLimits, "restoreLimits": restoreLimits, "overLimit": overLimit, "exposure": exposure,
		"forgetUsedLimits": forgetUsedLimits, "forgetReserved": forgetReserved, "forgetDiffering": forgetDiffering,
		"bookDifference": bookDifference, "undoDifference": undoDifference,
		"journalExists": journalExists, "lockJournal": lockJournal, "findEntries": findEntries,
		"merchantBalances": merchantBalances, "selectMerchant": selectMerchant, "makeMerchant": makeMerchant, "lockMerchant": lockMerchant,
		"saveMerchant": saveMerchant, "listAccounts": listAccounts, "insertAccount": insertAccount, "saveAccount": saveAccount,
		"personalAccounts": personalAccounts, "resealAccount": resealAccount,
		"findWithdrawal": findWithdrawal, "lockWithdrawal": lockWithdrawal, "listWithdrawals": listWithdrawals, "waitWithdrawals": waitWithdrawals, "leaveWithdrawals": leaveWithdrawals,
		"insertWithdrawal": insertWithdrawal, "saveWithdrawal": saveWithdrawal, "lockBalance": lockBalance, "recentWithdrawals": recentWithdrawals, "openWithdrawals": openWithdrawals,
		"listSchedules": listSchedules, "clearSchedules": clearSchedules, "insertSchedule": insertSchedule, "insertDay": insertDay,
		"dueSettlements": dueSettlements, "forgetDays": forgetDays, "putOffSettlement": putOffSettlement,
		"lockFees": lockFees, "feeState": feeState, "insertFees": insertFees, "listFees": listFees, "findFees": findFees, "publishedFees": publishedFees,
		"clearOwed": clearOwed, "makeOwed": makeOwed, "noteOwed": noteOwed, "owedMade": owedMade, "listOwed": listOwed, "sumOwed": sumOwed,
		"selectLookups": selectLookups, "askLookup": askLookup, "answerLookup": answerLookup, "forgetLookups": forgetLookups, "useTransaction": useTransaction,
		"personalPayments": personalPayments, "personalPayouts": personalPayouts, "resealPayment": resealPayment, "resealPayout": resealPayout,
		"walkPayments": walkPayments, "walkedTo": walkedTo, "dueErasures": dueErasures, "dropEnded": dropEnded, "dueOfErasure": dueOfErasure, "leftOfErasure": leftOfErasure,
		"waitOn": waitOn, "waited": waited, "lockErased": lockErased, "selectEnded": selectEnded, "forgetPayer": forgetPayer, "forgetReceiver": forgetReceiver, "noteAudit": noteAudit,
		"upsertFraud": upsertFraud, "selectFraud": selectFraud,
		"openLookup": openLookup, "endLookup": endLookup, "collectedSince": collectedSince,
		"lockJournals": lockJournals, "lastClosed": lastClosed, "firstBooked": firstBooked, "endOfDay": endOfDay, "insertClose": insertClose,
		"monthOpen": monthOpen, "inFuture": inFuture, "selectFollowed": selectFollowed, "unfinishedClose": unfinishedClose, "closeOf": closeOf, "closeBefore": closeBefore, "ledgerSums": ledgerSums, "feeSums": feeSums,
		"insertCloseSum": insertCloseSum, "insertCloseFee": insertCloseFee, "insertTreasuryClose": insertTreasuryClose,
		"upsertTreasury": upsertTreasury, "selectTreasury": selectTreasury, "selectTreasuryClose": selectTreasuryClose,
		"selectReadings": selectReadings, "upsertReading": upsertReading, "selectMarks": selectMarks, "newestJournal": newestJournal, "listEntries": listEntries,
		"insertBook": insertBook, "removeBook": removeBook, "findBook": findBook, "listBook": listBook, "databaseTime": databaseTime,
		"lockDrawer": lockDrawer, "drawer": drawer, "spentDraws": spentDraws, "insertDraw": insertDraw, "saveDraw": saveDraw, "lockDraw": lockDraw, "findDraw": findDraw,
		"anyDraw": anyDraw, "listDraw": listDraw, "waitingDraws": waitingDraws, "orderedDraws": orderedDraws,
		"corridorEnds": corridorEnds, "listRailStates": listRailStates, "tellRailStates": tellRailStates, "forgetRailStates": forgetRailStates,
		"listHits": listHits, "listCloses": listCloses,
		"attachByID": attachByID, "attachOwned": attachOwned, "attachAny": attachAny, "attachByAddress": attachByAddress,
		"readDepositRows": readDepositRows, "readLastPayout": readLastPayout, "attachPayout": attachPayout,
		"planArchive": planArchive, "keepArchive": keepArchive, "chooseMembers": chooseMembers,
		"sumMembers": sumMembers, "unmovedArchives": unmovedArchives, "numberArchive": numberArchive, "confirmArchive": confirmArchive,
		"moveMembers": moveMembers, "endArchive": endArchive, "listArchives": listArchives, "archivedOf": archivedOf,
		"booksClosed": booksClosed, "oldMessages": oldMessages, "personalArchived": personalArchived, "resealArchived": resealArchived,
		"daysArchived": daysArchived, "otherReleases": otherReleases,
		"outbox": outbox.InsertSQL, "idempotency": idempotency.InsertSQL,
	}
}
