package rail

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sync/singleflight"

	"causeway.internal/libs/money"
)

// bookKeep is the age at which a book without a kept list reads the rail's list again.
const bookKeep = 24 * time.Hour

// Bounds of a rail's list of banks.
const (
	listMost     = 5000 // banks of one currency, with those that are gone
	listNameMost = 100  // characters of a name
)

// Listed is a bank in a rail's own list.
type Listed struct {
	Code string `json:"code"`
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`   // the rail's internal number, "" where it has none
	Kind string `json:"kind,omitempty"` // the rail's type of accounts at this bank
	Gone bool   `json:"gone,omitempty"` // the rail lists it no more; payments that were made with it are still sent
}

// List is a rail's list of banks of one currency as payments keeps it.
type List []Listed

// ErrListRefused refuses a rail's list of banks, for a reason that is good for a log.
var ErrListRefused = errors.New("the list of banks is refused")

var listCode = regexp.MustCompile(`^[0-9A-Za-z-]{1,32}$`)

// Renew is the list after the rail gave a new one. Banks that the new one lacks stay in it as gone. A new list with too
// many banks, with none, or with less than half of the banks before is refused; an operator's trust allows the last.
func (l List) Renew(fresh []Listed, trusted bool) (List, error) {
	if len(fresh) > listMost {
		return nil, fmt.Errorf("%w: it has %d banks, more than %d", ErrListRefused, len(fresh), listMost)
	}
	var out List
	has := map[string]bool{}
	for _, b := range fresh {
		b.Name, b.Gone = plainName(b.Name), false
		if listCode.MatchString(b.Code) && b.Name != "" && !has[b.Code] {
			has[b.Code] = true
			out = append(out, b)
		}
	}
	before := l.Open()
	switch {
	case len(out) == 0:
		return nil, fmt.Errorf("%w: it is empty", ErrListRefused)
	case len(out)*2 < before && !trusted:
		return nil, fmt.Errorf("%w: it has %d banks, less than half of the %d before", ErrListRefused, len(out), before)
	}
	for _, b := range l {
		if !has[b.Code] && len(out) < listMost {
			b.Gone = true
			out = append(out, b)
		}
	}
	return out, nil
}

// Open counts the banks that the rail lists now.
func (l List) Open() (n int) {
	for _, b := range l {
		if !b.Gone {
			n++
		}
	}
	return n
}

// plainName is a name of one line, without signs that nobody sees.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, " "))
	name = strings.Join(strings.Fields(name), " ")
	if r := []rune(name); len(r) > listNameMost {
		name = strings.TrimSpace(string(r[:listNameMost]))
	}
	return name
}

// Book holds the banks of a rail: its own lists, as payments keeps them, and until it has one the compiled table. It
// finds a bank's code in the rail's list too: a bank has several codes, and each rail accepts only the one in its list.
// It is safe for concurrent use.
type Book struct {
	Fetch func(ctx context.Context, cur money.Currency) ([]Listed, error)
	// Opens reports whether a bank that only the rail's list knows can be paid.
	Opens func(cur money.Currency, l Listed) bool
	// Pays reports whether the rail can pay an institution of the table at all.
	Pays func(e Entry) bool
	Now  func() time.Time

	calls singleflight.Group
	mu    sync.Mutex
	lists map[money.Currency]List     // kept by payments
	read  map[money.Currency]readList // by this book, where payments keeps none
}

type readList struct {
	banks List
	at    time.Time
}

// Keep makes the book use a list.
func (b *Book) Keep(cur money.Currency, l List) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lists == nil {
		b.lists = map[money.Currency]List{}
	}
	b.lists[cur] = l
}

func (b *Book) kept(cur money.Currency) List {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lists[cur]
}

// Entry is an institution by any of its codes: one of the table, or one that only the rail lists or listed.
func (b *Book) Entry(cur money.Currency, code string) (Entry, bool) {
	if e, ok := Find(cur, code); ok {
		return e, b.Pays(e)
	}
	for _, l := range b.kept(cur) {
		if strings.EqualFold(l.Code, code) && b.Opens(cur, l) {
			return Entry{Name: l.Name, Currency: cur, Codes: []string{l.Code}}, true
		}
	}
	return Entry{}, false
}

// Takes reports whether new payments to a bank are taken: the rail lists it now, or has given no list. Orders to mobile
// wallets need no list.
func (b *Book) Takes(cur money.Currency, code string) bool {
	e, ok := b.Entry(cur, code)
	if !ok {
		return false
	}
	list := b.kept(cur)
	return e.Wallet || len(list) == 0 || slices.ContainsFunc(list, func(l Listed) bool { return !l.Gone && e.Known(l.Code) })
}

// Banks lists the banks of a currency to which new payments are taken.
func (b *Book) Banks(cur money.Currency) (out []Bank) {
	list := b.kept(cur)
	listed := map[string]bool{}
	for _, l := range list {
		if !l.Gone {
			listed[strings.ToUpper(l.Code)] = true
		}
	}
	for _, e := range banks[cur] {
		has := slices.ContainsFunc(e.Codes, func(code string) bool { return listed[strings.ToUpper(code)] })
		if b.Pays(e) && (e.Wallet || len(list) == 0 || has) {
			out = append(out, Bank{Code: e.Codes[0], Name: e.Name, Currency: cur})
		}
	}
	for _, l := range list {
		if _, known := Find(cur, l.Code); !known && !l.Gone && b.Opens(cur, l) {
			out = append(out, Bank{Code: l.Code, Name: l.Name, Currency: cur})
		}
	}
	return out
}

// Find returns the entry's line in the rail's list, also one that is gone, or ErrUnsupported.
func (b *Book) Find(ctx context.Context, e Entry) (Listed, error) {
	list, err := b.list(ctx, e.Currency)
	if err != nil {
		return Listed{}, err
	}
	for _, gone := range []bool{false, true} {
		for _, code := range e.Codes {
			for _, l := range list {
				if l.Code == code && l.Gone == gone {
					return l, nil
				}
			}
		}
	}
	return Listed{}, fmt.Errorf("%s is not in the rail's list: %w", e.Name, ErrUnsupported)
}

func (b *Book) list(ctx context.Context, cur money.Currency) (List, error) {
	if list := b.kept(cur); len(list) > 0 {
		return list, nil
	}
	b.mu.Lock()
	have := b.read[cur]
	b.mu.Unlock()
	if !have.at.IsZero() && b.Now().Sub(have.at) < bookKeep {
		return have.banks, nil
	}
	v, err, _ := b.calls.Do(string(cur), func() (any, error) { return b.Fetch(ctx, cur) })
	fresh, _ := v.([]Listed)
	if err != nil || len(fresh) == 0 {
		if len(have.banks) > 0 {
			return have.banks, nil
		}
		return nil, fmt.Errorf("%w: no list of banks: %w", ErrUnavailable, errOr(err))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read == nil {
		b.read = map[money.Currency]readList{}
	}
	b.read[cur] = readList{fresh, b.Now()}
	return fresh, nil
}

func errOr(err error) error {
	if err == nil {
		return ErrNotFound
	}
	return err
}
