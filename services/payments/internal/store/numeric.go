package store

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/postgres"
)

// Session gives the pool's sessions the codec by which the store reads amounts.
func Session(cfg postgres.Config) postgres.Config { return cfg.WithType(numerics) }

// numerics is PostgreSQL's type numeric, whose values a number reads without big integers where they fit a machine
// word. A payment has fourteen of them.
var numerics = &pgtype.Type{Name: "numeric", OID: pgtype.NumericOID, Codec: numericCodec{}}

type numericCodec struct{ pgtype.NumericCodec }

// PlanScan implements pgtype.Codec.
func (c numericCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	all := c.NumericCodec.PlanScan(m, oid, format, target)
	if _, ok := target.(*number); ok && format == pgtype.BinaryFormatCode {
		return scanNumber{all}
	}
	return all
}

// scanNumber reads a numeric into a number, and leaves what does not fit a machine word to another plan.
type scanNumber struct{ other pgtype.ScanPlan }

// Scan implements pgtype.ScanPlan.
func (s scanNumber) Scan(src []byte, into any) error {
	if d, ok := word(src); ok {
		*into.(*number) = number(d) //nolint:forcetypeassert // PlanScan made the plan for it
		return nil
	}
	return s.other.Scan(src, into)
}

// word reads a numeric: the number of its digits to the base of 10 000, the power of the first, its sign, its decimal
// places and the digits. ok is false unless it is finite, whole in the digits that it has, and fits a machine word with
// its decimal places.
func word(src []byte) (d decimal.Decimal, ok bool) {
	const header, base, digitsMost, placesMost, negative = 8, 10_000, 4, 18, 0x4000
	if len(src) < header {
		return d, false
	}
	digits, weight := int(binary.BigEndian.Uint16(src)), int(int16(binary.BigEndian.Uint16(src[2:]))) //nolint:gosec // it is signed
	sign, places := binary.BigEndian.Uint16(src[4:]), int(binary.BigEndian.Uint16(src[6:]))
	if digits > digitsMost || places > placesMost || sign != 0 && sign != negative || len(src) != header+2*digits {
		return d, false
	}
	if digits == 0 {
		return d, true // many amounts of a payment are zero, which needs no memory
	}
	n := int64(0)
	for at := header; at < len(src); at += 2 {
		n = base*n + int64(binary.BigEndian.Uint16(src[at:]))
	}
	power := 4 * (weight - digits + 1) // of ten, that n counts
	for ; power > -places; power-- {
		if n > (1<<63-1)/10 {
			return d, false
		}
		n *= 10
	}
	for ; power < -places; power++ {
		if n%10 != 0 {
			return d, false
		}
		n /= 10
	}
	if sign == negative {
		n = -n
	}
	return decimal.New(n, int32(power)), true //nolint:gosec // at most 18 places
}
