-- What operators see of the networks, and the rescans that they order.

-- +goose Up

-- The newest block that the node of a scan has reported; 0 before the first.
ALTER TABLE cursors ADD COLUMN head bigint NOT NULL DEFAULT 0;
ALTER TABLE cursors ADD COLUMN head_time timestamptz;

-- What a worker thinks of the RPC endpoints of a host, which it writes every few seconds. An outcome is that of
-- wallets_rpc_answers_total.
CREATE TABLE endpoint_states (
    worker      text        NOT NULL,
    network     text        NOT NULL,
    host        text        NOT NULL,
    healthy     boolean     NOT NULL,
    outcome     text        NOT NULL,
    head        bigint      NOT NULL,
    answered_at timestamptz,
    failed_at   timestamptz,
    told_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (network, host, worker)
);

-- Blocks that an operator has scanned again. A worker takes the row for a few minutes and goes on at next_height, so that
-- another one continues after its end.
CREATE TABLE rescans (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mode        text        NOT NULL CHECK (mode IN ('live', 'test')),
    network     text        NOT NULL,
    from_height bigint      NOT NULL CHECK (from_height >= 0),
    to_height   bigint      NOT NULL CHECK (to_height >= from_height),
    next_height bigint      NOT NULL,
    operator    text        NOT NULL,
    reason      text        NOT NULL,
    ordered_at  timestamptz NOT NULL DEFAULT now(),
    worker      text        NOT NULL DEFAULT '',
    taken_until timestamptz NOT NULL DEFAULT '-infinity',
    failures    integer     NOT NULL DEFAULT 0, -- in a row
    problem     text        NOT NULL DEFAULT '',
    blocks      bigint      NOT NULL DEFAULT 0,
    found       bigint      NOT NULL DEFAULT 0,
    repeated    bigint      NOT NULL DEFAULT 0,
    ended_at    timestamptz
);
CREATE UNIQUE INDEX rescans_one_open ON rescans (mode, network) WHERE ended_at IS NULL;
CREATE INDEX rescans_newest ON rescans (mode, network, id DESC);
