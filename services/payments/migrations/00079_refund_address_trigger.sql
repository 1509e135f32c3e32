-- While pods of an earlier release run, one of them may change the refund address of a payment. It writes no time before
-- which no refund leaves, so the table sets one.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION hold_refund_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.refund_address_from := now() + interval '24 hours';
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER payments_hold_refund_address BEFORE UPDATE OF refund_address ON payments FOR EACH ROW
    WHEN (NEW.mode = 'live' AND NEW.refund_address <> '' AND NEW.refund_address IS DISTINCT FROM OLD.refund_address
        AND NEW.refund_address_from IS NOT DISTINCT FROM OLD.refund_address_from)
    EXECUTE FUNCTION hold_refund_address();
