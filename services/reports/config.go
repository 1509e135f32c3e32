package main

import (
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
)

// settings are what every role needs.
type settings struct {
	Postgres  postgres.Config
	Telemetry telemetry.Config
	OpsAddr   string        `env:"OPS_ADDR" envDefault:":9090" doc:"address of /healthz, /readyz and /metrics"`
	Drain     time.Duration `env:"DRAIN" envDefault:"20s" doc:"how long a stop may take"`
}

// serveSettings are those of the role serve.
type serveSettings struct {
	HTTPAddr     string        `env:"HTTP_ADDR" envDefault:":8080" doc:"address of the API, for the gateway alone"`
	IdentityKeys config.Secret `env:"IDENTITY_KEYS,required" doc:"comma separated base64 keys of 32 bytes that verify the gateway's identity header"`
}

// workSettings are those of the role work.
type workSettings struct {
	Bus bus.Config
}

// migrateSettings are those of the verb migrate.
type migrateSettings struct {
	OwnerURL config.Secret `env:"DATABASE_OWNER_URL,required" doc:"PostgreSQL URL of the database in the role that owns the schema"`
}
