package report

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

// NeitherAsked is the text of docs/api-contract.md#fixed-texts for a look-up without phone and wallet.
const NeitherAsked = "At least one of phoneNumber or walletAddress is required"

// Position is a place in a list from the newest report to the oldest, by time and then by id. A report is behind the
// position when it is older.
type Position struct {
	At time.Time
	ID int64
}

// Cursor writes a position as the opaque text that the next request sends back.
func (p Position) Cursor() string {
	text := strconv.FormatInt(p.At.UnixMilli(), 36) + "." + strconv.FormatInt(p.ID, 36)
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// lastMilli is the end of the year 9999, beyond which no row has a time.
const lastMilli = 253402300799999

// ParseCursor parses the text of Cursor.
func ParseCursor(text string) (Position, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Position{}, false
	}
	at, id, ok := strings.Cut(string(raw), ".")
	ms, errAt := strconv.ParseInt(at, 36, 64)
	n, errID := strconv.ParseInt(id, 36, 64)
	if !ok || errAt != nil || errID != nil || ms < 0 || ms > lastMilli || n < 0 {
		return Position{}, false
	}
	return Position{At: time.UnixMilli(ms).UTC(), ID: n}, true
}

// Asked is a look-up as it was sent. Statuses and types are words of the interface or ""; After nil means by offset.
type Asked struct {
	Phone, Wallet string
	Status        string
	Kind          string
	Limit, Offset int
	ByCursor      bool
	After         *Position
}

// Own is a list of a merchant's own reports, newest first. Statuses and types are all of them without a filter.
type Own struct {
	Statuses []Status
	Kinds    []Kind
	Limit    int
	After    *Position
}

// AnyStatus asks for every status, as no status at all does (docs/api-contract.md#pagination).
const AnyStatus = "all"

// Lookup is a cleaned look-up. An empty Phone or Wallet matches nothing; with both a report matches if either does.
type Lookup struct {
	Phone    string   // digits
	Wallet   string   // as AddressKey has it
	Statuses []Status // all of them without a filter
	Kinds    []Kind
	Limit    int
	Offset   int
	ByCursor bool
	After    *Position
}

// Check adds a problem for each missing part of a look-up.
func (a Asked) Check(problems *fault.Problems) {
	if a.Phone == "" && a.Wallet == "" {
		problems.Say(NeitherAsked)
		problems.Add(fieldPhone, "is required unless walletAddress is given")
		problems.Add(fieldWallet, "is required unless phoneNumber is given")
	}
	if a.ByCursor && a.Offset > 0 {
		problems.Add("offset", "cannot be used together with cursor")
	}
}

// Clean cleans a look-up like a filing, but never refuses: a text that no report can hold finds nothing.
func (a Asked) Clean() Lookup {
	l := Lookup{
		Statuses: Statuses(), Kinds: Kinds(), Limit: a.Limit, Offset: a.Offset, ByCursor: a.ByCursor, After: a.After,
	}
	if digits, ok := Phone(a.Phone); ok {
		l.Phone = digits
	}
	if w := Trim(a.Wallet); Storable(w) && utf8.RuneCountInString(w) <= AddressMax {
		l.Wallet = AddressKey(w)
	}
	if a.Status != "" && a.Status != AnyStatus {
		l.Statuses = []Status{Status(a.Status)}
	}
	if a.Kind != "" {
		l.Kinds = []Kind{Kind(a.Kind)}
	}
	return l
}

// Empty reports whether the look-up can match nothing.
func (l Lookup) Empty() bool { return l.Phone == "" && l.Wallet == "" }

// Wanted is one in every cell that passes the filters.
func (l Lookup) Wanted() Counts {
	var c Counts
	for _, s := range l.Statuses {
		for _, k := range l.Kinds {
			c[Cell(s, k)] = 1
		}
	}
	return c
}

// Subject is a hash by which reports are counted: 16 bytes for any input, so that it does not reveal the subject.
type Subject [16]byte

// Hash turns a text with a phone into at least 16 bytes. Plain is one; a holder of the counters alone cannot try all
// phones against a keyed one.
type Hash func(text string) []byte

// Plain is SHA-256. It suffices for addresses, which are public; phones were counted by it before they were sealed.
func Plain(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// The kinds of subjects.
const (
	byPhone  = "phone"
	byWallet = "wallet"
	byBoth   = "both"
)

func subject(hash Hash, mode tenant.Mode, what string, values ...string) Subject {
	return Subject(hash(string(mode) + "\x00" + what + "\x00" + strings.Join(values, "\x00"))[:16])
}

// Subjects are the subjects that a report counts towards: its phone, its wallet, and with both their pair, which a
// look-up by both must not count twice. hash hides the phone. They are in the order of row locks.
func (r Report) Subjects(hash Hash) []Subject {
	var all []Subject
	for _, w := range weigh(r.Mode, r.Phone, AddressKey(r.Wallet), hash) {
		all = append(all, w.Subject)
	}
	slices.SortFunc(all, func(a, b Subject) int { return slices.Compare(a[:], b[:]) })
	return all
}

// Weighted is a subject with the sign with which it enters a total.
type Weighted struct {
	Subject Subject
	Weight  int
}

// Weighted are the subjects whose counts add up to the look-up's total in these modes: phone plus wallet minus both. A
// phone is counted under any of the hashes.
func (l Lookup) Weighted(modes []tenant.Mode, hashes ...Hash) []Weighted {
	var all []Weighted
	for _, mode := range modes {
		all = append(all, weigh(mode, l.Phone, l.Wallet, hashes...)...)
	}
	return all
}

func weigh(mode tenant.Mode, phone, wallet string, hashes ...Hash) []Weighted {
	var all []Weighted
	if wallet != "" {
		all = append(all, Weighted{subject(Plain, mode, byWallet, wallet), 1})
	}
	if phone == "" {
		return all
	}
	for _, hash := range hashes {
		all = append(all, Weighted{subject(hash, mode, byPhone, phone), 1})
		if wallet != "" {
			all = append(all, Weighted{subject(hash, mode, byBoth, phone, wallet), -1})
		}
	}
	return all
}
