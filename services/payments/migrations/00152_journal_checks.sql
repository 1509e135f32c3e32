-- A journal is checked once, in the statement that writes it, and not once for each of its entries at the commit. Every
-- statement that adds entries must balance for itself, so all entries of a journal do.

-- +goose Up
DROP TRIGGER journal_balances ON ledger_journals;
DROP TRIGGER journal_balances ON ledger_entries;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION journal_balances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    journal bigint;
BEGIN
    IF TG_TABLE_NAME = 'ledger_journals' THEN
        -- A session keeps its plan while the table grows: a join that reads all of a small table would become slow.
        SELECT id INTO journal FROM added WHERE (SELECT count(*) FROM ledger_entries WHERE journal_id = id) = 0 LIMIT 1;
    ELSE
        SELECT journal_id INTO journal FROM added GROUP BY journal_id, asset
        HAVING sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) <> 0 LIMIT 1;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION 'journal % does not balance', journal USING ERRCODE = 'check_violation', CONSTRAINT = 'journal_balances';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER journal_balances AFTER INSERT ON ledger_journals REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION journal_balances();
CREATE TRIGGER journal_balances AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION journal_balances();
