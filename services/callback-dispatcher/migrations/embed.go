// Package migrations holds the schema of the dispatcher's database; `callback-dispatcher migrate` applies it.
package migrations

import "embed"

// FS holds the migrations in goose's format.
//
//go:embed *.sql
var FS embed.FS
