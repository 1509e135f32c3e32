package rail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"causeway.internal/libs/money"
)

// A list that is empty, too long or suddenly short is refused, and a bank that leaves a list stays in it as gone.
func TestList_renew(t *testing.T) {
	four := List{{Code: "1", Name: "A"}, {Code: "2", Name: "B"}, {Code: "3", Name: "C"}, {Code: "4", Name: "D"}}
	for name, c := range map[string]struct {
		fresh   []Listed
		trusted bool
		want    string // the codes, with - before those that are gone; "" for a refusal
	}{
		"the same":                {four, false, "1 2 3 4"},
		"half":                    {four[:2], false, "1 2 -3 -4"},
		"less than half":          {four[:1], false, ""},
		"less than half, trusted": {four[:1], true, "1 -2 -3 -4"},
		"empty":                   {nil, false, ""},
		"empty, trusted":          {nil, true, ""},
		"only bad rows":           {[]Listed{{Code: "a b", Name: "x"}, {Code: "", Name: "x"}, {Code: "7", Name: " \x00 "}}, true, ""},
		"too long":                {make([]Listed, listMost+1), true, ""},
		"another order and one twice": {
			[]Listed{{Code: "4", Name: "D"}, {Code: "4", Name: "E"}, {Code: "9", Name: "New"}}, false, "4 9 -1 -2 -3",
		},
	} {
		got, err := four.Renew(c.fresh, c.trusted)
		text := ""
		for _, b := range got {
			if text += " "; b.Gone {
				text += "-"
			}
			text += b.Code
		}
		if text != "" {
			text = text[1:]
		}
		if text != c.want || (c.want == "") != errors.Is(err, ErrListRefused) {
			t.Errorf("%s: %q, %v; want %q", name, text, err, c.want)
		}
	}
	back, err := List{{Code: "1", Name: "A", Gone: true}}.Renew([]Listed{{Code: "1", Name: "A\x1b[31m\n  B\xff"}}, false)
	if err != nil || len(back) != 1 || back[0].Gone || back[0].Name != "A [31m B" {
		t.Errorf("a bank that comes back = %+v, %v; want it open with a name of one line", back, err)
	}
}

func TestList_boundsWhatIsGone(t *testing.T) {
	list := List{{Code: "0", Name: "first"}}
	for i := range listMost {
		list = append(list, Listed{Code: fmt.Sprint("g", i), Name: "gone", Gone: true})
	}
	if got, err := list.Renew([]Listed{{Code: "0", Name: "first"}}, false); err != nil || len(got) != listMost {
		t.Errorf("Renew() has %d banks, %v; want %d", len(got), err, listMost)
	}
}

// With a kept list the banks are the list's, with the table's names and codes where it knows them. Without one they are
// the table's.
func TestBook_banks(t *testing.T) {
	b := &Book{
		Fetch: func(context.Context, money.Currency) ([]Listed, error) { return nil, errors.New("down") }, Now: time.Now,
		Opens: func(_ money.Currency, l Listed) bool { return l.Kind == "ghipss" }, Pays: func(Entry) bool { return true },
	}
	if got := b.Banks(money.GHS); !slices.Equal(got, KnownBanks(money.GHS)) || !b.Takes(money.GHS, "040100") {
		t.Errorf("without a list: %v, want the table", got)
	}
	b.Keep(money.GHS, List{
		{Code: "GH280100", Name: "ACCESS", Kind: "ghipss"},
		{Code: "030100", Name: "Absa Ghana", Kind: "ghipss"},
		{Code: "ATL", Name: "AT", Kind: "mobile_money"},
		{Code: "PAYBILL", Name: "Bills", Kind: "mobile_money_business"},
		{Code: "190100", Name: "Stanbic", Kind: "ghipss", Gone: true},
		{Code: "999999", Name: "Old", Kind: "ghipss", Gone: true},
	})
	want := []Bank{
		{"280100", "Access Bank Ghana", money.GHS},
		{"MTN", "MTN Mobile Money", money.GHS},
		{"VOD", "Telecel Cash", money.GHS},
		{"ATL", "AirtelTigo Money", money.GHS}, // no list needed
		{"030100", "Absa Ghana", money.GHS},
	}
	if got := b.Banks(money.GHS); !slices.Equal(got, want) {
		t.Errorf("Banks() = %v, want %v", got, want)
	}
	for code, want := range map[string]string{ // "takes" new payments, or only "sends" those that were made
		"280100": "takes", "GH280100": "takes", "030100": "takes", "mtn": "takes", "190100": "sends", "999999": "sends", "040100": "", "PAYBILL": "", "000": "",
	} {
		e, known := b.Entry(money.GHS, code)
		_, err := b.Find(t.Context(), e)
		got := ""
		switch {
		case b.Takes(money.GHS, code):
			got = "takes"
		case known && err == nil:
			got = "sends"
		}
		if got != want {
			t.Errorf("bank %s: %q, want %q", code, got, want)
		}
	}
}
