-- +goose Up

-- The progress of an operator's cancellation of an approved refund, '' without one.
ALTER TABLE refunds ADD COLUMN cancelled text NOT NULL DEFAULT '' CHECK (cancelled IN ('', 'requested', 'too_late'));
