// Package migrations embeds the schema of the gateway's own database. It holds SQL and nothing else.
package migrations

import "embed"

// FS holds every migration, in goose's format.
//
//go:embed *.sql
var FS embed.FS
