// Package screen screens addresses against local data: a list of sanctioned addresses, which is a file with its source
// and version, and the fraud signals of the reports service. It calls no other service while a payment waits. It
// decides nothing about payments.
package screen

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
)

//go:embed list/*.txt
var embedded embed.FS

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

// List is a set of addresses. It is immutable.
type List struct {
	version   string
	addresses map[string]struct{}
}

// Open reads the list from a file, or with "" the list that is built into the program.
func Open(path string) (*List, error) {
	l := &List{addresses: map[string]struct{}{}}
	sum := sha256.New()
	if path != "" {
		f, err := os.Open(path) //nolint:gosec // the operator names the file
		if err != nil {
			return nil, fmt.Errorf("open the list of sanctioned addresses: %w", err)
		}
		defer func() { _ = f.Close() }()
		if err := l.read(io.TeeReader(f, sum)); err != nil {
			return nil, err
		}
	} else {
		names, err := fs.Glob(embedded, "list/*.txt")
		if err != nil {
			return nil, fmt.Errorf("find the list of sanctioned addresses: %w", err)
		}
		for _, name := range names {
			raw, err := embedded.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("read the list of sanctioned addresses: %w", err)
			}
			_, _ = sum.Write(raw)
			if err := l.read(strings.NewReader(string(raw))); err != nil {
				return nil, err
			}
		}
	}
	if len(l.addresses) == 0 {
		return nil, fmt.Errorf("the list of sanctioned addresses %q is empty", path)
	}
	l.version = "ofac-sdn " + strconv.Itoa(len(l.addresses)) + " " + hex.EncodeToString(sum.Sum(nil)[:6])
	return l, nil
}

// read reads one address per line; # begins a comment.
func (l *List) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if strings.ContainsAny(text, " \t") {
			return fmt.Errorf("read the list of sanctioned addresses: %q is not an address", text)
		}
		l.addresses[canonical(text)] = struct{}{}
	}
	return lines.Err()
}

// canonical is the form in which addresses are compared. Hex and bech32 addresses ignore case, others do not.
func canonical(address string) string {
	lower := strings.ToLower(address)
	if strings.HasPrefix(lower, "0x") || strings.HasPrefix(lower, "bc1") {
		return lower
	}
	return address
}

// Version names the list by its source, size and content.
func (l *List) Version() string { return l.version }

// Has reports whether the list contains an address.
func (l *List) Has(address string) bool {
	_, found := l.addresses[canonical(address)]
	return found
}

// Addresses lists the addresses, in no order.
func (l *List) Addresses() []string {
	out := make([]string, 0, len(l.addresses))
	for a := range l.addresses {
		out = append(out, a)
	}
	return out
}

// Signals are the fraud signals of the reports service.
type Signals interface {
	FraudConfirmed(ctx context.Context, mode tenant.Mode, addresses []string) (bool, error)
}

// Local screens against a list and the fraud signals. It is safe for concurrent use.
type Local struct {
	list    *List
	signals Signals
}

// New makes a screener. An address is a hit when it is on the list, or when an operator has confirmed the fraud reports
// against it. Merchants resolve their own reports, so reports alone hold no money.
func New(list *List, signals Signals) *Local { return &Local{list, signals} }

// Screen implements admission.Screener. A live transfer without a known sender is a hit, unless its network need not
// name one. When some senders of a transfer are known, they decide.
func (s *Local) Screen(ctx context.Context, mode tenant.Mode, network string, addresses []string) (change.Verdict, error) {
	v := change.Verdict{Lists: s.list.Version() + "; confirmed reports"}
	for _, a := range addresses {
		if s.list.Has(a) {
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
