// Package migrations holds the schema of the dispatcher's database; `callback-dispatcher migrate` applies it.
package migrations

import "embed"

// Files are the migrations in goose's format.
//
//go:embed *.sql
var Files embed.FS
