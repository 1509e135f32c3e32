package merchant

import (
	"math/big"
)

// chart has a bar for each value, scaled to a round maximum. The page draws it as SVG without text: the labels are HTML
// around it, so that they stay legible at any width. Values are decimals; only the heights are rounded.
type chart struct {
	Title string
	Bars  []bar
	Lines []line
	Width int // of the view box: ten for each bar
	First string
	Last  string
	Empty bool
}

// bar is one value. X, Y and Height are in the view box, whose height is chartHeight.
type bar struct {
	X, Y, Height int
	Label        string // of the bar, as a tip
}

// line is a level of the scale.
type line struct {
	Y     int
	Value string
}

const (
	chartHeight = 1000
	slot        = 10
)

// newChart draws values, which are decimal texts, with a tip for each.
func newChart(title string, values, tips []string, ends [2]string) chart {
	c := chart{Title: title, Width: max(1, len(values)) * slot, First: ends[0], Last: ends[1]}
	top := new(big.Rat)
	numbers := make([]*big.Rat, len(values))
	for i, text := range values {
		n, ok := new(big.Rat).SetString(text)
		if !ok || n.Sign() < 0 {
			n = new(big.Rat)
		}
		if numbers[i] = n; n.Cmp(top) > 0 {
			top = n
		}
	}
	if c.Empty = top.Sign() == 0; c.Empty {
		return c
	}
	top = roundUp(top)
	for i, n := range numbers {
		height := scaled(n, top)
		if height == 0 && n.Sign() > 0 {
			height = chartHeight / 100 // a small value is visible
		}
		c.Bars = append(c.Bars, bar{i * slot, chartHeight - height, height, tips[i]})
	}
	for _, part := range []int64{4, 2, 0} {
		level := new(big.Rat).Mul(top, big.NewRat(part, 4))
		c.Lines = append(c.Lines, line{chartHeight - scaled(level, top), compact(level)})
	}
	return c
}

func scaled(n, top *big.Rat) int {
	r := new(big.Rat).Quo(new(big.Rat).Mul(n, big.NewRat(chartHeight, 1)), top)
	return int(new(big.Int).Quo(r.Num(), r.Denom()).Int64())
}

// roundUp is the smallest of 1, 2, 4 and 8 times a power of ten that is not below n.
func roundUp(n *big.Rat) *big.Rat {
	ten, step := big.NewRat(10, 1), big.NewRat(1, 1)
	for step.Cmp(n) > 0 {
		step.Quo(step, ten)
	}
	for new(big.Rat).Mul(step, ten).Cmp(n) <= 0 {
		step.Mul(step, ten)
	}
	for _, times := range []int64{1, 2, 4, 8} {
		if level := new(big.Rat).Mul(step, big.NewRat(times, 1)); level.Cmp(n) >= 0 {
			return level
		}
	}
	return step.Mul(step, ten)
}

// compact abbreviates a level of the scale: 1500000 is 1.5M.
func compact(n *big.Rat) string {
	for _, unit := range []struct {
		size int64
		sign string
	}{{1_000_000_000, "B"}, {1_000_000, "M"}, {1_000, "k"}} {
		if n.Cmp(big.NewRat(unit.size, 1)) >= 0 {
			return trimmed(new(big.Rat).Quo(n, big.NewRat(unit.size, 1))) + unit.sign
		}
	}
	return trimmed(n)
}

func trimmed(n *big.Rat) string {
	if n.IsInt() {
		return n.Num().String()
	}
	text := n.FloatString(2)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	return text
}
