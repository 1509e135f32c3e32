package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// filter is a query parameter of a list, with the flag that gives it.
type filter struct{ flag, parameter, help string }

// listing is a list of the API.
type listing struct {
	path    string   // {} is the place of the argument
	items   string   // where the items are, such as data.reports
	columns []string // heads and fields of a row for a person: "STATUS status"
	filters []filter
	begin   bool // its first page is asked for with an empty cursor
}

// pageMost is how many items a page has at most.
const pageMost = 100

// listCommand is the command of a list, with a flag for each filter.
func (c *cli) listCommand(use, short, example string, l listing) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Example: example, Args: words(strings.Fields(use)[1:]...)}
	f := cmd.Flags()
	limit := f.Int("limit", 20, "how many, at most")
	all := f.Bool("all", false, "every page")
	values := map[string]*string{}
	for _, x := range l.filters {
		values[x.parameter] = f.String(x.flag, "", x.help)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *limit < 1 {
			return misused("--limit %d is less than 1", *limit)
		}
		query := url.Values{}
		for parameter, value := range values {
			if *value != "" {
				query.Set(parameter, *value)
			}
		}
		if *all {
			*limit = 0
		}
		asked := l
		asked.path = at(l.path, args)
		return c.list(cmd.Context(), asked, query, *limit)
	}
	return cmd
}

// at is a path with the argument in its place.
func at(path string, args []string) string {
	if len(args) == 0 {
		return path
	}
	return strings.ReplaceAll(path, "{}", url.PathEscape(args[0]))
}

// list prints the items of a list, page by page, at most so many; 0 means all.
func (c *cli) list(ctx context.Context, l listing, query url.Values, most int) error {
	if l.begin {
		query.Set("cursor", "")
	}
	for printed := 0; ; {
		size := pageMost
		if most > 0 {
			size = min(size, most-printed)
		}
		query.Set("limit", strconv.Itoa(size))
		var page json.RawMessage
		if _, err := c.call(ctx, http.MethodGet, l.path+"?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		items, next, err := l.read(page)
		if err != nil {
			return err
		}
		if err := c.printItems(l, items); err != nil {
			return err
		}
		printed += len(items)
		if next == "" || len(items) == 0 || printed == most {
			return nil
		}
		query.Set("cursor", next)
	}
}

// read takes a page apart. The cursor of the next page lies beside the items or in pagination.
func (l listing) read(page json.RawMessage) (items []json.RawMessage, next string, err error) {
	type cursor struct {
		NextCursor *string `json:"nextCursor"`
	}
	for name := range strings.SplitSeq(l.items, ".") {
		var here struct {
			cursor
			Pagination cursor `json:"pagination"`
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(page, &fields); err != nil {
			return nil, "", fmt.Errorf("read a list: %w", err)
		}
		if err := json.Unmarshal(page, &here); err != nil {
			return nil, "", fmt.Errorf("read a list: %w", err)
		}
		for _, found := range []*string{here.NextCursor, here.Pagination.NextCursor} {
			if found != nil {
				next = *found
			}
		}
		if page = fields[name]; page == nil {
			return nil, "", fmt.Errorf("read a list: the answer has no %s", l.items)
		}
	}
	if err := json.Unmarshal(page, &items); err != nil {
		return nil, "", fmt.Errorf("read a list: %w", err)
	}
	return items, next, nil
}

// printItems prints a page.
func (c *cli) printItems(l listing, items []json.RawMessage) error {
	var t table
	for _, column := range l.columns {
		head, _, _ := strings.Cut(column, " ")
		t.head = append(t.head, head)
	}
	for _, raw := range items {
		if c.json {
			c.printJSON(raw)
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var fields map[string]any
		if err := dec.Decode(&fields); err != nil {
			return fmt.Errorf("read an item: %w", err)
		}
		var cells []string
		for _, column := range l.columns {
			_, name, _ := strings.Cut(column, " ")
			cells = append(cells, cell(fields, name))
		}
		t.add(cells...)
	}
	if !c.json && len(t.rows) > 0 {
		c.printTable(t)
	}
	return nil
}

// cell is a field of an item for a person.
func cell(fields map[string]any, name string) string {
	switch v := fields[name].(type) {
	case nil:
		return "-"
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, fmt.Sprint(one))
		}
		return printable(strings.Join(all, ","))
	default:
		return printable(fmt.Sprint(v))
	}
}
