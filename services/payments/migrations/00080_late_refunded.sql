-- A transaction that an operator marked as the refund of a payment returned the money that was booked by then. 00072 also
-- took money for returned that came later. That money is owed to the payer, unless a refund on a chain has taken it since.

-- +goose Up
UPDATE deposits d SET refunded = 0
FROM payments p
WHERE p.id = d.payment_id AND p.mode = d.mode AND p.status = 'refunded' AND p.refund_tx <> '' AND d.refunded > 0
AND (SELECT j.id FROM ledger_journals j WHERE j.key = d.mode || ':dep:' || d.key || '#1')
    > (SELECT max(j.id) FROM ledger_journals j WHERE j.payment_id = p.id AND j.event = 'refunded')
AND NOT EXISTS (SELECT FROM refunds r WHERE r.payment_id = p.id AND r.parts @> jsonb_build_array(jsonb_build_object('deposit', d.key)));

-- A pod of an earlier release returns all money of the payment that way, and marks no deposit. This release marks one at
-- least in the same transaction.
-- +goose StatementBegin
CREATE FUNCTION mark_refunded_deposits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE deposits SET refunded = booked_amount WHERE payment_id = NEW.payment_id AND booked <> ''
    AND NOT EXISTS (SELECT FROM deposits m WHERE m.payment_id = NEW.payment_id AND m.refunded > 0);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER ledger_journals_mark_refunded AFTER INSERT ON ledger_journals DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.event = 'refunded') EXECUTE FUNCTION mark_refunded_deposits();
