package store

import (
	"crypto/sha256"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"causeway.internal/services/reports/internal/report"
)

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func words[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = string(one)
	}
	return out
}

const markBytes = 16

// mark identifies a merchant that is counted once.
func mark(merchant string) []byte {
	sum := sha256.Sum256([]byte(merchant))
	return sum[:markBytes]
}

// row is a report with its stored form.
type row struct {
	report.Report
	person []byte // sealed; nil of a row in the clear
	index  []byte // blind index of a sealed row's phone
}

// clear is the report from the columns of its row.
func (r row) clear() report.Report {
	if r.person == nil {
		return r.Report
	}
	return person{}.of(r.Report)
}

// values gives every column's value in the order of insertReports.
func (r row) values() []any {
	c := r.clear()
	return []any{
		c.ID, c.Reference, string(c.Mode), c.MerchantID, c.KeyID, null(c.Session), string(c.Kind), c.Name, null(c.Phone),
		null(c.Wallet), null(report.AddressKey(c.Wallet)), null(c.Fraudster), null(c.Text), string(c.Status), null(c.Confirmer),
		null(c.Notes), c.Version, c.Sequence, c.CreatedAt, c.UpdatedAt, r.person, r.index,
	}
}

// scan reads a row of columns.
func (v vault) scan(from pgx.Row) (row, error) {
	var r row
	text := func(s *string) *zeronull.Text { return (*zeronull.Text)(s) }
	err := from.Scan(&r.ID, &r.Reference, &r.Mode, &r.MerchantID, &r.KeyID, text(&r.Session), &r.Kind, &r.Name, text(&r.Phone), text(&r.Wallet),
		text(&r.Fraudster), text(&r.Text), &r.Status, text(&r.Confirmer), text(&r.Notes), &r.Version, &r.Sequence, &r.CreatedAt, &r.UpdatedAt,
		&r.person, &r.index, &r.Earlier)
	if err != nil {
		return row{}, err
	}
	r.CreatedAt, r.UpdatedAt = r.CreatedAt.UTC(), r.UpdatedAt.UTC()
	return v.open(r)
}
