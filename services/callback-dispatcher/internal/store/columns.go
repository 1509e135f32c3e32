package store

import (
	"fmt"
	"strings"
)

// column is one column of the rows that a statement is given: its name and type there, and its value in each row.
type column[Row any] struct {
	name, kind string
	of         func(rows []Row) any
}

func col[Row, Value any](name, kind string, of func(*Row) Value) column[Row] {
	return column[Row]{name, kind, func(rows []Row) any {
		values := make([]Value, len(rows))
		for i := range rows {
			values[i] = of(&rows[i])
		}
		return values
	}}
}

// given is the query of the rows whose columns are the parameters from $first on, an array each.
func given[Row any](columns []column[Row], first int) string {
	each := make([]string, len(columns))
	for i, c := range columns {
		each[i] = fmt.Sprintf("unnest($%d::%s[]) AS %s", first+i, c.kind, c.name)
	}
	return "SELECT " + strings.Join(each, ", ")
}

// arrays are the parameters of given, appended to those before them.
func arrays[Row any](before []any, columns []column[Row], rows []Row) []any {
	for _, c := range columns {
		before = append(before, c.of(rows))
	}
	return before
}
