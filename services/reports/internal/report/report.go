// Package report holds the rules of fraud and complaint reports: their fields, how texts are cleaned and compared,
// which statuses follow which, and the terms of a look-up. It is pure: no I/O, no clock, no randomness.
package report

import (
	"strconv"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/tenant"
)

// Kind is a report's complaint type (docs/api-contract.md#reports).
type Kind string

// The complaint types.
const (
	TrackTransaction Kind = "track_transaction"
	StolenFunds      Kind = "stolen_funds"
	Fraud            Kind = "fraud"
)

// Kinds lists the complaint types in the order of gateway/openapi.yaml.
func Kinds() []Kind { return []Kind{TrackTransaction, StolenFunds, Fraud} }

// Report is one report. Empty optional texts were not supplied and are shown as null.
type Report struct {
	ID         int64  // numeric record id
	Reference  string // RPT- and six characters, upper-case
	KeyID      int64  // id of the API key that filed it
	MerchantID string // owner of that key
	Mode       tenant.Mode
	Session    string // related payment reference, as given
	Earlier    bool   // filed before gifts' references were marked
	Kind       Kind
	Name       string
	Phone      string // digits
	Wallet     string // reporter's wallet address, trimmed
	Fraudster  string // alleged fraudster's wallet address, trimmed
	Text       string // description
	Status     Status
	Confirmer  string // internal: the public never sees it
	Notes      string // internal: the public never sees it
	Version    int64  // counts the writes of the row
	Sequence   int64  // counts the events of the report: 1, 2, 3
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Public is the report for everybody but the merchant who filed it. A gift's reference is enough to claim the gift, so
// such a session reference is omitted, and the code is masked in every text. A report from before markedSince may name
// a gift without the mark, so every reference in it is treated as one.
func (r Report) Public(markedSince time.Time) Report {
	hide := id.HideTypedGifts
	if r.Earlier || r.CreatedAt.Before(markedSince) {
		hide = func(text string) string { return id.HideTypedGifts(id.HideReferences(text)) }
	}
	if hide(r.Session) != r.Session {
		r.Session = ""
	}
	for _, text := range []*string{&r.Name, &r.Wallet, &r.Fraudster, &r.Text} {
		*text = hide(*text)
	}
	return r
}

// Reporter identifies the reporter: by the phone, or without one by the wallet. An erased reporter is identified by the
// report alone.
func (r Report) Reporter() string {
	switch {
	case r.Phone != "":
		return "phone:" + r.Phone
	case r.Wallet != "":
		return "wallet:" + AddressKey(r.Wallet)
	}
	return "report:" + strconv.FormatInt(r.ID, 10)
}

// Convicts reports whether the report counts towards the fraud signal of its alleged fraudster's address: it is a
// resolved fraud report.
func (r Report) Convicts() bool {
	return r.Fraudster != "" && r.Kind == Fraud && r.Status == Resolved
}
