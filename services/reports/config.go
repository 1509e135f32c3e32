package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
)

// settings are what every role needs.
type settings struct {
	Sealing
	EventKeys config.Secret `env:"EVENT_KEYS" doc:"comma separated id:base64(32 bytes), shared with callback-dispatcher, which gets a new key first; the first seals the bodies of events on their way to it. Empty: bodies are in the clear"`
	Postgres  postgres.Config
	Telemetry telemetry.Config
	OpsAddr   string        `env:"OPS_ADDR" envDefault:":9090" doc:"address of /healthz, /readyz, /metrics and /debug/pprof; keep it private"`
	Drain     time.Duration `env:"DRAIN" envDefault:"20s" doc:"longest time of a stop"`
	Merchants int64         `env:"FRAUD_MERCHANTS" envDefault:"3" doc:"number of merchants with a resolved fraud report against an address from which on the address waits for an operator's confirmation; only a confirmed address blocks payments (docs/runbooks/payments-operations.md)"`
	Recovery  bool          `env:"RECOVERY" envDefault:"false" doc:"true after a restore of the database: skips record ids that may have been shown (docs/runbooks/reports-restore.md)"`
}

// Sealing holds the settings that seal people's data.
type Sealing struct {
	MasterKeys config.Secret `env:"MASTER_KEYS" doc:"comma separated id:base64(32 bytes); the first seals personal data of reports, all open it"`
	Seal       bool          `env:"SEAL_PERSONAL" envDefault:"false" doc:"true seals personal data of new reports, which needs MASTER_KEYS; turn it on once every process is of a release that supports it (docs/deploy.md)"`
}

// keys reads the master keys.
func (s Sealing) keys() (keyring.Optional, error) {
	keys, err := keyring.ParseOptional(s.MasterKeys.Reveal())
	switch {
	case err != nil:
		return keys, fmt.Errorf("MASTER_KEYS: %w", err)
	case s.Seal && keys.Ring() == nil:
		return keys, errors.New("SEAL_PERSONAL is on and MASTER_KEYS is missing")
	}
	return keys, nil
}

// Erasing holds the settings that keep reports from erasure.
type Erasing struct {
	Laundering time.Duration `env:"AML_RETENTION" envDefault:"43824h" doc:"time for which the law against money laundering requires a live report after its last change: five years by default; at least 1680h, for which other services hold copies. The erasure of a younger report waits for that time (docs/runbooks/personal-data.md)"`
}

// serveSettings are those of the role serve.
type serveSettings struct {
	HTTPAddr     string `env:"HTTP_ADDR" envDefault:":8080" doc:"address of the API, for the gateway alone"`
	Identity     httpkit.IdentitySettings
	PublicModes  []string  `env:"REPORTS_PUBLIC_MODES" envDefault:"live" doc:"comma separated modes whose reports the public may look up: live, test"`
	MarkedSince  time.Time `env:"GIFTS_MARKED_SINCE" doc:"a time such as 2026-12-22T22:00:00Z from which on every claimable gift is marked (MARK_GIFTS of payments). An earlier report shows its reference only to the merchant who filed it. Empty: gifts were always marked, as in a new installation; for an upgraded one see docs/deploy.md"`
	LookupRate   int       `env:"LOOKUP_RATE" envDefault:"5" doc:"look-ups of one phone or wallet a second, each process for itself; 0 is no limit"`
	LookupBurst  int       `env:"LOOKUP_BURST" envDefault:"50" doc:"look-ups of one phone or wallet at once"`
	Guesses      int       `env:"GUESSES_PER_MINUTE" envDefault:"30" doc:"unknown report ids that one address may ask for a minute, each process for itself; 0 is no limit"`
	SkipLoopback bool      `env:"LIMITS_SKIP_LOOPBACK" envDefault:"false" doc:"guesses from this machine do not count; for make run, make up and compose"`
	FloodPerHour int64     `env:"FLOOD_PER_HOUR" envDefault:"1000" doc:"reports that one key may file on one wallet address in an hour; 0 is no limit"`
}

// modes reads REPORTS_PUBLIC_MODES.
func (s serveSettings) modes() ([]tenant.Mode, error) {
	var modes []tenant.Mode
	for _, m := range tenant.Modes() {
		if slices.Contains(s.PublicModes, string(m)) {
			modes = append(modes, m)
		}
	}
	for _, word := range s.PublicModes {
		if !slices.Contains(tenant.Modes(), tenant.Mode(word)) {
			return nil, fmt.Errorf("REPORTS_PUBLIC_MODES: %q is no mode; known: live, test", word)
		}
	}
	return modes, nil
}

// workSettings are those of the role work.
type workSettings struct {
	Erasing
	Bus bus.Config
}
