-- Payments that have ended leave the hot tables, with every row of theirs (docs/decisions/0036-archive.md). archived_payments
-- inherits from payments: whatever reads payments reads both, and ONLY payments are those that may change. kept has the rows
-- of the other tables, and names what those rows were found by. Nothing is removed of a payment that is not there. The
-- application writes archives, archived_payments and what is carried by the functions alone that run as the owner.

-- +goose Up
CREATE TABLE archives (
    id          text        PRIMARY KEY, -- the month and a number: 2026-01.1
    month       date        NOT NULL,
    manifest    bytea       NOT NULL,    -- SHA-256 of the file
    payments    bigint      NOT NULL,    -- in the files
    made_at     timestamptz NOT NULL DEFAULT now(),
    verified_at timestamptz,             -- when the files were read back
    moved_at    timestamptz              -- when the last payment of it was moved or passed over
);

-- The payments of an archive that are still to be moved, with the digest of their rows as the files have them.
CREATE TABLE archive_members (
    archive    text  NOT NULL REFERENCES archives DEFERRABLE INITIALLY DEFERRED, -- the archive is kept last
    payment_id text  NOT NULL,
    digest     bytea NOT NULL,
    PRIMARY KEY (archive, payment_id)
);

CREATE TABLE archived_payments (
    LIKE payments INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES,
    archive     text        NOT NULL REFERENCES archives,
    archived_at timestamptz NOT NULL DEFAULT now(),
    names       text[]      NOT NULL,
    kept        jsonb       NOT NULL,
    CONSTRAINT archived_payments_ended CHECK (status IN ('settled', 'refunded', 'expired', 'cancelled')),
    CONSTRAINT archived_payments_quiet CHECK (due_at IS NULL)
);
ALTER TABLE archived_payments INHERIT payments;
CREATE INDEX archived_payments_names ON archived_payments USING gin (names) WITH (fastupdate = off);
CREATE INDEX archived_payments_archive ON archived_payments (archive, id);

-- What the archived journals moved, by account. since is the time of the first of them. Accounts of one payment have no
-- row: an archived payment left nothing on them.
CREATE TABLE ledger_carried (
    account text        PRIMARY KEY,
    asset   text        NOT NULL,
    debit   numeric     NOT NULL CHECK (debit >= 0 AND debit <> 'NaN'),
    credit  numeric     NOT NULL CHECK (credit >= 0 AND credit <> 'NaN'),
    since   timestamptz NOT NULL
);
-- How many journals are archived of each closed day, which is the day of the first close that has them and not that of
-- their time. An export that reads such a day would not be whole.
CREATE TABLE archived_journals (
    day      date   PRIMARY KEY,
    journals bigint NOT NULL CHECK (journals >= 0)
);

-- A person is sealed again under another master key by an update of kept.
-- +goose StatementBegin
DO $$
DECLARE
    app text;
BEGIN
    FOR app IN SELECT DISTINCT grantee FROM information_schema.role_table_grants
        WHERE table_schema = 'public' AND table_name = 'archived_payments' AND privilege_type = 'UPDATE' AND grantee NOT IN ('PUBLIC', current_user) LOOP
        -- unused since: this file, which makes these tables
        EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON archives, archived_payments, archived_journals, ledger_carried FROM %I', app);
        EXECUTE format('GRANT UPDATE (kept) ON archived_payments TO %I', app);
    END LOOP;
END
$$;
-- +goose StatementEnd

CREATE OR REPLACE VIEW ledger_entries AS
    SELECT journal_id, line, account, asset, side, amount FROM ledger_lines
    UNION ALL
    SELECT j.id, e.line::smallint, e.account, e.asset, CASE WHEN e.amount > 0 THEN 'debit' ELSE 'credit' END, abs(e.amount)
    FROM ledger_journals j, unnest(j.accounts, j.assets, j.amounts) WITH ORDINALITY AS e(account, asset, amount, line)
    UNION ALL
    SELECT 0::bigint, 1::smallint, account, asset, 'debit', debit FROM ledger_carried WHERE debit > 0
    UNION ALL
    SELECT 0::bigint, 2::smallint, account, asset, 'credit', credit FROM ledger_carried WHERE credit > 0;

-- The entries of a payment's journals.
-- +goose StatementBegin
CREATE FUNCTION payment_entries(payment text) RETURNS TABLE (journal bigint, event text, at timestamptz, account text, asset text, amount numeric)
LANGUAGE sql STABLE AS $$
    SELECT j.id, j.event, j.created_at, l.account, l.asset, CASE l.side WHEN 'debit' THEN l.amount ELSE -l.amount END
    FROM ledger_journals j JOIN ledger_lines l ON l.journal_id = j.id WHERE j.payment_id = payment AND j.accounts IS NULL
    UNION ALL
    SELECT j.id, j.event, j.created_at, e.account, e.asset, e.amount
    FROM ledger_journals j, unnest(j.accounts, j.assets, j.amounts) AS e(account, asset, amount) WHERE j.payment_id = payment
$$;
-- +goose StatementEnd

-- The rows of a payment in other tables. A column that is null is kept too: one that is missing was added later. The plan
-- is kept for the next payment, which a function of SQL would not do.
-- +goose StatementBegin
CREATE FUNCTION payment_kept(payment text) RETURNS jsonb LANGUAGE plpgsql STABLE SET timezone = 'UTC' AS $$
BEGIN
    RETURN jsonb_build_object(
        'deposits', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.key) FROM deposits t WHERE t.payment_id = payment), '[]'),
        'payouts', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM payouts t WHERE t.payment_id = payment), '[]'),
        'screenings', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM screenings t WHERE t.payment_id = payment), '[]'),
        'history_rows', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.version, t.n) FROM history_rows t WHERE t.payment_id = payment), '[]'),
        'ledger_accounts', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.code) FROM ledger_accounts t
            WHERE t.code = ANY (ARRAY(SELECT e.account FROM payment_entries(payment) e)) AND t.payment_id = payment), '[]'),
        'ledger_journals', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM ledger_journals t WHERE t.payment_id = payment), '[]'),
        'ledger_lines', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.journal_id, t.line) FROM ledger_journals j JOIN ledger_lines t ON t.journal_id = j.id
            WHERE j.payment_id = payment), '[]'));
END
$$;
-- +goose StatementEnd

-- Rows that were kept, with the columns that their table has got since: these have the table's defaults. base is a null of
-- the table's type.
-- +goose StatementBegin
CREATE FUNCTION kept_rows(base anyelement, rows jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    columns  text;
    defaults jsonb;
BEGIN
    IF NOT EXISTS (SELECT FROM jsonb_object_keys(to_jsonb(jsonb_populate_record(base, rows -> 0))) AS k(name) WHERE NOT rows -> 0 ? k.name) THEN
        RETURN rows; -- as good as always: a GET does not read the catalogue
    END IF;
    SELECT string_agg(format('%L, %s', a.attname, pg_get_expr(d.adbin, d.adrelid)), ', ') INTO columns
    FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = pg_typeof(base)::text::regclass AND NOT a.attisdropped AND a.attgenerated = '' AND NOT rows -> 0 ? a.attname::text;
    IF columns IS NULL THEN
        RETURN rows;
    END IF;
    EXECUTE format('SELECT jsonb_build_object(%s)', columns) INTO defaults;
    RETURN (SELECT jsonb_agg(defaults || r.value ORDER BY r.ordinality) FROM jsonb_array_elements(rows) WITH ORDINALITY AS r);
END
$$;
-- +goose StatementEnd

-- All rows that were kept, with exactly the columns that their tables have today.
-- +goose StatementBegin
CREATE FUNCTION kept_again(kept jsonb) RETURNS jsonb LANGUAGE sql STABLE SET timezone = 'UTC' AS $$
    SELECT jsonb_build_object(
        'deposits', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.key)
            FROM jsonb_populate_recordset(NULL::deposits, kept_rows(NULL::deposits, kept -> 'deposits')) t), '[]'),
        'payouts', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id)
            FROM jsonb_populate_recordset(NULL::payouts, kept_rows(NULL::payouts, kept -> 'payouts')) t), '[]'),
        'screenings', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id)
            FROM jsonb_populate_recordset(NULL::screenings, kept_rows(NULL::screenings, kept -> 'screenings')) t), '[]'),
        'history_rows', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.version, t.n)
            FROM jsonb_populate_recordset(NULL::history_rows, kept_rows(NULL::history_rows, kept -> 'history_rows')) t), '[]'),
        'ledger_accounts', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.code)
            FROM jsonb_populate_recordset(NULL::ledger_accounts, kept_rows(NULL::ledger_accounts, kept -> 'ledger_accounts')) t), '[]'),
        'ledger_journals', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id)
            FROM jsonb_populate_recordset(NULL::ledger_journals, kept_rows(NULL::ledger_journals, kept -> 'ledger_journals')) t), '[]'),
        'ledger_lines', coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY t.journal_id, t.line)
            FROM jsonb_populate_recordset(NULL::ledger_lines, kept_rows(NULL::ledger_lines, kept -> 'ledger_lines')) t), '[]'))
$$;
-- +goose StatementEnd

-- The entries of journals that were kept.
-- +goose StatementBegin
CREATE FUNCTION kept_entries(kept jsonb) RETURNS TABLE (at timestamptz, account text, asset text, amount numeric) LANGUAGE sql STABLE AS $$
    SELECT j.created_at, l.account, l.asset, CASE l.side WHEN 'debit' THEN l.amount ELSE -l.amount END
    FROM jsonb_populate_recordset(NULL::ledger_journals, kept -> 'ledger_journals') j
    JOIN jsonb_populate_recordset(NULL::ledger_lines, kept -> 'ledger_lines') l ON l.journal_id = j.id WHERE j.accounts IS NULL
    UNION ALL
    SELECT j.created_at, e.account, e.asset, e.amount
    FROM jsonb_populate_recordset(NULL::ledger_journals, kept -> 'ledger_journals') j, unnest(j.accounts, j.assets, j.amounts) AS e(account, asset, amount)
$$;
-- +goose StatementEnd

-- The digest of every row of a payment that may change.
-- +goose StatementBegin
CREATE FUNCTION payment_digest(payment text) RETURNS bytea LANGUAGE plpgsql STABLE SET timezone = 'UTC' AS $$
BEGIN
    RETURN (
    SELECT sha256(convert_to(to_jsonb(p)::text || payment_kept(payment)::text, 'UTF8')) FROM ONLY payments p WHERE p.id = payment);
END
$$;
-- +goose StatementEnd

-- Why a payment is not archived; '' where nothing of it waits. It has not changed since before, and the books of its
-- journals are closed up to last_journal. The order of the reasons is the one in which they are reported.
-- +goose StatementBegin
CREATE FUNCTION archive_wait(payment text, before timestamptz, last_journal bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
    SELECT CASE
        WHEN EXISTS (SELECT FROM archived_payments a WHERE a.id = p.id) THEN 'twice'
        WHEN p.type = 'stray' THEN 'stray'
        WHEN p.status NOT IN ('settled', 'refunded', 'expired', 'cancelled') OR p.due_at IS NOT NULL OR p.hold <> '' OR p.version < 2 THEN 'open'
        WHEN greatest(p.created_at, p.changed_at[cardinality(p.changed_at)], p.settled_at, p.refund_address_from,
            (SELECT max(h.at) FROM history_rows h WHERE h.payment_id = p.id)) >= before THEN 'recent'
        WHEN EXISTS (SELECT FROM payouts o WHERE o.payment_id = p.id AND (o.state NOT IN ('succeeded', 'failed', 'returned', 'withdrawn')
            OR o.next_at IS NOT NULL OR o.frozen OR o.stopped OR o.contradicted OR o.done_at >= before)) THEN 'payout'
        WHEN EXISTS (SELECT FROM refunds r WHERE r.payment_id = p.id AND (r.state NOT IN ('confirmed', 'failed') OR r.ended_at >= before)) THEN 'refund'
        WHEN p.unclaimed <> 0 OR EXISTS (SELECT FROM unclaimed u WHERE u.mode = p.mode AND u.payment_id = p.id AND u.returned_at IS NULL) THEN 'unclaimed'
        WHEN EXISTS (SELECT FROM deposits d WHERE d.payment_id = p.id
            AND (d.mode <> p.mode OR d.created_at >= before OR NOT d.finalized AND NOT d.reverted AND d.first_seen_at >= before)) THEN 'deposit'
        WHEN p.screening NOT IN ('', 'clear', 'earlier') OR EXISTS (SELECT FROM deposits d WHERE d.payment_id = p.id AND NOT d.reverted AND d.screening = '')
            OR EXISTS (SELECT FROM screenings s WHERE s.payment_id = p.id AND (s.verdict <> 'clear' OR s.at >= before)) THEN 'screening'
        WHEN EXISTS (SELECT FROM approvals a WHERE a.payment_id = p.id) THEN 'approval'
        WHEN EXISTS (SELECT FROM payment_entries(p.id) e WHERE e.account ~ '^(test:)?(customer|payable|suspense|unclaimed|clearing):'
            GROUP BY e.account, e.asset HAVING sum(e.amount) <> 0)
            OR EXISTS (SELECT FROM ledger_accounts a WHERE a.code = ANY (ARRAY(SELECT e.account FROM payment_entries(p.id) e))
                AND a.payment_id = p.id AND a.balance IS DISTINCT FROM 0) THEN 'money'
        WHEN EXISTS (SELECT FROM ledger_journals j WHERE j.payment_id = p.id AND (j.id > last_journal OR j.created_at >= before)) THEN 'books'
        WHEN EXISTS (
            SELECT FROM (
                SELECT CASE d.mode WHEN 'test' THEN 'test:' ELSE '' END || 'crypto:deposit:' || d.network || ':' || d.asset AS account, -d.booked_amount AS amount
                FROM deposits d WHERE d.payment_id = p.id AND d.booked <> ''
                UNION ALL
                SELECT e.account, e.amount FROM payment_entries(p.id) e
                WHERE e.event IN ('deposit_confirmed', 'deposit_reverted') AND e.account LIKE '%crypto:deposit:%') AS moved
            GROUP BY account HAVING sum(amount) <> 0) THEN 'difference'
        ELSE '' END
    FROM ONLY payments p WHERE p.id = payment);
END
$$;
-- +goose StatementEnd

-- Adds what the journals of archived payments moved to the carried balances, or takes it out of them. It is called once in
-- a transaction, which then locks accounts by code and days in their order: two transactions do not wait for each other.
-- +goose StatementBegin
CREATE FUNCTION carry(payments text[], sign integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ledger_carried AS c (account, asset, debit, credit, since)
    SELECT e.account, e.asset, coalesce(sum(e.amount) FILTER (WHERE e.amount > 0), 0), coalesce(-sum(e.amount) FILTER (WHERE e.amount < 0), 0), min(e.at)
    FROM archived_payments p, kept_entries(p.kept) e
    WHERE p.id = ANY (payments) AND e.account !~ '^(test:)?(customer|payable):' GROUP BY e.account, e.asset ORDER BY e.account
    ON CONFLICT (account) DO UPDATE SET debit = c.debit + sign * excluded.debit, credit = c.credit + sign * excluded.credit, since = least(c.since, excluded.since);
    INSERT INTO archived_journals AS a (day, journals)
    SELECT (SELECT min(c.day) FROM ledger_closes c WHERE c.last_journal >= j.id), count(*)
    FROM archived_payments p, jsonb_populate_recordset(NULL::ledger_journals, p.kept -> 'ledger_journals') j
    WHERE p.id = ANY (payments) GROUP BY 1 ORDER BY 1
    ON CONFLICT (day) DO UPDATE SET journals = a.journals + sign * excluded.journals;
END
$$;
-- +goose StatementEnd

-- Moves a payment whose rows are as the files of its archive have them, and says why not otherwise. The caller carries
-- what its journals moved.
-- +goose StatementBegin
CREATE FUNCTION archive_payment(payment text, into_archive text, before timestamptz, last_journal bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    cols text;
    rows jsonb;
    why  text;
    seen bytea;
BEGIN
    IF NOT EXISTS (SELECT FROM archives WHERE id = into_archive AND verified_at IS NOT NULL) THEN
        RAISE EXCEPTION 'archive % is not verified', into_archive;
    END IF;
    PERFORM FROM ONLY payments p WHERE p.id = payment FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 'busy';
    END IF;
    PERFORM FROM payouts o WHERE o.payment_id = payment ORDER BY o.id FOR UPDATE; -- a webhook of a rail locks no payment
    why := archive_wait(payment, before, last_journal);
    IF why <> '' THEN
        RETURN why;
    END IF;
    SELECT digest INTO seen FROM archive_members m WHERE m.archive = into_archive AND m.payment_id = payment;
    IF seen IS NULL OR payment_digest(payment) <> seen THEN
        RETURN 'changed';
    END IF;
    rows := payment_kept(payment);
    IF kept_again(rows)::text <> rows::text THEN
        RAISE EXCEPTION 'the rows of % cannot be made again from what would be kept', payment;
    END IF;
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO cols FROM pg_attribute
    WHERE attrelid = 'payments'::regclass AND attnum > 0 AND NOT attisdropped;
    EXECUTE format('INSERT INTO archived_payments (%1$s, archive, names, kept) SELECT %1$s, $2, $3, $4 FROM ONLY payments WHERE id = $1', cols)
    USING payment, into_archive, ARRAY(
        SELECT 'tx:' || d.tx_hash FROM deposits d WHERE d.payment_id = payment
        UNION SELECT 'deposit:' || d.mode || ':' || d.key FROM deposits d WHERE d.payment_id = payment
        UNION SELECT 'payout:' || o.id FROM payouts o WHERE o.payment_id = payment
        UNION SELECT 'payout:' || o.reference FROM payouts o WHERE o.payment_id = payment
        UNION SELECT 'journal:' || j.id FROM ledger_journals j WHERE j.payment_id = payment AND j.accounts IS NULL), rows;
    DELETE FROM ledger_lines l USING ledger_journals j WHERE j.payment_id = payment AND l.journal_id = j.id;
    DELETE FROM ledger_accounts a WHERE a.payment_id = payment AND a.code = ANY (ARRAY(SELECT x ->> 'code' FROM jsonb_array_elements(rows -> 'ledger_accounts') x));
    DELETE FROM ledger_journals j WHERE j.payment_id = payment;
    DELETE FROM screenings s WHERE s.payment_id = payment;
    DELETE FROM deposits d WHERE d.payment_id = payment;
    DELETE FROM payouts o WHERE o.payment_id = payment;
    DELETE FROM history_rows h WHERE h.payment_id = payment;
    DELETE FROM ONLY payments p WHERE p.id = payment;
    DELETE FROM archive_members m WHERE m.archive = into_archive AND m.payment_id = payment;
    RETURN '';
END
$$;
-- +goose StatementEnd

-- Moves the next payments of an archive, in the order of their ids, and says why one stays.
-- +goose StatementBegin
CREATE FUNCTION archive_payments(of_archive text, after text, before timestamptz, last_journal bigint, most integer)
RETURNS TABLE (payment text, why text) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    moved text[] := '{}';
BEGIN
    FOR payment IN SELECT m.payment_id FROM archive_members m WHERE m.archive = of_archive AND m.payment_id > after ORDER BY m.payment_id LIMIT most LOOP
        why := archive_payment(payment, of_archive, before, last_journal);
        IF why = '' THEN
            moved := moved || payment;
        END IF;
        RETURN NEXT;
    END LOOP;
    PERFORM carry(moved, 1);
END
$$;
-- +goose StatementEnd

-- Keeps an archive whose files are written.
-- +goose StatementBegin
CREATE FUNCTION keep_archive(archive text, of_month date, digest bytea, many bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO archives (id, month, manifest, payments) VALUES (archive, of_month, digest, many)
$$;
-- +goose StatementEnd

-- Notes that the files of an archive were read back, and reports whether the archive has this manifest.
-- +goose StatementBegin
CREATE FUNCTION confirm_archive(archive text, digest bytea) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH confirmed AS (UPDATE archives SET verified_at = now() WHERE id = archive AND manifest = digest RETURNING id)
    SELECT EXISTS (SELECT FROM confirmed)
$$;
-- +goose StatementEnd

-- Notes that the last payment of an archive was moved or passed over, and reports whether it was open.
-- +goose StatementBegin
CREATE FUNCTION end_archive(archive text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH ended AS (UPDATE archives SET moved_at = now() WHERE id = archive AND verified_at IS NOT NULL AND moved_at IS NULL RETURNING id),
        dropped AS (DELETE FROM archive_members m USING ended e WHERE m.archive = e.id)
    SELECT EXISTS (SELECT FROM ended)
$$;
-- +goose StatementEnd

-- Inserts rows with the columns that the table has today.
-- +goose StatementBegin
CREATE FUNCTION insert_kept(into_table regclass, rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    cols text;
BEGIN
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO cols FROM pg_attribute
    WHERE attrelid = into_table AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
    EXECUTE format('INSERT INTO %2$s (%1$s) OVERRIDING SYSTEM VALUE SELECT %1$s FROM jsonb_populate_recordset(NULL::%2$s, $1)', cols, into_table) USING rows;
END
$$;
-- +goose StatementEnd

-- Brings a payment back with all rows of it, and reports whether it was archived. The caller then locks it as any other.
-- Its rows are as they were kept, with the columns that their tables have today. A deposit that an earlier release took
-- in meanwhile gives way to the one that is kept; other rows that it wrote stay beside. A payment that is back already,
-- as a restore may leave it, keeps its rows if they are the same.
-- +goose StatementBegin
CREATE FUNCTION attach_payment(payment text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    cols     text;
    rows     jsonb;
    archived archived_payments;
BEGIN
    SELECT * INTO archived FROM archived_payments p WHERE p.id = payment FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    rows := kept_again(archived.kept);
    PERFORM FROM ONLY payments p WHERE p.id = payment FOR UPDATE;
    IF FOUND THEN
        IF payment_kept(payment) <> rows OR (SELECT to_jsonb(p) FROM ONLY payments p WHERE p.id = payment)
            <> to_jsonb(archived) - '{archive,archived_at,names,kept}'::text[] THEN
            RAISE EXCEPTION 'payment % is in the hot tables and in archive %, and its rows differ', payment, archived.archive;
        END IF;
        PERFORM carry(ARRAY[payment], -1);
        DELETE FROM archived_payments p WHERE p.id = payment;
        RETURN true;
    END IF;
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO cols FROM pg_attribute
    WHERE attrelid = 'payments'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
    EXECUTE format('INSERT INTO payments (%1$s) SELECT %1$s FROM archived_payments WHERE id = $1', cols) USING payment;
    DELETE FROM deposits d USING jsonb_array_elements(rows -> 'deposits') r WHERE d.payment_id = payment AND d.mode = r ->> 'mode' AND d.key = r ->> 'key';
    PERFORM insert_kept('deposits', rows -> 'deposits');
    PERFORM insert_kept('payouts', rows -> 'payouts');
    PERFORM insert_kept('screenings', rows -> 'screenings');
    PERFORM insert_kept('history_rows', rows -> 'history_rows');
    PERFORM insert_kept('ledger_accounts', rows -> 'ledger_accounts');
    PERFORM insert_kept('ledger_lines', rows -> 'ledger_lines'); -- before the journals, which must not be empty
    PERFORM insert_kept('ledger_journals', rows -> 'ledger_journals');
    PERFORM carry(ARRAY[payment], -1);
    IF NOT payment_kept(payment) @> jsonb_strip_nulls(rows) THEN
        RAISE EXCEPTION 'the rows of % are not as they were kept', payment;
    END IF;
    DELETE FROM archived_payments p WHERE p.id = payment;
    RETURN true;
END
$$;
-- +goose StatementEnd

-- Rows of the books are removed of archived payments alone.
-- +goose StatementBegin
CREATE FUNCTION refuse_loss() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    payment text;
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF TG_TABLE_NAME = 'ledger_lines' THEN
            SELECT j.payment_id INTO payment FROM ledger_journals j WHERE j.id = OLD.journal_id;
        ELSE
            payment := OLD.payment_id;
        END IF;
        IF EXISTS (SELECT FROM archived_payments p WHERE p.id = payment) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;
-- +goose StatementEnd
CREATE OR REPLACE TRIGGER history_append_only BEFORE UPDATE OR DELETE ON history_rows FOR EACH ROW EXECUTE FUNCTION refuse_loss();
CREATE OR REPLACE TRIGGER screenings_append_only BEFORE UPDATE OR DELETE ON screenings FOR EACH ROW EXECUTE FUNCTION refuse_loss();
CREATE OR REPLACE TRIGGER ledger_journals_append_only BEFORE UPDATE OR DELETE ON ledger_journals FOR EACH ROW EXECUTE FUNCTION refuse_loss();
CREATE OR REPLACE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_lines FOR EACH ROW EXECUTE FUNCTION refuse_loss();

-- An archived payment changes by no statement but those that seal persons again under another master key. It goes when it
-- is back, and attach_payment alone, which runs as the owner, removes it. A migration that changes rows which are kept
-- disables the trigger in its transaction (docs/development.md#adding).
-- +goose StatementBegin
CREATE FUNCTION refuse_archived() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    persons text[] := '{payer,payer_index,receiver,account_index,kept}';
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF current_user = (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = TG_RELID) AND EXISTS (SELECT FROM ONLY payments p WHERE p.id = OLD.id) THEN
            RETURN OLD;
        END IF;
    ELSIF to_jsonb(NEW) - persons = to_jsonb(OLD) - persons AND NEW.kept - 'payouts' = OLD.kept - 'payouts'
        AND (SELECT jsonb_agg(o - 'receiver' ORDER BY n) FROM jsonb_array_elements(NEW.kept -> 'payouts') WITH ORDINALITY AS x(o, n))
            IS NOT DISTINCT FROM (SELECT jsonb_agg(o - 'receiver' ORDER BY n) FROM jsonb_array_elements(OLD.kept -> 'payouts') WITH ORDINALITY AS x(o, n)) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'payment % is archived', OLD.id USING ERRCODE = 'check_violation', CONSTRAINT = 'payment_archived';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER archived_payments_kept BEFORE UPDATE OR DELETE ON archived_payments FOR EACH ROW EXECUTE FUNCTION refuse_archived();
CREATE TRIGGER archived_payments_never_emptied BEFORE TRUNCATE ON archived_payments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A payment that comes back was counted when it was made: a create has the version 1, and what has ended a higher one.
CREATE OR REPLACE TRIGGER payments_counted AFTER INSERT ON payments FOR EACH ROW WHEN (NEW.version = 1) EXECUTE FUNCTION count_payment();

-- So is the money of its merchant.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION keep_merchant_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM archived_payments p WHERE p.names @> ARRAY['journal:' || NEW.journal_id]) THEN
        RETURN NULL;
    END IF;
    UPDATE ledger_accounts SET balance = coalesce(balance, 0) + CASE WHEN NEW.side = normal THEN NEW.amount ELSE -NEW.amount END
    WHERE code = NEW.account;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- A journal that comes back was booked before this transaction, and marked its deposits then.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mark_refunded_deposits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.created_at < now() THEN
        RETURN NULL;
    END IF;
    UPDATE deposits SET refunded = booked_amount WHERE payment_id = NEW.payment_id AND booked <> ''
    AND NOT EXISTS (SELECT FROM deposits m WHERE m.payment_id = NEW.payment_id AND m.refunded > 0);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
