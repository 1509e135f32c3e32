-- The changes of a payment lie in its row, which every change writes anyway: changes has 'version n trigger from to exception'
-- of each, oldest first, and changed_at their times. The view history shows them with those that a payment had before, and
-- takes the rows that pods of the release before this one write.

-- +goose Up
ALTER TABLE payments ADD COLUMN changes text[] NOT NULL DEFAULT '{}', ADD COLUMN changed_at timestamptz[] NOT NULL DEFAULT '{}';

-- unused since: this file, whose view of the old name reads and writes the same rows
ALTER TABLE history RENAME TO history_rows;
CREATE VIEW history AS
    SELECT payment_id, version, n, trigger, from_state, to_state, exception, at FROM history_rows
    UNION ALL
    SELECT p.id, split_part(c.change, ' ', 1)::bigint, split_part(c.change, ' ', 2)::smallint, split_part(c.change, ' ', 3),
        split_part(c.change, ' ', 4), split_part(c.change, ' ', 5), split_part(c.change, ' ', 6), c.at
    FROM payments p, unnest(p.changes, p.changed_at) AS c(change, at);
ALTER VIEW history ALTER COLUMN at SET DEFAULT now();
-- +goose StatementBegin
CREATE FUNCTION add_history_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO history_rows VALUES (NEW.payment_id, NEW.version, NEW.n, NEW.trigger, NEW.from_state, NEW.to_state, NEW.exception, NEW.at);
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER history_rows_added INSTEAD OF INSERT ON history FOR EACH ROW EXECUTE FUNCTION add_history_row();

-- +goose StatementBegin
CREATE FUNCTION refuse_other_past() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the changes of a payment are append-only';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER payments_changes_append_only BEFORE UPDATE ON payments FOR EACH ROW
    WHEN (NEW.changes[1:cardinality(OLD.changes)] IS DISTINCT FROM OLD.changes OR NEW.changed_at[1:cardinality(OLD.changed_at)] IS DISTINCT FROM OLD.changed_at
        OR cardinality(NEW.changes) <> cardinality(NEW.changed_at))
    EXECUTE FUNCTION refuse_other_past();
