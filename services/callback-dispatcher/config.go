package main

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/attempt"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// settings are what every role needs.
type settings struct {
	Postgres   postgres.Config
	Telemetry  telemetry.Config
	AllowTest  []netip.Prefix `env:"CALLBACK_ALLOW_TEST" doc:"comma separated CIDRs that test-mode callbacks may reach besides public addresses"`
	AllowLive  []netip.Prefix `env:"CALLBACK_ALLOW_LIVE" doc:"comma separated CIDRs that live callbacks may reach, and endpoints name, besides public addresses; for test networks only"`
	Deny       []netip.Prefix `env:"CALLBACK_DENY" doc:"comma separated CIDRs that no callback may reach, such as cluster networks; the machine's own addresses are always denied"`
	EventKeys  config.Secret  `env:"EVENT_KEYS" doc:"comma separated id:base64(32 bytes) of payments, wallets and reports, which seal the bodies of events with the first of their own; the dispatcher stores them sealed and opens them to send or show them. The first seals the excerpts of endpoints' answers"`
	MasterKeys config.Secret  `env:"MASTER_KEYS,required" doc:"comma separated id:base64(32 bytes); the first seals signing secrets, all open them"`
	OpsAddr    string         `env:"OPS_ADDR" envDefault:":9090" doc:"address of /healthz, /readyz, /metrics and /debug/pprof; keep it private"`
	Drain      time.Duration  `env:"DRAIN" envDefault:"25s" doc:"longest time of a stop; running attempts get 16 s of it"`
}

// serveSettings are those of the role serve.
type serveSettings struct {
	HTTPAddr string     `env:"HTTP_ADDR" envDefault:":8080" doc:"address of the API, for the gateway alone"`
	Shard    shard.Code `env:"SHARD" envDefault:"AA" doc:"two characters at the end of the ids of new objects: the shard that this process belongs to, by which the gateway finds it. none: no code, as in names of earlier releases, while an earlier gateway or service runs, which answers 404 to a code (docs/deploy.md)"`
	Identity httpkit.IdentitySettings
}

// workSettings are those of the role work.
type workSettings struct {
	Bus          bus.Config
	ScheduleTest string          `env:"SCHEDULE_TEST" doc:"waits between test-mode attempts, such as 1s,5s; empty means the schedule of live mode"`
	ScheduleLive string          `env:"SCHEDULE_LIVE" doc:"waits between live attempts; empty means 5s,30s,2m,10m,30m,1h,2h,4h,8h,12h,20h,24h"`
	PerTarget    int             `env:"CALLBACKS_PER_TARGET" envDefault:"8" doc:"attempts under way to one target, over all processes; a healthy one gets up to 4 times as many"`
	PerHost      int             `env:"CALLBACKS_PER_HOST" envDefault:"32" doc:"attempts under way to one host and port, whatever the merchants, over all processes"`
	PerProcess   int             `env:"CALLBACKS_PER_PROCESS" envDefault:"1024" doc:"attempts under way in all, per process; replays get at most a fifth"`
	PerSuspects  int             `env:"CALLBACKS_TO_SLOW" envDefault:"256" doc:"attempts under way to slow targets, per process, one each; apart from the others"`
	BreakerAfter int             `env:"BREAKER_AFTER" envDefault:"10" doc:"failures in a row after which a target gets single probes only"`
	BreakerOf    int             `env:"BREAKER_SAMPLE" envDefault:"20" doc:"attempts at a target within 60 s, by one process, from which on the target gets single probes only if half of them failed"`
	BreakerWait  time.Duration   `env:"BREAKER_WAIT" envDefault:"30s" doc:"time to the first probe; each next one waits twice as long, at most 45s"`
	WarnAfter    []time.Duration `env:"ENDPOINT_WARN_AFTER" envDefault:"1h,24h,96h" doc:"comma separated times without a success after which the merchant gets a warning about a failing endpoint"`
	DisableAfter time.Duration   `env:"ENDPOINT_DISABLE_AFTER" envDefault:"120h" doc:"time without a success after which an endpoint is disabled, given 20 failures that span a tenth of it"`
	TokenKeys    config.Secret   `env:"SETTLEMENT_TOKEN_KEYS" doc:"comma separated id:base64(32 bytes) that open settlement tokens; payments seals with the same"`
}

// deadSettings are those of the verb dead.
type deadSettings struct {
	Postgres  postgres.Config
	Bus       bus.Config
	EventKeys config.Secret  `env:"EVENT_KEYS" doc:"as for the roles"`
	AllowTest []netip.Prefix `env:"CALLBACK_ALLOW_TEST" doc:"as for the roles"`
	AllowLive []netip.Prefix `env:"CALLBACK_ALLOW_LIVE" doc:"as for the roles"`
}

// laneQueue and heldPerSlot bound the deliveries in memory: enough to keep every slot busy, little enough that a
// backlog stays in the table.
const (
	laneQueue   = 64
	heldPerSlot = 8
)

func (w workSettings) limits() (app.Limits, error) {
	if w.PerTarget < 1 || w.PerProcess < w.PerTarget || w.PerHost < 1 || w.PerSuspects < 1 || w.BreakerAfter < 1 || w.BreakerOf < 1 ||
		w.BreakerWait <= 0 || w.BreakerWait >= app.ProbeWaitMax {
		return app.Limits{}, errors.New("CALLBACKS_* and BREAKER_* must be at least 1, CALLBACKS_PER_TARGET at most CALLBACKS_PER_PROCESS, and BREAKER_WAIT under 45s")
	}
	return app.Limits{
		PerTarget: w.PerTarget, PerHost: w.PerHost, Process: w.PerProcess, Suspect: w.PerSuspects, LaneQueue: laneQueue, Held: w.PerProcess * heldPerSlot,
	}, nil
}

func (w workSettings) breaker() app.Breaker {
	return app.Breaker{Failures: w.BreakerAfter, Sample: w.BreakerOf, Wait: w.BreakerWait}
}

// health keeps the proportions of the standard when the times are compressed.
func (w workSettings) health() (app.Health, error) {
	h := app.StandardHealth
	if len(w.WarnAfter) == 0 || w.DisableAfter <= 0 || !slices.IsSorted(w.WarnAfter) || w.WarnAfter[0] <= 0 {
		return h, errors.New("ENDPOINT_WARN_AFTER must be increasing times and ENDPOINT_DISABLE_AFTER a time")
	}
	const spanOf = 10 // 12 hours of 5 days
	h.Warn, h.Disable, h.Span = w.WarnAfter, w.DisableAfter, w.DisableAfter/spanOf
	return h, nil
}

// tokens opens settlement tokens; nil without keys.
func (w workSettings) tokens() (attempt.Opener, error) {
	if w.TokenKeys.Reveal() == "" {
		return nil, nil
	}
	ring, err := keyring.Parse(w.TokenKeys.Reveal())
	if err != nil {
		return nil, fmt.Errorf("SETTLEMENT_TOKEN_KEYS: %w", err)
	}
	return ring, nil
}

func (w workSettings) schedules() (map[tenant.Mode]delivery.Schedule, error) {
	live, err := delivery.ParseSchedule(w.ScheduleLive)
	if err != nil {
		return nil, fmt.Errorf("SCHEDULE_LIVE: %w", err)
	}
	test := live
	if w.ScheduleTest != "" {
		if test, err = delivery.ParseSchedule(w.ScheduleTest); err != nil {
			return nil, fmt.Errorf("SCHEDULE_TEST: %w", err)
		}
	}
	return map[tenant.Mode]delivery.Schedule{tenant.Live: live, tenant.Test: test}, nil
}

// policies adds the machine's own addresses to the denied ones: a callback must not come back to us by a public door.
func (w settings) policies() (map[tenant.Mode]guard.Policy, error) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the machine's own addresses: %w", err)
	}
	deny := w.Deny
	for _, a := range own {
		if ip, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(ip.IP); ok {
				addr = addr.Unmap()
				deny = append(deny, netip.PrefixFrom(addr, addr.BitLen()))
			}
		}
	}
	return map[tenant.Mode]guard.Policy{
		tenant.Live: {Allow: w.AllowLive, Deny: deny},
		tenant.Test: {Allow: w.AllowTest, Deny: deny},
	}, nil
}

// lockKey names this process's advisory lock.
func lockKey() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:])                      // never fails (Go 1.24)
	return int64(binary.BigEndian.Uint64(b[:])) //nolint:gosec // any 64 bits will do
}
