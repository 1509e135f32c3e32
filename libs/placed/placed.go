// Package placed keeps the shard that a database belongs to (docs/decisions/0025-shards.md). The first process that
// makes names there writes it; one with another setting does not start, since its names would lead to another shard
// than the one that has their objects. The package uses one table.
package placed

import (
	"context"
	"fmt"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/shard"
)

// Schema is the table. Every service of a shard has this text in a migration, word for word, and after it a line that
// gives a database with objects from before it the first shard.
const Schema = `CREATE TABLE placed (
    one   boolean PRIMARY KEY DEFAULT true CHECK (one),
    shard text    NOT NULL
);`

const (
	placeSQL = `INSERT INTO placed (shard) VALUES ($1) ON CONFLICT DO NOTHING`
	placeOf  = `SELECT shard FROM placed`
)

// Statements lists the SQL texts of the package by name.
func Statements() map[string]string { return map[string]string{"place": placeSQL, "placeOf": placeOf} }

// Check returns an error where the database belongs to another shard. A new database belongs to the shard of the first
// process.
func Check(ctx context.Context, db postgres.Querier, in shard.Code) error {
	if _, err := db.Exec(ctx, placeSQL, string(in.Home())); err != nil {
		return fmt.Errorf("place the database in a shard: %w", err)
	}
	var home shard.Code
	if err := db.QueryRow(ctx, placeOf).Scan((*string)(&home)); err != nil {
		return fmt.Errorf("read the shard of the database: %w", err)
	}
	if home != in.Home() {
		return fmt.Errorf("SHARD: the database belongs to the shard %s, not to %s", home, in.Home())
	}
	return nil
}
