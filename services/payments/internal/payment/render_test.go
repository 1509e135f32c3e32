package payment_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	. "causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refund"
)

var update = flag.Bool("update", false, "write docs/state-machine.md from the table")

const docs = "../../../../docs/state-machine.md"

func TestDocsAreRenderedFromTheTable(t *testing.T) {
	want := render()
	if *update {
		if err := os.WriteFile(docs, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/state-machine.md differs from the table; run: go test ./services/payments/internal/payment -run Docs -update")
	}
}

func render() string {
	var b strings.Builder
	b.WriteString(`# The life of a payment

This page is generated from the transition table in ` + "`services/payments/internal/payment/table.go`" + `. Do not edit
it: a test fails when the two differ.

The row of a payment stores facets (funding, timing, claim, payout, hold, end and a few flags). Status and exception are
functions of them. The table below is total: every state has an outcome for every trigger. ` + "`settling_unfunded`" + ` is the
status ` + "`settling`" + ` with exception ` + "`unfunded`" + `. ` + "`none`" + ` is a payment that does not exist yet. One trigger may pass
several states: each is written to the history and has its own event.

Answers show the first exception that applies, in this order:
`)
	for i, e := range Exceptions() {
		switch {
		case i == 0:
		case i%6 == 0:
			b.WriteString(",\n")
		default:
			b.WriteString(", ")
		}
		b.WriteString("`" + string(e) + "`")
	}
	b.WriteString(".\n\n## Moves\n\n```mermaid\nstateDiagram-v2\n")
	type pair struct{ from, to State }
	by := map[pair][]string{}
	var order []pair
	each(func(s State, name TriggerName, c Cell) {
		for _, e := range c.Edges {
			p := pair{s, e.To}
			if by[p] == nil {
				order = append(order, p)
			}
			by[p] = append(by[p], string(name))
		}
	})
	for _, p := range order {
		from := string(p.from)
		if p.from == StateNone {
			from = "[*]"
		}
		fmt.Fprintf(&b, "    %s --> %s: %s\n", from, p.to, strings.Join(by[p], ", "))
	}
	b.WriteString("    refunded --> [*]\n```\n\n| From | Trigger | To | When |\n|---|---|---|---|\n")
	each(func(s State, name TriggerName, c Cell) {
		for _, e := range c.Edges {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s, name, e.To, e.When)
		}
	})
	b.WriteString("\n## Every state and trigger\n\nM moves to another state (its guards may let it only record, or refuse). r records amounts and facets and keeps the\nstate. · refuses with an error and changes nothing.\n\n| |")
	for _, name := range TriggerNames() {
		b.WriteString(" " + strings.ReplaceAll(string(name), "_", " ") + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(TriggerNames())) + "\n")
	for _, s := range States() {
		b.WriteString("| " + string(s) + " |")
		for _, name := range TriggerNames() {
			b.WriteString(" " + map[Outcome]string{Move: "M", Record: "r", Refuse: "·"}[Transitions()[s][name].Outcome] + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString(refundPart)
	fmt.Fprintf(&b, "\n| |")
	for _, name := range refund.TriggerNames() {
		b.WriteString(" " + strings.ReplaceAll(string(name), "_", " ") + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(refund.TriggerNames())) + "\n")
	for _, s := range refund.States() {
		b.WriteString("| " + string(s) + " |")
		for _, name := range refund.TriggerNames() {
			cell, text := refund.Transitions()[s][name], "·"
			if cell.Taken {
				text = string(cell.To)
				for _, e := range cell.Effects {
					text += ", " + strings.ReplaceAll(string(e), "_", " ")
				}
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

const refundPart = `
## The life of a refund

A payment may have several refunds. Each is a row with a state of its own, which the table in
` + "`services/payments/internal/refund/table.go`" + ` moves. A field names the next state and the bookings: *book* moves the
money out of the treasury, *reverse* moves it back, *give back* makes it owed to the payer again. · refuses. wallets
numbers its reports; an older report than the last one changes nothing, and a newer one may skip states.
`

func each(f func(State, TriggerName, Cell)) {
	for _, s := range States() {
		for _, name := range TriggerNames() {
			f(s, name, Transitions()[s][name])
		}
	}
}
