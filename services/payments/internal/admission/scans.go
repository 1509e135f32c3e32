package admission

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
)

// Closed is why no new payments are taken on a network of a mode; "" while it is open. The codes are part of the API.
type Closed string

// The reasons.
const (
	ModeDisabled   Closed = "mode_disabled"    // the mode has no prices or no rail
	NoAddresses    Closed = "no_addresses"     // no addresses of its family are kept
	Paused         Closed = "paused"           // an operator has stopped its quotes
	NotFollowed    Closed = "not_followed"     // wallets has never reported it
	Silent         Closed = "silent"           // wallets has not reported it for too long
	NotReachable   Closed = "unreachable"      // no RPC endpoint shows the head of the chain
	Stalled        Closed = "stalled"          // neither the chain nor any RPC endpoint shows new blocks
	Behind         Closed = "behind"           // the scan trails the head
	Halted         Closed = "halted"           // the scan stopped at a reorganisation that is too deep
	Mismatched     Closed = "mismatched"       // a setting of wallets does not match the issued addresses
	CannotBeJudged Closed = "cannot_be_judged" // a newer wallets reports a state that this version does not know
)

// Scan is the state of a network's scan in the last report of wallets.
type Scan struct {
	Mode     tenant.Mode
	Network  string
	State    wire.ScanState
	Quiet    time.Duration // since that report, by the database's clock
	Height   int64
	Head     int64
	HeadTime time.Time // zero when unknown
	Untraced bool      // the scan does not see coin that contracts send
}

// closed judges a network by its scan.
func (s Scan) closed(silence time.Duration) Closed {
	if s.Quiet > silence {
		return Silent
	}
	switch s.State {
	case "", wire.ScanFollowing: // "": an older wallets, whose scan follows
		return ""
	case wire.ScanBehind:
		return Behind
	case wire.ScanStalled:
		return Stalled
	case wire.ScanUnreachable:
		return NotReachable
	case wire.ScanHalted:
		return Halted
	case wire.ScanMismatched:
		return Mismatched
	}
	return CannotBeJudged
}

// Scans holds the scans of the networks in memory, because a create does not query the database. Payouts and claims
// read the database instead, under their lock. A nil Scans takes every network for open.
type Scans struct {
	list    func(context.Context) ([]Scan, error)
	silence time.Duration
	observe func(mode tenant.Mode, network string, open bool)
	log     *slog.Logger
	now     atomic.Pointer[scansSeen]

	// Outages are networks that merchants of test mode took down for themselves.
	Outages *Outages
}

type scansSeen struct {
	at time.Time
	of map[tenant.Mode]map[string]Scan
}

// NewScans makes an empty copy of a list; Load fills it. A network is closed once wallets has not reported it for
// silence. Each Load calls observe for every network that was ever scanned.
func NewScans(list func(context.Context) ([]Scan, error), silence time.Duration,
	observe func(mode tenant.Mode, network string, open bool), log *slog.Logger,
) *Scans {
	return &Scans{list: list, silence: silence, observe: observe, log: log}
}

// Load reads this list alone again; see Copies.
func (s *Scans) Load(ctx context.Context) error {
	found, err := s.list(ctx)
	if err != nil {
		return err
	}
	s.keep(ctx, found)
	return nil
}

func (s *Scans) keep(ctx context.Context, found []Scan) {
	seen := &scansSeen{at: time.Now(), of: map[tenant.Mode]map[string]Scan{}}
	for _, x := range found {
		if seen.of[x.Mode] == nil {
			seen.of[x.Mode] = map[string]Scan{}
		}
		seen.of[x.Mode][x.Network] = x
	}
	before := s.now.Swap(seen)
	for _, x := range found {
		why := x.closed(s.silence)
		s.observe(x.Mode, x.Network, why == "")
		was, known := Closed(""), false
		if before != nil {
			var last Scan
			last, known = before.of[x.Mode][x.Network]
			was = last.closed(s.silence)
		}
		log := s.log.With("mode", x.Mode, "network", x.Network, "scanned", x.Height, "head", x.Head, "head_time", x.HeadTime, "quiet", x.Quiet)
		switch {
		case why == was:
		case why != "":
			log.WarnContext(ctx, "network closed: no new payments, payouts wait", "reason", string(why))
		case known:
			log.InfoContext(ctx, "network open again", "was", string(was))
		}
	}
}

// Closed says why a network of a mode is closed.
func (s *Scans) Closed(mode tenant.Mode, network string) Closed {
	if s == nil {
		return ""
	}
	seen := s.now.Load()
	if seen == nil {
		return NotFollowed
	}
	x, known := seen.of[mode][network]
	if !known {
		return NotFollowed
	}
	x.Quiet += time.Since(seen.at)
	return x.closed(s.silence)
}

// Untraced reports whether the scan of a network does not see coin that contracts send.
func (s *Scans) Untraced(mode tenant.Mode, network string) bool {
	if s == nil {
		return false
	}
	seen := s.now.Load()
	return seen != nil && seen.of[mode][network].Untraced
}

// ErrNetworkClosed refuses payments and claims with money on a network whose scan does not follow its chain.
var ErrNetworkClosed = fault.New(fault.Unavailable, "network_unavailable",
	"This network cannot be used right now, because its blocks are not followed. Try again later or choose another network.").After(30 * time.Second).Closed()

// Open reports whether a merchant may use a network.
func (s *Scans) Open(o tenant.Owner, network string) bool {
	return s.Closed(o.Mode, network) == "" && (s == nil || !s.Outages.Network(o.Mode, o.MerchantID, network))
}

// Quotes refuses a network that is closed to a merchant.
func (s *Scans) Quotes(o tenant.Owner, network string) error {
	if !s.Open(o, network) {
		return ErrNetworkClosed
	}
	return nil
}

// Rests reports whether every network with money of a payment is followed, as the payment's lock saw it. Otherwise a
// reorganisation may have taken the money back.
func (s *Scans) Rests(v change.View) bool {
	if s == nil {
		return true
	}
	if !s.Outages.Rests(v) {
		return false
	}
	networks := []string{v.Payment.Quote.Network}
	for _, d := range v.Rows {
		if d.Counted.IsPositive() {
			networks = append(networks, d.Network)
		}
	}
	for _, network := range networks {
		h, known := v.Heads[network]
		if !known || (Scan{State: h.State, Quiet: h.Quiet}).closed(s.silence) != "" {
			return false
		}
	}
	return true
}
