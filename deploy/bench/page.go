package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// --page writes the text between these marks; people write the rest of the page.
const (
	pageBegins = "<!-- figures: go run ./deploy/bench --page docs/performance.md -->\n"
	pageEnds   = "<!-- end of figures -->\n"
)

const startRows = "start/"

// writePage puts the figures of a result into a page.
func writePage(result, page string) error {
	rep, err := readReport(result)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	before, rest, begins := bytes.Cut(old, []byte(pageBegins))
	_, after, ends := bytes.Cut(rest, []byte(pageEnds))
	if !begins || !ends {
		return fmt.Errorf("%s has not the marks between which the figures stand", page)
	}
	figures := render(rep)
	if figures == "" {
		return errors.New("the result has no rows")
	}
	text := slices.Concat(before, []byte(pageBegins+figures+pageEnds), after)
	if err := os.WriteFile(page, text, 0o644); err != nil { //nolint:gosec // a page of the repository
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// render is the part of the page that comes from a result.
func render(rep report) string {
	if len(rep.Rows) == 0 {
		return ""
	}
	var b strings.Builder
	rounds := map[string]int{}
	for _, r := range rep.Rows {
		if len(r.Ours) > 0 {
			rounds[sayRounds(r)]++
		}
	}
	usual := ""
	for text, n := range rounds {
		if n > rounds[usual] || n == rounds[usual] && text < usual {
			usual = text
		}
	}
	fmt.Fprintf(&b, "\n%s, on %s; %s unless a row says otherwise, medians, and of the ratio the least and the most.\n\n",
		rep.At.Format("2 January 2006, 15:04 UTC"), rep.Machine, cmp.Or(usual, "nothing measured"))
	rule := strings.Repeat("|---", len(heads)+1) + "|\n"
	fmt.Fprintf(&b, "| %s | load |\n%s", strings.Join(heads, " | "), rule)
	for _, r := range rep.Rows {
		if strings.HasPrefix(r.Name, startRows) {
			continue
		}
		fields := cells(r)
		if said := sayRounds(r); said != usual && r.Failure == "" {
			fields[4] += ", " + said
		}
		for i := range fields {
			fields[i] = strings.ReplaceAll(fields[i], "|", "\\|")
		}
		fmt.Fprintf(&b, "| %s | %.1f |\n", strings.Join(fields, " | "), r.Load)
	}
	b.WriteString("\n")
	for _, r := range rep.Rows {
		if !strings.HasPrefix(r.Name, startRows) {
			fmt.Fprintf(&b, "* `%s`: %s\n", r.Name, r.About)
		}
	}
	b.WriteString("\n")
	renderStarts(&b, rep)
	return b.String()
}

func sayRounds(r result) string {
	if len(r.Ours) == 1 {
		return fmt.Sprintf("one round of %g s a side", r.Seconds)
	}
	return fmt.Sprintf("%d rounds of %g s a side", len(r.Ours), r.Seconds)
}

// renderStarts is the table of processes: how soon each is ready, and what it occupies then and at work.
func renderStarts(b *strings.Builder, rep report) {
	const busy = "create/whole/64"
	working := map[string]float64{}
	for _, r := range rep.Rows {
		if r.Name == busy {
			for _, s := range r.Ours {
				for name, mb := range s.RSS {
					working[name] = max(working[name], mb)
				}
			}
		}
	}
	fmt.Fprintf(b, "| process | ready after ms | MB then | MB in `%s` |\n|---|---|---|---|\n", busy)
	said := false
	for _, r := range rep.Rows {
		name, is := strings.CutPrefix(r.Name, startRows)
		if !is || r.Failure != "" {
			continue
		}
		if !said {
			said = true
			ready(b, bareName, r.Yardstick, 0)
		}
		ready(b, name, r.Ours, working[name])
		delete(working, name)
	}
	for _, name := range []string{"postgres", "rabbitmq"} {
		if mb := working[name]; mb > 0 {
			fmt.Fprintf(b, "| %s | | | %.0f |\n", name, mb)
		}
	}
	b.WriteString("\n")
}

func ready(b *strings.Builder, name string, sides []side, working float64) {
	then := medianOf(sides, func(s side) float64 { return s.RSS[name] })
	at := ""
	if working > 0 {
		at = fmt.Sprintf("%.0f", working)
	}
	fmt.Fprintf(b, "| %s | %.0f | %.0f | %s |\n", name, medianOf(sides, func(s side) float64 { return s.P50 }), then, at)
}
