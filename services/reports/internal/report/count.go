package report

import "slices"

// Cells is the number of combinations of status and complaint type. Totals are kept as one number for each.
const Cells = 12

// Counts is a number for every cell, in the order of Cell.
type Counts [Cells]int32

// Cell is the place of a status and a complaint type in Counts.
func Cell(s Status, k Kind) int {
	return slices.Index(Statuses(), s)*len(Kinds()) + slices.Index(Kinds(), k)
}

// One counts one report.
func One(s Status, k Kind) Counts {
	var c Counts
	c[Cell(s, k)] = 1
	return c
}

// Plus is the sum.
func (c Counts) Plus(o Counts) Counts {
	for i := range c {
		c[i] += o[i]
	}
	return c
}

// Minus is the difference.
func (c Counts) Minus(o Counts) Counts {
	for i := range c {
		c[i] -= o[i]
	}
	return c
}

// Of is the number of reports in a status, whatever their type.
func (c Counts) Of(s Status) int64 {
	n := int64(0)
	for _, k := range Kinds() {
		n += int64(c[Cell(s, k)])
	}
	return n
}

// Total is the sum of all cells.
func (c Counts) Total() int64 {
	n := int64(0)
	for _, s := range Statuses() {
		n += c.Of(s)
	}
	return n
}
