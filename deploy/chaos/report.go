package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"causeway.internal/deploy/chaos/internal/audit"
)

// shown bounds how many verdicts the terminal gets; the file has all.
const shown = 40

// line is the verdict of one payment.
func line(v audit.Verdict) string {
	word := "ok"
	if len(v.Faults) > 0 {
		word = "FAULT: " + strings.Join(v.Faults, "; ")
	}
	return fmt.Sprintf("%-16s %-9s payouts %d  events %d  requests %-3d %s", v.Reference, v.Status, v.Payouts, v.Events, v.Attempts, word)
}

func writeVerdicts(path string, r audit.Report) error {
	var text strings.Builder
	for _, v := range r.Verdicts {
		text.WriteString(line(v) + "\n")
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("writing the verdicts: %w", err)
	}
	return nil
}

func doubled(r audit.Report) (n int) {
	for _, v := range r.Verdicts {
		if v.Payouts > 1 {
			n++
		}
	}
	return n
}

func printReport(out io.Writer, r audit.Report, f *field, retries int64, o options, took time.Duration) {
	printed, trouble := 0, 0
	fmt.Fprintln(out)
	for _, v := range r.Verdicts {
		if (len(v.Faults) > 0 || len(r.Verdicts) <= shown) && printed < shown {
			fmt.Fprintln(out, line(v))
			printed++
		}
	}
	fmt.Fprintf(out, "verdict of every payment: %s\n\n", o.verdicts)
	for _, what := range slices.Sorted(maps.Keys(f.counts)) {
		fmt.Fprintf(out, "  %4d  %s\n", f.counts[what], what)
		trouble += f.counts[what]
	}
	for _, what := range slices.Sorted(maps.Keys(f.takeovers)) {
		took := f.takeovers[what]
		fmt.Fprintf(out, "  %4d  takeovers of %-40s longest %s\n", len(took), what, slices.Max(took).Round(10*time.Millisecond))
	}
	if len(f.failovers) > 0 {
		fmt.Fprint(out, "\n"+failoverTable(f.failovers))
	}
	if f.cells > 0 {
		fmt.Fprintf(out, "  %4d  of %d cells of the table of steps, from %d on\n", min(f.cells, len(table())), len(table()), f.first)
	}
	fmt.Fprintf(out, "\nseed %d, %s\n", o.seed, took.Round(time.Second))
	fmt.Fprintf(out, "troubles    %d\n", trouble)
	fmt.Fprintf(out, "requests    %d repeated by the merchant\n", retries)
	fmt.Fprintf(out, "payments    %d asked for, %d settled\n", r.Payments, r.Settled)
	for _, shape := range slices.Sorted(maps.Keys(r.Shapes)) {
		fmt.Fprintf(out, "      %5d %s\n", r.Shapes[shape], shape)
	}
	fmt.Fprintf(out, "payouts     %d made by the rail\n", r.Payouts)
	fmt.Fprintf(out, "events      %d received, %d again after acceptance, %d refused on purpose\n", r.Events, r.Duplicates, r.Refused)
	fmt.Fprintf(out, "lost        %d\n", r.Lost)
	fmt.Fprintf(out, "doubled     %d payments paid out more than once\n", doubled(r))
	if len(f.restores) > 0 {
		fmt.Fprintf(out, "restored    %d databases; with them went %d payments and the callbacks of %d events\n", len(f.restores), r.Away, r.Untold)
	}
	for _, n := range r.Networks {
		fmt.Fprintln(out, networkLine(n, f.struck[n.Name]))
	}
	for _, k := range r.Kinds {
		fmt.Fprintln(out, kindLine(k, f.struck[k.Name]))
	}
	for _, p := range r.Proofs {
		fmt.Fprintln(out, proofLine(p))
	}
	faults := len(r.Faults)
	for _, v := range r.Verdicts {
		faults += len(v.Faults)
	}
	for _, fault := range r.Faults {
		fmt.Fprintln(out, "FAULT      ", fault)
	}
	word := "CLEAN"
	if faults > 0 {
		word = fmt.Sprintf("%d FAULTS", faults)
	}
	fmt.Fprintf(out, "audit       %s\n", word)
}
