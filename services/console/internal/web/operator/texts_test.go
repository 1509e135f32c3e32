package operator

import (
	"encoding/json"
	"testing"
)

// Every title, label and word that the tables put together has a text.
func TestTexts(t *testing.T) {
	raw, err := files.ReadFile("texts/en.json")
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := json.Unmarshal(raw, &texts); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	need := func(keys ...string) {
		for _, key := range keys {
			if used[key] = true; texts[key] == "" {
				t.Errorf("look for the text %s: got none", key)
			}
		}
	}
	columns := func(all []column) {
		for _, c := range all {
			need("col." + c.Name)
		}
	}
	byName := actsByName()
	words := func(all []string) {
		for _, one := range all {
			need("value." + one)
		}
	}
	filters := func(all []filter) {
		for _, f := range all {
			need("filter." + f.Name)
			words(f.Options)
		}
	}
	tables := func(all []table) {
		for _, one := range all {
			need("table." + one.Name)
			if one.Text != "" {
				need(one.Text)
			}
			columns(one.Columns)
		}
	}
	for _, l := range lists() {
		tables(l.Tables)
		need("list."+l.Name+".title", "list."+l.Name+".text", "list."+l.Name+".none")
		columns(l.Columns)
		filters(l.Filters)
		for _, name := range append(l.Rows, l.Heads...) {
			if byName[name].Name == "" {
				t.Errorf("the list %s has the act %s, which there is not", l.Name, name)
			}
		}
	}
	need("value.csv", "board.none")
	for _, b := range boards() {
		need("board."+b.Name+".title", "board."+b.Name+".text")
		tables(b.Tables)
		for _, name := range b.Links {
			need("list." + name + ".title")
		}
	}
	filters(treasuryFilters)
	for _, table := range treasuryTables {
		need("treasury." + table.Name)
		columns(table.Columns)
	}
	for _, k := range cases() {
		need("case." + k.Name)
		for _, name := range k.Acts {
			if byName[name].Name == "" {
				t.Errorf("the case %s has the act %s, which there is not", k.Name, name)
			}
		}
	}
	for _, a := range acts() {
		need("decide."+a.Name, "decide."+a.Name+".text")
		for _, f := range a.Fields {
			need("field." + f.Name)
			words(f.Options)
		}
	}
	for _, item := range menu() {
		if item.Name != "team" {
			need("menu." + item.Name)
		}
	}
}

// A row that lacks a member of an act's address does not offer the act.
func TestRow(t *testing.T) {
	r := row{"id": "po 1", "receiver": map[string]any{"name": "ADA"}, "list": []any{"a", json.Number("1.50")}, "none": nil}
	for member, want := range map[string]string{"id": "po 1", "receiver.name": "ADA", "receiver.other": "", "id.x": "", "list": "a, 1.50", "none": "", "missing": ""} {
		if got := r.text(member); got != want {
			t.Errorf("the text of %s: got %q, want %q", member, got, want)
		}
	}
	if got, ok := r.filled("/payouts/{id}/ask"); !ok || got != "/payouts/po%201/ask" {
		t.Errorf("fill an address: got %s, %t", got, ok)
	}
	if got, ok := r.filled("/treasury?day={id}&mode=live"); !ok || got != "/treasury?day=po+1&mode=live" {
		t.Errorf("fill the query of an address: got %s, %t", got, ok)
	}
	if _, ok := r.filled("/payments/{paymentId}"); ok {
		t.Error("an address without its member is filled")
	}
}

// A form becomes the request of the API member by member.
func TestSet(t *testing.T) {
	body := map[string]any{}
	set(body, "reason", "x")
	set(body, "receiver.bankCode", "058")
	set(body, "receiver.accountNumber", "0123456789")
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"reason":"x","receiver":{"accountNumber":"0123456789","bankCode":"058"}}`; string(raw) != want {
		t.Errorf("set members: got %s, want %s", raw, want)
	}
}
