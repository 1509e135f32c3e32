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
	EventKeys config.Secret `env:"EVENT_KEYS" doc:"comma separated id:base64(32 bytes), shared with callback-dispatcher, which has them first; the first seals the bodies of events on their way to it. Empty: they are in the clear"`
	Postgres  postgres.Config
	Telemetry telemetry.Config
	OpsAddr   string        `env:"OPS_ADDR" envDefault:":9090" doc:"address of /healthz, /readyz, /metrics and /debug/pprof; keep it private"`
	Drain     time.Duration `env:"DRAIN" envDefault:"20s" doc:"how long a stop may take"`
	Merchants int64         `env:"FRAUD_MERCHANTS" envDefault:"3" doc:"from so many merchants with a resolved fraud report against an address on, the address waits for an operator's word; only then does it block payments (docs/runbooks/payments-operations.md)"`
	Recovery  bool          `env:"RECOVERY" envDefault:"false" doc:"true after a restore of the database: record ids that may have been shown are passed over (docs/runbooks/reports-restore.md)"`
}

// Sealing holds the settings that seal people's data.
type Sealing struct {
	MasterKeys config.Secret `env:"MASTER_KEYS" doc:"comma separated id:base64(32 bytes); the first seals who files reports, all open it"`
	Seal       bool          `env:"SEAL_PERSONAL" envDefault:"false" doc:"true seals the people of new reports, which needs MASTER_KEYS; turn it on once every process is of a release that knows it (docs/deploy.md)"`
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
	Laundering time.Duration `env:"AML_RETENTION" envDefault:"43824h" doc:"how long the law against money laundering has a live report kept after its last change: five years by default, 1680h at least, for which other services hold copies. Erasure of a younger one waits, and happens when its time has come (docs/runbooks/personal-data.md)"`
}

// serveSettings are those of the role serve.
type serveSettings struct {
	HTTPAddr     string `env:"HTTP_ADDR" envDefault:":8080" doc:"address of the API, for the gateway alone"`
	Identity     httpkit.IdentitySettings
	PublicModes  []string  `env:"REPORTS_PUBLIC_MODES" envDefault:"live" doc:"comma separated modes whose reports the public may look up: live, test"`
	MarkedSince  time.Time `env:"GIFTS_MARKED_SINCE" doc:"a time as 2026-12-22T22:00:00Z: every gift that can be claimed since then is marked (MARK_GIFTS of payments). A report from before shows its reference to the merchant who filed it alone. Empty: gifts were always marked, as in a new installation; for an upgraded one see docs/deploy.md"`
	LookupRate   int       `env:"LOOKUP_RATE" envDefault:"5" doc:"look-ups of one phone or wallet a second, each process for itself; 0 is no limit"`
	LookupBurst  int       `env:"LOOKUP_BURST" envDefault:"50" doc:"look-ups of one phone or wallet at once"`
	Guesses      int       `env:"GUESSES_PER_MINUTE" envDefault:"30" doc:"report ids that one address may ask for in vain a minute, each process for itself; 0 is no limit"`
	SkipLoopback bool      `env:"LIMITS_SKIP_LOOPBACK" envDefault:"false" doc:"guesses from this machine itself are not counted; for make run, make up and compose"`
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
