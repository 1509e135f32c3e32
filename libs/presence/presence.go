// Package presence shows operators which processes of a service run. Each process writes a row every few seconds with
// its version, the results of its readiness checks, and the depths of its queues. The package uses one table.
package presence

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/timestamp"
	"causeway.internal/libs/version"
)

// Schema is the table. Every service has this text in a migration, word for word.
const Schema = `CREATE TABLE processes (
    name       text        PRIMARY KEY,
    role       text        NOT NULL,
    version    text        NOT NULL,
    revision   text        NOT NULL,
    started_at timestamptz NOT NULL,
    ready      boolean     NOT NULL,
    checks     json        NOT NULL,
    queues     json        NOT NULL,
    told_at    timestamptz NOT NULL DEFAULT now()
);`

const (
	// reportSQL also deletes processes that have ended, but never the row that it writes, nor one that another process
	// writes or deletes at that moment: the two would wait for each other.
	reportSQL = `WITH ended AS (DELETE FROM processes WHERE name = ANY(ARRAY(
	SELECT name FROM processes WHERE told_at < now() - interval '10 minutes' AND name <> $1 FOR UPDATE SKIP LOCKED)))
INSERT INTO processes (name, role, version, revision, started_at, ready, checks, queues) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (name) DO UPDATE SET ready = excluded.ready, checks = excluded.checks, queues = excluded.queues, told_at = now()`
	listSQL = `SELECT name, role, version, revision, started_at, ready, checks, queues, told_at FROM processes
WHERE told_at > now() - interval '1 minute' ORDER BY role, started_at, name LIMIT 200`
	// sinceSQL is the newest report of any process about a queue, such as of the one before a restart.
	sinceSQL = `SELECT coalesce((SELECT q->>'deadSince' FROM processes, json_array_elements(queues) AS q
WHERE q->>'queue' = $1 ORDER BY told_at DESC LIMIT 1), '')`
)

// Statements lists the SQL texts of the package by name.
func Statements() map[string]string {
	return map[string]string{"reportProcess": reportSQL, "listProcesses": listSQL, "deadSince": sinceSQL}
}

// Every is the interval of Report.
const Every = 10 * time.Second

// Depth is the number of messages in a queue, and in its dead queue.
type Depth struct {
	Queue          string
	Messages, Dead int
}

// Depths converts the depths of the bus to Depth, so that a program without a broker need not compile the bus.
func Depths[D ~struct {
	Queue          string
	Messages, Dead int
}](of func() []D) func() []Depth {
	return func() (out []Depth) {
		for _, d := range of() {
			out = append(out, Depth(d))
		}
		return out
	}
}

// Reporter reports one process.
type Reporter struct {
	DB     postgres.Querier
	Role   string // serve, work, or both
	Checks func() []telemetry.Check
	Queues func() []Depth // nil for a process that consumes nothing

	name    string
	started time.Time
	since   map[string]string // by queue: since when its dead queue is not empty
}

// Start gives the process its name. Call it once before Report.
func (r *Reporter) Start() *Reporter {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	const most = 8
	r.name, r.started = host+" "+strings.ToLower(rand.Text()[:most]), time.Now()
	return r
}

// Roles is the name of the roles of a process.
func Roles(serves, works bool) string {
	switch {
	case serves && works:
		return "serve and work"
	case works:
		return "work"
	}
	return "serve"
}

type check struct {
	Name    string  `json:"name"`
	Problem *string `json:"problem"`
}

// Queue is a queue as operators see it. DeadSince is the time since when its dead queue is not empty: a process saw
// the first message there within half a minute.
type Queue struct {
	Queue     string  `json:"queue"`
	Messages  int     `json:"messages"`
	Dead      int     `json:"dead"`
	DeadSince *string `json:"deadSince"`
}

// queues measures the queues. A process that finds dead messages takes the time from the newest report of another one,
// or of its predecessor; else they are new.
func (r *Reporter) queues(ctx context.Context) ([]Queue, error) {
	out, since := []Queue{}, map[string]string{}
	if r.Queues == nil {
		return out, nil
	}
	for _, d := range r.Queues() {
		one := Queue{Queue: d.Queue, Messages: d.Messages, Dead: d.Dead}
		if d.Dead > 0 {
			at := r.since[d.Queue]
			if at == "" {
				if err := r.DB.QueryRow(ctx, sinceSQL, d.Queue).Scan(&at); err != nil {
					return nil, fmt.Errorf("read since when %s has dead messages: %w", d.Queue, err)
				}
			}
			if at == "" {
				at = timestamp.Text(time.Now())
			}
			since[d.Queue], one.DeadSince = at, &at
		}
		out = append(out, one)
	}
	r.since = since
	return out, nil
}

// Report writes the row of this process, and deletes the rows of processes that have ended.
func (r *Reporter) Report(ctx context.Context) error {
	results, ready := telemetry.Examine(ctx, r.Checks())
	checks := make([]check, 0, len(results))
	for _, name := range slices.Sorted(maps.Keys(results)) {
		one := check{Name: name}
		if problem := results[name]; problem != "ok" {
			one.Problem = &problem
		}
		checks = append(checks, one)
	}
	queues, err := r.queues(ctx)
	if err != nil {
		return err
	}
	checked, err := json.Marshal(checks)
	if err != nil {
		return fmt.Errorf("encode the checks: %w", err)
	}
	waiting, err := json.Marshal(queues)
	if err != nil {
		return fmt.Errorf("encode the queues: %w", err)
	}
	build := version.Read()
	if _, err := r.DB.Exec(ctx, reportSQL, r.name, r.Role, build.Version, build.Revision, r.started, ready, string(checked), string(waiting)); err != nil {
		return fmt.Errorf("report the process: %w", err)
	}
	return nil
}

// View is a process as operators see it.
type View struct {
	Service   string          `json:"service"`
	Name      string          `json:"name"`
	Role      string          `json:"role"`
	Version   string          `json:"version"`
	Revision  string          `json:"revision"`
	StartedAt string          `json:"startedAt"`
	Ready     bool            `json:"ready"`
	Checks    json.RawMessage `json:"checks"`
	Queues    []Queue         `json:"queues"`
	ToldAt    string          `json:"toldAt"`
}

// Answer is the body of GET /v1/admin/health/{service}.
type Answer struct {
	Processes []View `json:"processes"`
}

// List reads the processes of a service that have reported within a minute.
func List(ctx context.Context, db postgres.Querier, service string) (Answer, error) {
	rows, err := db.Query(ctx, listSQL)
	if err != nil {
		return Answer{}, fmt.Errorf("list the processes: %w", err)
	}
	defer rows.Close()
	out := Answer{Processes: []View{}}
	for rows.Next() {
		v := View{Service: service}
		var started, told time.Time
		if err := rows.Scan(&v.Name, &v.Role, &v.Version, &v.Revision, &started, &v.Ready, &v.Checks, &v.Queues, &told); err != nil {
			return Answer{}, fmt.Errorf("list the processes: %w", err)
		}
		v.StartedAt, v.ToldAt = timestamp.Text(started), timestamp.Text(told)
		out.Processes = append(out.Processes, v)
	}
	if err := rows.Err(); err != nil {
		return Answer{}, fmt.Errorf("list the processes: %w", err)
	}
	return out, nil
}

// Lister reads the processes of a service, for its route.
func Lister(db postgres.Querier, service string) func(context.Context) (Answer, error) {
	return func(ctx context.Context) (Answer, error) { return List(ctx, db, service) }
}
