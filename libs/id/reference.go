package id

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"causeway.internal/libs/shard"
)

// giftMark follows CW- in the reference of a gift, and of no other payment: no code of a shard begins with it. A
// claimant needs only the reference of a gift, so every service must recognise one by its form, without calling
// payments.
const giftMark = "G"

const (
	code   = `[` + Alphabet + `]{12}`
	placed = `(` + shard.Pattern + `)?` + code
)

// PaymentReference returns CW-, the code of the shard and 12 characters of Alphabet (59 bits): the reference of a
// payment that is no gift. Its holder may read the payment and fulfil a request. Without a code it has the form of
// earlier releases, in which the first of the twelve is not G.
func PaymentReference(in shard.Code) string {
	for {
		if drawn := random(12); in != "" || drawn[:1] != giftMark {
			return "CW-" + string(in) + drawn
		}
	}
}

// GiftReference returns CW-G, the code of the shard and 12 characters of Alphabet (59 bits): the bearer secret for
// which a gift is paid out.
func GiftReference(in shard.Code) string { return "CW-" + giftMark + string(in) + random(12) }

// EarlierReference returns CW- and 12 characters of Alphabet, the form of releases that did not mark gifts.
func EarlierReference() string { return "CW-" + random(12) }

var paymentReference = regexp.MustCompile(`^CW-` + giftMark + `?` + placed + `$`)

// IsPaymentReference reports whether s has the form of a payment's reference, a gift's or another's, with or without
// the code of a shard. A malformed one gets the answer of an unknown one (404), without a look-up.
func IsPaymentReference(s string) bool { return paymentReference.MatchString(s) }

// References are found in texts without regard to case: the alphabet has capitals only, so no spelling hides a code.
var (
	gift      = regexp.MustCompile(`(?i)CW-` + giftMark + placed)
	reference = regexp.MustCompile(`(?i)CW-` + giftMark + `?` + placed)
)

// concealed replaces a reference in a text.
const concealed = "CW-****"

// HideGifts masks the code of each gift's reference in a text, in any spelling and any context.
func HideGifts(text string) string {
	if !strings.Contains(text, "-G") && !strings.Contains(text, "-g") { // every line of a log passes here
		return text
	}
	return gift.ReplaceAllLiteralString(text, concealed)
}

// HideTypedGifts is HideGifts for a text that anybody may read and that a person has typed: at most apart other
// characters may be between those of a code, or what is before it may be missing. It rather masks too much: it may take
// two characters behind a code for a part of it.
func HideTypedGifts(text string) string {
	if !strings.ContainsAny(text, "gG") {
		return text
	}
	text = HideGifts(text)
	var out strings.Builder
	from, glued := 0, false // from is where the text begins that is not written yet
	for at, c := range text {
		end := 0
		switch c {
		case 'C', 'c':
			end = typedWhole(text, at, glued)
		case 'G', 'g':
			if !glued {
				end = typedBare(text, at)
			}
		}
		if end > 0 && at >= from { // or it overlaps the last one
			out.WriteString(text[from:at])
			out.WriteString(concealed)
		}
		from, glued = max(from, end), inWord(c)
	}
	out.WriteString(text[from:])
	return out.String()
}

const (
	apart  = 4
	digits = "23456789"
)

// typedWhole returns the end of a code that begins with CWG, 0 if there is none. If it is glued to a word before it, it
// has something between its characters or ends a word: it is no part of an address.
func typedWhole(text string, at int, glued bool) (end int) {
	const mark = "CW" + giftMark
	for n := 1; n <= len(mark)+14; n++ {
		c, next, gap := step(text, at)
		if n <= len(mark) && c != rune(mark[n-1]) || !strings.ContainsRune(Alphabet, c) {
			break
		}
		at = next
		glued = glued && (n == 1 || !gap)
		if (n == len(mark)+12 || n == len(mark)+14) && (!glued || endsWord(text, at)) {
			end = at
		}
	}
	return end
}

// typedBare returns the end of a code that begins with G, 0 if there is none. It is whole words, of which all but the
// last have two characters or more, and one has letters and digits: others may be words and numbers of a sentence.
func typedBare(text string, at int) (end int) {
	var code []rune
	var size int // of the word
	var letter, digit, mixed bool
	for n := 1; n <= 15; n++ {
		c, next, gap := step(text, at)
		if !strings.ContainsRune(Alphabet, c) || gap && n > 2 && size < 2 {
			break
		}
		if gap {
			size, letter, digit = 0, false, false
		}
		if strings.ContainsRune(digits, c) {
			digit = true
		} else {
			letter = true
		}
		code, at, size, mixed = append(code, c), next, size+1, mixed || letter && digit
		if mixed && endsWord(text, at) && (n == 13 || n == 15 && shard.Code(code[1:3]).Valid()) {
			end = at
		}
	}
	return end
}

// step returns the next letter or digit as a capital, 0 behind more than apart other characters, where it ends, and
// whether there are any.
func step(text string, at int) (c rune, next int, gap bool) {
	for range apart + 1 {
		r, size := utf8.DecodeRuneInString(text[at:])
		at += size
		if inWord(r) {
			return unicode.ToUpper(r), at, gap
		}
		gap = true
	}
	return 0, at, gap
}

func endsWord(text string, at int) bool {
	c, _ := utf8.DecodeRuneInString(text[at:])
	return !inWord(c)
}

func inWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }

// HideReferences masks the code of every payment's reference, for texts from before gifts were marked: any of them may
// be a gift's.
func HideReferences(text string) string { return reference.ReplaceAllLiteralString(text, concealed) }
