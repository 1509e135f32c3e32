package id

import (
	"regexp"
	"strings"

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

// The forms in which people type a gift's code: with anything but letters and digits between its characters, or
// without the CW- before it. The latter is a word of its own that has a digit: one code in thirty has none.
var (
	typed = regexp.MustCompile(`(?i)\bC` + between + `W` + between + `G(` + between + `[` + Alphabet + `]){12}((` + between + `[` + Alphabet + `]){2})?`)
	bare  = regexp.MustCompile(`(?i)\bG` + placed + `\b`)
)

const (
	between = `[^\pL\pN]{0,4}`
	digits  = "23456789"
)

// HideTypedGifts is HideGifts for a text that anybody may read and that a person has typed. It rather masks too much:
// it may take two characters behind a code for a part of it.
func HideTypedGifts(text string) string {
	text = typed.ReplaceAllLiteralString(HideGifts(text), concealed)
	return bare.ReplaceAllStringFunc(text, func(word string) string {
		if strings.ContainsAny(word, digits) {
			return concealed
		}
		return word
	})
}

// HideReferences masks the code of every payment's reference, for texts from before gifts were marked: any of them may
// be a gift's.
func HideReferences(text string) string { return reference.ReplaceAllLiteralString(text, concealed) }
