package main

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/config"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// settings are what every role needs.
type settings struct {
	Postgres   postgres.Config
	Telemetry  telemetry.Config
	MasterKeys config.Secret `env:"MASTER_KEYS,required" doc:"comma separated id:base64(32 bytes); the first seals signing secrets, all open them"`
	OpsAddr    string        `env:"OPS_ADDR" envDefault:":9090" doc:"address of /healthz, /readyz and /metrics"`
	Drain      time.Duration `env:"DRAIN" envDefault:"25s" doc:"how long a stop may take; attempts under way get 16 s of it"`
}

// serveSettings are those of the role serve.
type serveSettings struct {
	HTTPAddr     string        `env:"HTTP_ADDR" envDefault:":8080" doc:"address of the API, for the gateway alone"`
	IdentityKeys config.Secret `env:"IDENTITY_KEYS,required" doc:"comma separated base64 keys of 32 bytes that verify the gateway's identity header"`
}

// workSettings are those of the role work.
type workSettings struct {
	Bus          bus.Config
	AllowTest    []netip.Prefix `env:"CALLBACK_ALLOW_TEST" doc:"comma separated CIDRs that test-mode callbacks may reach besides public addresses"`
	AllowLive    []netip.Prefix `env:"CALLBACK_ALLOW_LIVE" doc:"comma separated CIDRs that live callbacks may reach besides public addresses; for test networks only"`
	Deny         []netip.Prefix `env:"CALLBACK_DENY" doc:"comma separated CIDRs that no callback may reach, such as cluster networks; the machine's own addresses are always denied"`
	ScheduleTest string         `env:"SCHEDULE_TEST" doc:"waits between test-mode attempts, such as 1s,5s; empty means the schedule of live mode"`
	ScheduleLive string         `env:"SCHEDULE_LIVE" doc:"waits between live attempts; empty means 5s,30s,2m,10m,30m,1h,2h,4h,8h,12h,20h,24h"`
	PerTarget    int            `env:"CALLBACKS_PER_TARGET" envDefault:"8" doc:"attempts under way to one target, per process"`
	PerProcess   int            `env:"CALLBACKS_PER_PROCESS" envDefault:"1024" doc:"attempts under way in all, per process"`
}

// migrateSettings are those of the verb migrate.
type migrateSettings struct {
	OwnerURL config.Secret `env:"DATABASE_OWNER_URL,required" doc:"PostgreSQL URL of the database in the role that owns the schema"`
}

// deadSettings are those of the verb dead.
type deadSettings struct {
	Bus bus.Config
}

// laneQueue and heldPerSlot bound the deliveries in memory: enough to keep every slot busy, little enough that a backlog
// stays in the table.
const (
	laneQueue   = 64
	heldPerSlot = 8
)

func (w workSettings) limits() (app.Limits, error) {
	if w.PerTarget < 1 || w.PerProcess < w.PerTarget {
		return app.Limits{}, errors.New("CALLBACKS_PER_TARGET must be at least 1 and at most CALLBACKS_PER_PROCESS")
	}
	return app.Limits{PerTarget: w.PerTarget, Process: w.PerProcess, LaneQueue: laneQueue, Held: w.PerProcess * heldPerSlot}, nil
}

func (w workSettings) schedules() (map[string]delivery.Schedule, error) {
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
	return map[string]delivery.Schedule{string(wire.Live): live, string(wire.Test): test}, nil
}

// policies adds the machine's own addresses to the denied ones: a callback must not come back to us by a public door.
func (w workSettings) policies() (map[wire.Mode]guard.Policy, error) {
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
	return map[wire.Mode]guard.Policy{
		wire.Live: {Allow: w.AllowLive, Deny: deny},
		wire.Test: {Allow: w.AllowTest, Deny: deny},
	}, nil
}

// lockKey names this process's advisory lock.
func lockKey() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (Go 1.24)
	return int64(binary.BigEndian.Uint64(b[:]))
}
