package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/report"
)

// docs/api-contract.md#reports: pending → processing or dismissed; processing → resolved or dismissed; nothing else.
func TestStatus_table(t *testing.T) {
	allowed := map[report.Status][]report.Status{
		report.Pending:    {report.Processing, report.Dismissed},
		report.Processing: {report.Resolved, report.Dismissed},
	}
	now := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	for _, from := range report.Statuses() {
		for _, to := range report.Statuses() {
			old := report.Report{Status: from, Version: 3, Sequence: 2, CreatedAt: now.Add(-time.Hour), Confirmer: "before", Notes: "before"}
			got, err := old.Apply(report.Change{To: to}, now)
			if want := slices.Contains(allowed[from], to); (err == nil) != want {
				t.Errorf("%s to %s: %v, want allowed %v", from, to, err, want)
			}
			if err != nil {
				if f := fault.As(err); f.Kind != fault.Conflict || got != old {
					t.Errorf("%s to %s: %v and %+v, want a 409 and no change", from, to, err, got)
				}
				continue
			}
			if got.Status != to || got.Version != 4 || got.Sequence != 3 || !got.UpdatedAt.Equal(now) || got.Confirmer != "before" || got.Notes != "before" {
				t.Errorf("%s to %s: %+v", from, to, got)
			}
		}
	}
	who, why := "ann", "seen"
	got, err := report.Report{Status: report.Pending}.Apply(report.Change{To: report.Dismissed, Confirmer: &who, Notes: &why}, now)
	if err != nil || got.Confirmer != who || got.Notes != why {
		t.Errorf("dismiss a report: got %+v, %v, want the confirmer ann and her notes", got, err)
	}
}

func TestPhone(t *testing.T) {
	for raw, want := range map[string]string{
		"2348012345678": "2348012345678", "+234 801 234-5678": "2348012345678", "(0801) 234.5678": "08012345678", " +1 [555] 010-0": "15550100",
		"(+234)8012345": "2348012345", "123456": "123456", "12345678901234567890": "12345678901234567890", "123\u00a0456": "123456",
		"12345": "", "123456789012345678901": "", "": "", "   ": "", "++234801234": "", "234+801234": "", "call me": "", "12345a": "",
		"0x52908400098527886E0F7030069857D2E4169EE7": "", "١٢٣٤٥٦": "", "123456\x00": "", "123/456": "", "+": "", "123456;": "",
	} {
		got, ok := report.Phone(raw)
		if ok != (want != "") || (ok && got != want) {
			t.Errorf("%q is %q (%v), want %q", raw, got, ok, want)
		}
	}
}

func TestAddressKey(t *testing.T) {
	for raw, want := range map[string]string{
		"0xAbC": "0xabc", "0XAbC": "0xabc", "TJRyWwFs9wTFGZg3Jb": "TJRyWwFs9wTFGZg3Jb", "bc1QW": "bc1QW", "": "", "0": "0", "0x": "0x",
	} {
		if got := report.AddressKey(raw); got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
}

func TestReference(t *testing.T) {
	for raw, want := range map[string]string{
		"RPT-ABC234": "RPT-ABC234", "RPT-abc234": "RPT-ABC234", "RPT-000000": "RPT-000000",
		"rpt-ABC234": "", "RPT-ABC23": "", "RPT-ABC2345": "", "RPT_ABC234": "", "RPT-ABC23!": "", "RPT-ABC23\n": "", "": "", " RPT-ABC234": "", "RPT-ABCDÉF": "",
	} {
		if got, ok := report.Reference(raw); ok != (want != "") || got != want {
			t.Errorf("%q is %q %v, want %q", raw, got, ok, want)
		}
	}
}

func good() report.Filing {
	return report.Filing{Kind: "fraud", Name: "Ada Obi", Phone: "+234 801 234 5678"}
}

// Every rule of docs/api-contract.md#reports, with the fields that an error names.
func TestFiling_rules(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*report.Filing)
		fields string // "" is accepted
		text   string
	}{
		"phone alone":              {func(*report.Filing) {}, "", ""},
		"wallet alone":             {func(f *report.Filing) { f.Phone, f.Wallet = "", "TX" }, "", ""},
		"both":                     {func(f *report.Filing) { f.Wallet = "TX" }, "", ""},
		"neither":                  {func(f *report.Filing) { f.Phone = "" }, "phoneNumber walletAddress", report.NeitherFiled},
		"blank phone and wallet":   {func(f *report.Filing) { f.Phone, f.Wallet = "  ", "\t" }, "phoneNumber walletAddress", report.NeitherFiled},
		"neither and more wrong":   {func(f *report.Filing) { *f = report.Filing{} }, "complaintType name phoneNumber walletAddress", report.NeitherFiled},
		"track_transaction":        {func(f *report.Filing) { f.Kind = "track_transaction" }, "", ""},
		"stolen_funds":             {func(f *report.Filing) { f.Kind = "stolen_funds" }, "", ""},
		"no type":                  {func(f *report.Filing) { f.Kind = "" }, "complaintType", "complaintType: is required"},
		"other type":               {func(f *report.Filing) { f.Kind = "Fraud" }, "complaintType", "complaintType: must be one of track_transaction, stolen_funds, fraud"},
		"no name":                  {func(f *report.Filing) { f.Name = "" }, "name", "name: is required"},
		"blank name":               {func(f *report.Filing) { f.Name = " \n" }, "name", "name: is required"},
		"longest name":             {func(f *report.Filing) { f.Name = strings.Repeat("é", 255) }, "", ""},
		"too long a name":          {func(f *report.Filing) { f.Name = strings.Repeat("é", 256) }, "name", ""},
		"short phone":              {func(f *report.Filing) { f.Phone = "12345" }, "phoneNumber", ""},
		"long phone":               {func(f *report.Filing) { f.Phone = strings.Repeat("1", 21) }, "phoneNumber", ""},
		"bad phone beside wallet":  {func(f *report.Filing) { f.Phone, f.Wallet = "none", "TX" }, "phoneNumber", ""},
		"longest addresses":        {func(f *report.Filing) { f.Wallet, f.Fraudster = strings.Repeat("w", 128), strings.Repeat("f", 128) }, "", ""},
		"too long a wallet":        {func(f *report.Filing) { f.Wallet = strings.Repeat("w", 129) }, "walletAddress", ""},
		"too long a fraudster":     {func(f *report.Filing) { f.Fraudster = strings.Repeat("w", 129) }, "fraudsterWalletAddress", ""},
		"padded to too long":       {func(f *report.Filing) { f.Wallet = "  " + strings.Repeat("w", 128) + "  " }, "", ""},
		"longest session":          {func(f *report.Filing) { f.Session = " " + strings.Repeat("s", 64) }, "", ""},
		"too long a session":       {func(f *report.Filing) { f.Session = strings.Repeat("s", 65) }, "sessionReference", ""},
		"5000 code points":         {func(f *report.Filing) { f.Text = strings.Repeat("🙂", 5000) }, "", ""},
		"5001 code points":         {func(f *report.Filing) { f.Text = strings.Repeat("a", 5001) }, "description", ""},
		"everything wrong at once": {func(f *report.Filing) { *f = report.Filing{Kind: "x", Phone: "x", Text: strings.Repeat("a", 5001)} }, "complaintType name phoneNumber description", ""},
	} {
		f := good()
		tc.change(&f)
		var p fault.Problems
		f.Check(&p)
		err := p.Err()
		var fields []string
		if err != nil {
			for _, one := range fault.As(err).Fields {
				fields = append(fields, one.Field)
			}
		}
		if got := strings.Join(fields, " "); got != tc.fields {
			t.Errorf("%s: fields %q, want %q", name, got, tc.fields)
		}
		if tc.text != "" && fault.As(err).Message != tc.text {
			t.Errorf("%s: message %q, want %q", name, fault.As(err).Message, tc.text)
		}
	}
}

// A phone that was sent and could not be read is not a missing one.
func TestFiling_unreadIsNotMissing(t *testing.T) {
	var p fault.Problems
	p.Add("phoneNumber", "must be a string")
	report.Filing{Kind: "fraud", Name: "A"}.Check(&p, "phoneNumber")
	if f := fault.As(p.Err()); f.Message == report.NeitherFiled || len(f.Fields) != 1 {
		t.Errorf("check a filing with an unreadable number: got %+v, want that field alone", f)
	}
}

func TestFiling_cleans(t *testing.T) {
	var p fault.Problems
	r := report.Filing{
		Kind: "fraud", Name: " Ada ", Phone: "(0801) 234-567", Wallet: " 0xAB ", Session: " CW-1 ", Fraudster: "\tTXY\n", Text: " said ",
	}.Check(&p)
	want := report.Report{
		Kind: report.Fraud, Name: " Ada ", Phone: "0801234567", Wallet: "0xAB", Session: "CW-1", Fraudster: "TXY", Text: " said ",
		Status: report.Pending, Version: 1, Sequence: 1,
	}
	if r != want || p.Err() != nil {
		t.Errorf("%+v %v, want %+v", r, p.Err(), want)
	}
}

func TestLookup_cleansAndNeverRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		asked         report.Asked
		phone, wallet string
	}{
		"spelling":        {report.Asked{Phone: " +234-801 (234)", Wallet: " 0xABC "}, "234801234", "0xabc"},
		"no phone":        {report.Asked{Phone: "banana"}, "", ""},
		"case matters":    {report.Asked{Wallet: "TXabC"}, "", "TXabC"},
		"NUL":             {report.Asked{Wallet: "a\x00b"}, "", ""},
		"not UTF-8":       {report.Asked{Wallet: "a\xff"}, "", ""},
		"longer than any": {report.Asked{Wallet: strings.Repeat("x", 129)}, "", ""},
		"wildcards":       {report.Asked{Wallet: "%", Phone: "%%%%%%%"}, "", "%"},
	} {
		var p fault.Problems
		tc.asked.Check(&p)
		if l := tc.asked.Clean(); p.Err() != nil || l.Phone != tc.phone || l.Wallet != tc.wallet || l.Empty() != (tc.phone+tc.wallet == "") {
			t.Errorf("%s: got %+v (%v), want the phone %q and the wallet %q", name, l, p.Err(), tc.phone, tc.wallet)
		}
	}
	var p fault.Problems
	report.Asked{Limit: 50}.Check(&p)
	if f := fault.As(p.Err()); f.Message != report.NeitherAsked || f.Kind != fault.Invalid {
		t.Errorf("neither: %+v", f)
	}
}

func TestLookup_filters(t *testing.T) {
	if l := (report.Asked{Status: "all"}).Clean(); l.Wanted().Total() != report.Cells {
		t.Errorf("all: %+v", l)
	}
	l := report.Asked{Status: "resolved", Kind: "fraud"}.Clean()
	if got := l.Wanted(); got != report.One(report.Resolved, report.Fraud) {
		t.Errorf("both filters: %v", got)
	}
	if got := (report.Asked{Kind: "fraud"}).Clean().Wanted(); got.Total() != int64(len(report.Statuses())) {
		t.Errorf("a type: %v", got)
	}
	seen := map[int]bool{}
	for _, s := range report.Statuses() {
		for _, k := range report.Kinds() {
			seen[report.Cell(s, k)] = true
		}
	}
	if len(seen) != report.Cells || seen[-1] || !seen[0] || !seen[report.Cells-1] {
		t.Errorf("cells %v", seen)
	}
}

// Phone plus wallet minus both: a report that has both is counted once.
func TestSubjects_addUp(t *testing.T) {
	of := func(phone, wallet string) report.Report {
		return report.Report{Mode: tenant.Test, Phone: phone, Wallet: wallet, Kind: report.Fraud, Status: report.Pending}
	}
	kept := map[report.Subject]int{}
	all := []report.Report{of("111111", "0xAA"), of("111111", ""), of("", "0xaa"), of("222222", "0xaA"), of("111111", "TT"), of("222222", "")}
	all = append(all, report.Report{Mode: tenant.Live, Phone: "111111"})
	for _, r := range all {
		subjects := r.Subjects(report.Plain)
		if !slices.IsSortedFunc(subjects, func(a, b report.Subject) int { return slices.Compare(a[:], b[:]) }) {
			t.Error("not in the order of locks")
		}
		for _, s := range subjects {
			kept[s]++
		}
	}
	for _, tc := range []struct {
		phone, wallet string
		modes         []tenant.Mode
		want          int
	}{
		{"111111", "", []tenant.Mode{tenant.Test}, 3},
		{"111111", "", tenant.Modes(), 4},
		{"", "0xAA", []tenant.Mode{tenant.Test}, 3},
		{"111111", "0xAA", []tenant.Mode{tenant.Test}, 5},
		{"222222", "0xaa", []tenant.Mode{tenant.Test}, 4},
		{"333333", "", tenant.Modes(), 0},
	} {
		total := 0
		for _, w := range (report.Asked{Phone: tc.phone, Wallet: tc.wallet}).Clean().Weighted(tc.modes, report.Plain) {
			total += w.Weight * kept[w.Subject]
		}
		if total != tc.want {
			t.Errorf("%s %s in %v: %d, want %d", tc.phone, tc.wallet, tc.modes, total, tc.want)
		}
	}
}

func TestCursor(t *testing.T) {
	p := report.Position{At: time.Date(2026, 4, 1, 13, 30, 0, 123e6, time.UTC), ID: 987654321}
	if got, ok := report.ParseCursor(p.Cursor()); !ok || got != p {
		t.Errorf("%+v %v, want %+v", got, ok, p)
	}
	for _, bad := range []string{"x", "!!", "MQ", "LTEuMQ", "MS4tMQ", "enp6enp6enp6enp6enouMQ", p.Cursor() + "A", "MS4xLjE"} {
		if got, ok := report.ParseCursor(bad); ok {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}

func TestConvicts(t *testing.T) {
	r := report.Report{Fraudster: "T", Kind: report.Fraud, Status: report.Resolved}
	if !r.Convicts() {
		t.Error("a resolved fraud report does not count")
	}
	for name, change := range map[string]func(*report.Report){
		"open": func(r *report.Report) { r.Status = report.Processing }, "dismissed": func(r *report.Report) { r.Status = report.Dismissed },
		"nobody named": func(r *report.Report) { r.Fraudster = "" }, "other type": func(r *report.Report) { r.Kind = report.StolenFunds },
	} {
		other := r
		change(&other)
		if other.Convicts() {
			t.Errorf("%s: counts", name)
		}
	}
}

// Any input is either refused or a report within the limits of its columns.
func FuzzFiling(f *testing.F) {
	f.Add("fraud", "Ada", "+234 801", "0xAB", "CW-1", "TX", "text")
	f.Add("", "", "", "", "", "", "")
	f.Add("fraud", "\u2028", "(((", " ", "\t", "0X", strings.Repeat("🙂", 5001))
	f.Fuzz(func(t *testing.T, kind, name, phone, wallet, session, fraudster, text string) {
		var p fault.Problems
		r := report.Filing{Kind: kind, Name: name, Phone: phone, Wallet: wallet, Session: session, Fraudster: fraudster, Text: text}.Check(&p)
		if p.Err() != nil {
			return
		}
		if r.Phone == "" && r.Wallet == "" || !slices.Contains(report.Kinds(), r.Kind) || r.Status != report.Pending {
			t.Fatalf("accepted %+v", r)
		}
		for what, bound := range map[string]int{r.Wallet: 128, r.Fraudster: 128, r.Session: 64, r.Name: 255, r.Text: 5000} {
			if utf8.RuneCountInString(what) > bound {
				t.Fatalf("%q is longer than %d", what, bound)
			}
		}
		if d := r.Phone; d != "" && (len(d) < 6 || len(d) > 20 || strings.Trim(d, "0123456789") != "") {
			t.Fatalf("phone %q", d)
		}
		if again, ok := report.Phone(r.Phone); r.Phone != "" && (!ok || again != r.Phone) {
			t.Fatalf("cleaning %q again gives %q", r.Phone, again)
		}
		// A look-up by what was sent finds what was kept.
		l := report.Asked{Phone: phone, Wallet: wallet}.Clean()
		if l.Phone != r.Phone || report.Storable(r.Wallet) && l.Wallet != report.AddressKey(r.Wallet) {
			t.Fatalf("filed as %q %q, looked up as %q %q", r.Phone, r.Wallet, l.Phone, l.Wallet)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add(report.Position{At: time.UnixMilli(1_700_000_000_000), ID: 42}.Cursor())
	f.Add("MS4x")
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := report.ParseCursor(text)
		if !ok {
			return
		}
		if again, ok := report.ParseCursor(p.Cursor()); !ok || again != p {
			t.Fatalf("%q is %+v, again %+v", text, p, again)
		}
		if p.At.Year() > 9999 || p.ID < 0 {
			t.Fatalf("parse a cursor: got %+v, want a year of four digits and no negative id", p)
		}
	})
}

// A viewer who did not file a report sees no gift's reference in it, in any spelling and at any place, and everything
// else unchanged.
func TestPublic(t *testing.T) {
	const gift, other = "CW-G7KQ2M9XHTB4N", "CW-XE3DB8WQTUGW"
	for _, spelled := range []string{gift, strings.ToLower(gift), "https://pay.example/claim/" + gift, strings.ToLower(gift) + "-1", "cw g7kq 2m9x htb4n", "G7KQ2M9XHTB4N"} {
		r := report.Report{
			Session: spelled, Name: "Ada " + spelled, Wallet: spelled, Fraudster: spelled, Text: "He has " + spelled + ", not " + other + ".", Phone: "2348012345678",
		}
		public := r.Public(time.Time{})
		if public.Session != "" || public.Phone != r.Phone || !strings.HasSuffix(public.Text, ", not "+other+".") {
			t.Errorf("publish a report that names %q: got %+v", spelled, public)
		}
		for _, text := range []string{public.Name, public.Wallet, public.Fraudster, public.Text} {
			if strings.Contains(strings.ToUpper(strings.ReplaceAll(text, " ", "")), gift[4:]) || text == "" {
				t.Errorf("%q leaves %q", spelled, text)
			}
		}
		if r.Session != spelled {
			t.Error("the report itself has changed")
		}
	}
	plain := report.Report{
		Session: other, Name: "Ada", Wallet: "0xAb", Fraudster: "TX", Text: "about " + other + " and CW-GARBAGE",
		CreatedAt: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC),
	}
	if plain.Public(plain.CreatedAt) != plain {
		t.Errorf("%+v is shown as %+v", plain, plain.Public(plain.CreatedAt))
	}
	earlier := plain
	earlier.Earlier = true // any reference may be a gift's
	for what, public := range map[string]report.Report{
		"an earlier report":                        earlier.Public(time.Time{}),
		"a report of the time with unmarked gifts": plain.Public(plain.CreatedAt.Add(time.Millisecond)),
	} {
		if public.Session != "" || public.Text != "about CW-**** and CW-GARBAGE" || public.Name != "Ada" {
			t.Errorf("%s is shown as %+v", what, public)
		}
	}
}
