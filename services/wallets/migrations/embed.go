// Package migrations embeds the schema of the wallets database.
package migrations

import "embed"

// FS holds the migrations in goose's format.
//
//go:embed *.sql
var FS embed.FS
