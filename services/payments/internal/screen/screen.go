// Package screen screens addresses against local data: a list of sanctioned addresses, which is a file with its source
// and version that is read again while the program runs, and the fraud signals of the reports service. It calls no
// other service while a payment waits. It decides nothing about payments.
package screen

import (
	"context"
	"strings"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
)

// The reasons of a hit.
const (
	Sanctioned    = "sanctioned_address"
	Reported      = "fraud_reports"
	SenderUnknown = "sender_unknown"
)

// SenderNotKnown is the reason kept with a clear verdict on a transfer whose network need not name its senders.
const SenderNotKnown = "sender_not_known"

// nameless are the networks whose transfers need not name a sender: a bitcoin node without an index of transactions
// does not know the sender of an input. On every other network the transfer names its sender.
var nameless = map[string]bool{"bitcoin": true}

// canonical is the form in which addresses are compared. Hex and bech32 addresses ignore case, others do not.
func canonical(address string) string {
	lower := strings.ToLower(address)
	if strings.HasPrefix(lower, "0x") || strings.HasPrefix(lower, "bc1") {
		return lower
	}
	return address
}

// Signals are the fraud signals of the reports service.
type Signals interface {
	FraudConfirmed(ctx context.Context, mode tenant.Mode, addresses []string) (bool, error)
}

// Lists gives the list of sanctioned addresses that is in force.
type Lists interface {
	Current() *List
	// Outdated reports whether the list is older than the operators allow.
	Outdated() bool
}

// Local screens against a list and the fraud signals. It is safe for concurrent use.
type Local struct {
	lists   Lists
	signals Signals
}

// New makes a screener. An address is a hit when it is on the list, or when an operator has confirmed the fraud reports
// against it. Merchants resolve their own reports, so reports alone hold no money.
func New(lists Lists, signals Signals) *Local { return &Local{lists, signals} }

// Screen implements admission.Screener. A live transfer without a known sender is a hit, unless its network need not
// name one. When some senders of a transfer are known, they decide.
func (s *Local) Screen(ctx context.Context, mode tenant.Mode, network string, addresses []string) (change.Verdict, error) {
	list := s.lists.Current()
	v := change.Verdict{Lists: list.Version() + "; confirmed reports", Outdated: s.lists.Outdated()}
	for _, a := range addresses {
		if list.Has(a) {
			v.Hit, v.Reason = true, Sanctioned
			return v, nil
		}
	}
	if len(addresses) == 0 {
		switch {
		case nameless[network]:
			v.Reason = SenderNotKnown
		case mode == tenant.Live:
			v.Hit, v.Reason = true, SenderUnknown
		}
		return v, nil
	}
	confirmed, err := s.signals.FraudConfirmed(ctx, mode, addresses)
	if err != nil {
		return change.Verdict{}, err
	}
	if confirmed {
		v.Hit, v.Reason = true, Reported
	}
	return v, nil
}
