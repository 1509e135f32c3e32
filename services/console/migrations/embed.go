// Package migrations holds the schema of a console's database; `console migrate` applies it. A file that has been
// released is never edited; a change is a new file.
package migrations

import "embed"

// FS holds the migrations in goose's format.
//
//go:embed *.sql
var FS embed.FS
