// Package migrations holds the schema of the payments database as numbered goose files. A released file is never
// edited; a change is a new file.
package migrations

import "embed"

// FS holds the migrations.
//
//go:embed *.sql
var FS embed.FS
