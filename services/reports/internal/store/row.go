package store

import (
	"crypto/sha256"

	"github.com/jackc/pgx/v5"

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

// mark names somebody who is counted once, without saying who.
func mark(who string) []byte {
	sum := sha256.Sum256([]byte(who))
	return sum[:16]
}

// values gives every column's value in the order of insertReport.
func values(r report.Report) []any {
	return []any{
		r.ID, r.Reference, string(r.Mode), r.MerchantID, r.KeyID, null(r.Session), string(r.Kind), r.Name, null(r.Phone),
		null(r.Wallet), null(report.AddressKey(r.Wallet)), null(r.Fraudster), null(r.Text), string(r.Status), null(r.Confirmer),
		null(r.Notes), r.Version, r.Sequence, r.CreatedAt, r.UpdatedAt,
	}
}

// scan reads a row of columns.
func scan(row pgx.Row) (report.Report, error) {
	var r report.Report
	var session, phone, wallet, fraudster, text, confirmer, notes *string
	err := row.Scan(&r.ID, &r.Reference, &r.Mode, &r.MerchantID, &r.KeyID, &session, &r.Kind, &r.Name, &phone, &wallet, &fraudster,
		&text, &r.Status, &confirmer, &notes, &r.Version, &r.Sequence, &r.CreatedAt, &r.UpdatedAt)
	if err != nil {
		return report.Report{}, err
	}
	for _, f := range []struct {
		into *string
		from *string
	}{
		{&r.Session, session},
		{&r.Phone, phone},
		{&r.Wallet, wallet},
		{&r.Fraudster, fraudster},
		{&r.Text, text},
		{&r.Confirmer, confirmer},
		{&r.Notes, notes},
	} {
		if f.from != nil {
			*f.into = *f.from
		}
	}
	r.CreatedAt, r.UpdatedAt = r.CreatedAt.UTC(), r.UpdatedAt.UTC()
	return r, nil
}
