package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printJSON prints one object on one line.
func (c *cli) printJSON(v any) {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the value was decoded from JSON
}

// shades are the colours of statuses on a terminal: done, waiting for a person or failed, and over.
var shades = map[string]string{
	"settled": "32", "confirmed": "32", "delivered": "32", "resolved": "32", "finished": "32", "refunded": "32",
	"needs_review": "31", "failed": "31", "exhausted": "31",
	"expired": "2", "cancelled": "2", "dismissed": "2",
}

// shade colours a status if the output is a terminal.
func (c *cli) shade(text string) string {
	code, ok := shades[strings.TrimSpace(text)]
	if !ok || !c.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// table is rows of cells beneath a head.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// printTable prints a table in columns that are as wide as their longest cell.
func (c *cli) printTable(t table) {
	rows := append([][]string{t.head}, t.rows...)
	widths := make([]int, len(t.head))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			padded := cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == len(row)-1 {
				padded = cell
			}
			if n > 0 {
				padded = c.shade(padded)
			}
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(padded)
		}
		c.line("%s", strings.TrimRight(line.String(), " "))
	}
}

// printObject prints the fields of an object for a person, a line each, in the order of the API.
func (c *cli) printObject(raw json.RawMessage) error {
	t := table{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := flatten(dec, "", &t); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	width := 0
	for _, row := range t.rows {
		width = max(width, len(row[0]))
	}
	for _, row := range t.rows {
		c.line("%-*s  %s", width, row[0], c.shade(row[1]))
	}
	return nil
}

// flatten adds a row for each value that is neither an object nor a list, under its path.
func flatten(dec *json.Decoder, path string, t *table) error {
	token, err := dec.Token()
	if err != nil {
		return err //nolint:wrapcheck // the caller says what it was reading
	}
	open, ok := token.(json.Delim)
	if !ok {
		if token == nil {
			token = "-"
		}
		t.add(path, printable(fmt.Sprint(token)))
		return nil
	}
	for i := 0; dec.More(); i++ {
		name := fmt.Sprint(i)
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return err //nolint:wrapcheck // the caller says what it was reading
			}
			name = printable(fmt.Sprint(key))
		}
		if path != "" {
			name = path + "." + name
		}
		if err := flatten(dec, name, t); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err //nolint:wrapcheck // the caller says what it was reading
}

// printable keeps characters that control a terminal, or turn the direction of a line, out of other people's texts.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '·'
		}
		return r
	}, text)
}
