-- +goose Up
-- Whether the first attempt of the sequence before is over is found by that event's id (delivery_event_target).
DROP INDEX delivery_order;
