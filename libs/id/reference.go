package id

import (
	"regexp"
	"strings"
)

// giftMark begins the code of a gift's reference, and of no other payment's. A claimant needs only the reference of a
// gift, so every service must recognise one by its form, without calling payments.
const giftMark = "G"

const code = `[` + Alphabet + `]{12}`

// PaymentReference returns CW- and 12 characters of Alphabet of which the first is not G (59 bits): the reference of a
// payment that is no gift. Its holder may read the payment and fulfil a request.
func PaymentReference() string {
	for {
		if drawn := random(12); drawn[:1] != giftMark {
			return "CW-" + drawn
		}
	}
}

// GiftReference returns CW-G and 12 characters of Alphabet (59 bits): the bearer secret for which a gift is paid out.
func GiftReference() string { return "CW-" + giftMark + random(12) }

// EarlierReference returns CW- and 12 characters of Alphabet, the form of releases that did not mark gifts.
func EarlierReference() string { return "CW-" + random(12) }

var paymentReference = regexp.MustCompile(`^CW-` + giftMark + `?` + code + `$`)

// IsPaymentReference reports whether s has the form of a payment's reference, a gift's or another's. A malformed one
// gets the answer of an unknown one (404), without a look-up.
func IsPaymentReference(s string) bool { return paymentReference.MatchString(s) }

// References are found in texts without regard to case: the alphabet has capitals only, so no spelling hides a code.
var (
	gift      = regexp.MustCompile(`(?i)CW-` + giftMark + code)
	reference = regexp.MustCompile(`(?i)CW-` + giftMark + `?` + code)
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

// HideReferences masks the code of every payment's reference, for texts from before gifts were marked: any of them may
// be a gift's.
func HideReferences(text string) string { return reference.ReplaceAllLiteralString(text, concealed) }
