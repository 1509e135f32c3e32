-- dispatcher_claim as it was (00019), but for the last statement, which finds its rows by their ids. Where delivery was
-- empty when its rows were counted, the join read the whole index for a few of them.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION dispatcher_claim(owner text, full_targets text[], lanes_max bigint, per_target bigint, rows_max bigint)
    RETURNS SETOF text LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    targets text[];
    probes  boolean[];
BEGIN
    SELECT array_agg(x.target), array_agg(x.probe) INTO targets, probes FROM (
        SELECT l.target, l.probe_at IS NOT NULL AS probe FROM lane l
        WHERE l.ready_at <= now() AND l.ready_at < 'infinity' AND l.target <> ALL(full_targets)
        ORDER BY l.ready_at LIMIT lanes_max FOR UPDATE SKIP LOCKED) x;
    IF targets IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY WITH c AS MATERIALIZED (
        SELECT p.target, p.probe, d.id, d.next_at, row_number() OVER (PARTITION BY p.target ORDER BY d.next_at) AS place
        FROM unnest(targets, probes) AS p(target, probe) CROSS JOIN LATERAL (
            SELECT x.id, x.next_at FROM delivery x WHERE x.target = p.target AND x.state = 'due'
            ORDER BY x.next_at LIMIT per_target + 1 FOR UPDATE SKIP LOCKED) d
    ), k AS MATERIALIZED (
        SELECT c.id, c.target FROM c WHERE c.next_at <= now() AND c.place <= CASE WHEN c.probe THEN 1 ELSE per_target END
        ORDER BY c.place, c.next_at LIMIT rows_max
    ), b AS MATERIALIZED (
        SELECT t.target, d.id, d.next_at FROM unnest(targets) AS t(target) LEFT JOIN LATERAL (
            SELECT x.id, x.next_at FROM delivery x WHERE x.target = t.target AND x.state = 'due'
            ORDER BY x.next_at LIMIT per_target + 1) d ON true
    ), rest AS (
        SELECT b.target, coalesce(min(b.next_at) FILTER (WHERE k.id IS NULL), 'infinity') AS due_at,
            b.target IN (SELECT k.target FROM k) AS took
        FROM b LEFT JOIN k ON k.id = b.id GROUP BY b.target
    ), l AS (
        UPDATE lane SET due_at = rest.due_at, used_at = now(),
            probe_at = CASE WHEN lane.probe_at IS NOT NULL AND rest.took THEN now() + lane.probe_wait ELSE lane.probe_at END,
            probe_wait = CASE WHEN lane.probe_at IS NOT NULL AND rest.took THEN least(2 * lane.probe_wait, interval '45 seconds')
                ELSE lane.probe_wait END
        FROM rest WHERE lane.target = rest.target
    )
    UPDATE delivery d SET state = 'leased', waits = false, lease_owner = owner, lease_until = now() + interval '5 minutes'
    WHERE d.id = ANY(ARRAY(SELECT k.id FROM k)) RETURNING d.id;
END
$$;
-- +goose StatementEnd
