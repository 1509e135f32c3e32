package id_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/id"
	"causeway.internal/libs/shard"
)

// Each of the twelve random characters is drawn from the whole alphabet, with a code of a shard or without; but that
// without one no other payment's begin with G.
func TestReferences_areRandomAndToldApart(t *testing.T) {
	const draws = 4_000
	for name, kind := range map[string]struct {
		draw   func(shard.Code) string
		in     shard.Code
		prefix string
		gift   bool
	}{
		"a gift":                            {id.GiftReference, shard.First, "CW-GAA", true},
		"another payment":                   {id.PaymentReference, shard.First, "CW-AA", false},
		"a gift of another shard":           {id.GiftReference, "ZG", "CW-GZG", true},
		"another payment of another shard":  {id.PaymentReference, "ZG", "CW-ZG", false},
		"a gift of an earlier release":      {id.GiftReference, "", "CW-G", true},
		"another's of the earlier releases": {id.PaymentReference, "", "CW-", false},
	} {
		seen := map[string]bool{}
		var counts [12]map[rune]int
		for range draws {
			ref := kind.draw(kind.in)
			code, marked := strings.CutPrefix(ref, kind.prefix)
			if !marked || len(code) != 12 || !id.IsPaymentReference(ref) || (id.HideGifts(ref) != ref) != kind.gift || seen[ref] {
				t.Fatalf("%s: %q is malformed, repeats, or is of the wrong kind", name, ref)
			}
			if in, ok := id.ShardOf(ref); !ok || in != kind.in.Home() {
				t.Fatalf("%s: %q is in %q, want %q", name, ref, in, kind.in.Home())
			}
			seen[ref] = true
			for i, c := range code {
				if counts[i] == nil {
					counts[i] = map[rune]int{}
				}
				counts[i][c]++
			}
		}
		for i, of := range counts {
			alphabet := id.Alphabet
			if !kind.gift && kind.in == "" && i == 0 {
				alphabet = strings.ReplaceAll(alphabet, "G", "")
			}
			if len(of) != len(alphabet) {
				t.Errorf("%s: %d characters at place %d, want %d", name, len(of), i, len(alphabet))
			}
			mean := float64(draws) / float64(len(alphabet))
			deviation := math.Sqrt(mean)
			for _, c := range alphabet {
				if n := of[c]; math.Abs(float64(n)-mean) > 7*deviation {
					t.Errorf("%s: %c was drawn %d times at place %d, want about %.0f", name, c, n, i, mean)
				}
			}
		}
	}
}

// However a gift's reference is spelled and whatever stands around it, it is found and covered; no other text is
// touched.
func TestHideGifts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.StringOfN(rapid.RuneFrom([]rune(id.Alphabet)), 12, 12, -1)
		around := rapid.StringMatching(`[ a-z.:/?=-]{0,20}`)
		in := rapid.SampledFrom([]string{"", "AA", "ZG"}).Draw(t, "shard")
		spelled := "CW-G" + in + code.Draw(t, "gift")
		if rapid.Bool().Draw(t, "in small letters") {
			spelled = strings.ToLower(spelled)
		}
		before, after := around.Draw(t, "before"), rapid.StringMatching(`([ .:/?=-][ a-z.:/?=-]{0,20})?`).Draw(t, "after")
		text := before + spelled + after
		for name, hide := range map[string]func(string) string{"gifts": id.HideGifts, "all": id.HideReferences} {
			if got := hide(text); got != before+"CW-****"+after {
				t.Fatalf("hiding %s in %q leaves %q", name, text, got)
			}
		}
		if text := "CW-G" + code.Draw(t, "gift of an earlier release") + "xy"; id.HideGifts(text) == text {
			t.Fatalf("letters after the reference hide it in %q", text)
		}
		other := "CW-" + in + code.Filter(func(c string) bool { return c[0] != 'G' }).Draw(t, "another's")
		if text := before + other + after; id.HideGifts(text) != text || id.HideReferences(text) == text {
			t.Fatalf("%q is taken for a gift, or for no reference", text)
		}
	})
	for _, text := range []string{"", "CW-", "CW-G", "CW-1", "CW-G7KQ2M9XHTB", "CW-GARBAGE", "GIFT-G7KQ2M9XHTB4N", "RPT-G7KQ2M"} {
		if id.HideGifts(text) != text || id.HideReferences(text) != text {
			t.Errorf("%q is taken for a reference", text)
		}
	}
}

func TestIsPaymentReference(t *testing.T) {
	for _, s := range []string{
		"CW-ABCDEFGHJKMN", "CW-GABCDEFGHJKM", "CW-GABCDEFGHJKMN", "CW-AAABCDEFGHJKMN", "CW-GAAABCDEFGHJKMN", "CW-AAGGGGGGGGGGGG", "CW-2GABCDEFGHJKMN",
	} {
		if !id.IsPaymentReference(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{
		"", "CW-", "CW-ABCDEFGHJKM", "CW-ABCDEFGHJKMNP", "CW-GABCDEFGHJKMNP", "cw-ABCDEFGHJKMN", "cw-GABCDEFGHJKMN", "CW-ABCDEFGHJKM0",
		"CW-GABCDEFGHJKM0", "CW-AAABCDEFGHJKMNP", "CW-GGAABCDEFGHJKMN", "CW-GAAABCDEFGHJKMNP", "CW-AUABCDEFGHJKMN", "CW-GAUABCDEFGHJKMN", "CW-aaABCDEFGHJKMN", "CW-ABCDEFGHJKMN\n", "../ABCDEFGHJKMN", " CW-GABCDEFGHJKMN",
	} {
		if id.IsPaymentReference(s) {
			t.Errorf("%q passes", s)
		}
	}
}

// A person types a code with spaces, with the dash of a telephone's keyboard, glued to a word, or without what stands
// before it.
func TestHideTypedGifts(t *testing.T) {
	codes := rapid.StringOfN(rapid.RuneFrom([]rune(id.Alphabet)), 12, 12, -1)
	between := rapid.SampledFrom([]string{"", " ", "-", "\u2010", "\u2013", "\u00ad", "\u200b", ". ", "\n", "_"})
	rapid.Check(t, func(t *rapid.T) {
		code, in := codes.Draw(t, "gift"), rapid.SampledFrom([]string{"", "AA", "ZG"}).Draw(t, "shard")
		before := rapid.SampledFrom([]string{"my gift: ", "gift", "1", "gift_"}).Draw(t, "before")
		var typed strings.Builder
		typed.WriteString(before)
		for _, c := range "CWG" + in + code {
			typed.WriteString(string(c) + between.Draw(t, "between"))
		}
		text := typed.String()
		if rapid.Bool().Draw(t, "in small letters") {
			text = strings.ToLower(text)
		}
		got := id.HideTypedGifts(text)
		if !strings.HasPrefix(got, before+"CW-****") || strings.Contains(strings.ToUpper(got), code[:4]) {
			t.Fatalf("hiding gifts in %q leaves %q", text, got)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SampledFrom([]string{"", "the code is ", "gift_", "a great gift: ", "GREAT news: "}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", ".", "_", " thanks", "\nthat is all"}).Draw(t, "after")
		groups := []string{"G"}
		for rest := rapid.SampledFrom([]string{"", "AA", "ZG"}).Draw(t, "shard") + codes.Draw(t, "gift"); rest != ""; {
			n := min(rapid.IntRange(2, 14).Draw(t, "group"), len(rest))
			groups, rest = append(groups, rest[:n]), rest[n:]
		}
		if rapid.Bool().Draw(t, "G joined") {
			groups = append([]string{"G" + groups[1]}, groups[2:]...)
		}
		var spelled string
		mixed := func(group string) bool {
			return strings.ContainsAny(group, "23456789") && strings.Trim(group, "23456789") != ""
		}
		for i, group := range groups {
			if i > 0 {
				spelled += between.Filter(func(s string) bool { return s != "" }).Draw(t, "between")
			}
			spelled += group
		}
		if !slices.ContainsFunc(groups, mixed) {
			return // it may be words and numbers
		}
		if rapid.Bool().Draw(t, "in small letters") {
			spelled = strings.ToLower(spelled)
		}
		got := id.HideTypedGifts(before + spelled + after)
		start, rest, found := strings.Cut(got, "CW-****")
		if !found || start != before && start != "" || !strings.HasSuffix(after, rest) { // words beside it may look like a part
			t.Fatalf("hiding gifts in %q leaves %q", before+spelled+after, got)
		}
	})
	for text, want := range map[string]string{
		"my gift is G7KQ 2M9X HTB4 N":        "my gift is CW-****",
		"giftCW G7KQ 2M9X HTB4 N":            "giftCW-****",
		"giftCWG7KQ2M9XHTB4N":                "giftCW-****",
		"my_G7KQ2M9XHTB4N_":                  "my_CW-****_",
		"great news G7KQ 2M9X HTB4 N":        "CW-****", // great news G7KQ has the form of a code too
		"g-7kq2-m9xh-tb4n":                   "CW-****",
		"G7KQ 2M9X HTB4 N, G2AA BCDE FGHJ K": "CW-****, CW-****",
		"the code is GKQA MMXH TBCN W":       "the code is GKQA MMXH TBCN W", // without a digit it may be words
		"GKQA MMXH TBCN 2":                   "GKQA MMXH TBCN 2",             // nor with one that meets no letter
		"G 7 K Q 2 M 9 X H T B 4 N":          "G 7 K Q 2 M 9 X H T B 4 N",    // without CW-, not one by one
	} {
		if got := id.HideTypedGifts(text); got != want {
			t.Errorf("hiding gifts in %q leaves %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"", "I got a message from a number that I do not know", "GOVERNMENTSERVICES", "CW is a company. Go there and ask.", "CW-GARBAGE",
		"CW-XE3DB8WQTUGW", "G7KQ2M9", "0x71C7656EC7ab88b098defB751B7401B5f6d8976F", "TGzz8gjYiYRqpfmDwnLxfgPuLVNmpCswVp", "+2348012345678",
		"good morning I have", "GREAT FEES, great scam, they never sent the money back", "Grave abus : gare aux gens que cet agent a trompés.",
		"He gave 2 names and 3 numbers, then 45 more; get 6 back.", "Gates 22 23 24 25 26 27 28 29 and 32",
		"GB29 NWBK 6016 1331 9268 19", "GR96 2345 2345 2345 6789 2345 678", "GE29NB5555555555555555",
		"GBYX2ZV5EK7D2A4KQ5XQ7H2W3P6M8N9R4T5C6V7B8N9M2K3J4H5G6F7D", "bc1qgcwg7kq2m9xhtb4nvzw3d5e6f7h8j9k2m3n4p5",
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "call 2345 678 923 or 234-567-8923", "GTB 3456 789 2345", "GTB 2345678923", "gas fees were 25",
	} {
		if got := id.HideTypedGifts(text); got != text {
			t.Errorf("hiding gifts in %q leaves %q, want no change", text, got)
		}
	}
}

func BenchmarkHideTypedGifts(b *testing.B) {
	text := strings.Repeat("CWG", 1_000_000/3)
	for b.Loop() {
		id.HideTypedGifts(text)
	}
	b.SetBytes(int64(len(text)))
}
