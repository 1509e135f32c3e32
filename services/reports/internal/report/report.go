// Package report holds the rules of fraud and complaint reports: what a report is, how its texts are cleaned and
// compared, which statuses follow which, and what a look-up asks for. It is pure: no I/O, no clock, no randomness.
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

// Report is one report. Empty optional texts were not supplied and are answered as null.
type Report struct {
	ID         int64  // numeric record id
	Reference  string // RPT- and six characters, upper-case
	KeyID      int64  // id of the API key that filed it
	MerchantID string // owner of that key
	Mode       tenant.Mode
	Session    string // related payment reference, as given
	Earlier    bool   // filed before a gift's reference could be told from another's
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

// Public is the report for everybody but the merchant who filed it. Who knows a gift's reference is paid the gift, so
// such a session reference is left out, and the code is covered in every text. A report from before markedSince may
// name a gift without the mark, so every reference is treated as one.
func (r Report) Public(markedSince time.Time) Report {
	hide := id.HideGifts
	if r.Earlier || r.CreatedAt.Before(markedSince) {
		hide = id.HideReferences
	}
	if hide(r.Session) != r.Session {
		r.Session = ""
	}
	for _, text := range []*string{&r.Name, &r.Wallet, &r.Fraudster, &r.Text} {
		*text = hide(*text)
	}
	return r
}

// Reporter is what tells one reporter from another: the phone, or without one the wallet. One who is forgotten is known
// by the report alone.
func (r Report) Reporter() string {
	switch {
	case r.Phone != "":
		return "phone:" + r.Phone
	case r.Wallet != "":
		return "wallet:" + AddressKey(r.Wallet)
	}
	return "report:" + strconv.FormatInt(r.ID, 10)
}

// Convicts reports whether the report counts towards the fraud signal of its alleged fraudster's address: a fraud
// report that was examined and found right.
func (r Report) Convicts() bool {
	return r.Fraudster != "" && r.Kind == Fraud && r.Status == Resolved
}
