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
	NotFollowed    Closed = "not_followed"     // no scanner has ever told of it
	Silent         Closed = "silent"           // its scanner has told nothing for too long
	NotReachable   Closed = "unreachable"      // no endpoint tells its scanner the head of the chain
	Stalled        Closed = "stalled"          // the chain, or every endpoint, makes no blocks
	Behind         Closed = "behind"           // the scan trails the head
	Halted         Closed = "halted"           // the scan stopped at a reorganisation that is too deep
	Mismatched     Closed = "mismatched"       // a setting of wallets is not that of the addresses that were issued
	CannotBeJudged Closed = "cannot_be_judged" // a newer wallets tells a state that this version does not know
)

// Scan is how the scan of a network was when wallets last told of it.
type Scan struct {
	Mode     tenant.Mode
	Network  string
	State    wire.ScanState
	Quiet    time.Duration // since then, by the database's clock
	Height   int64
	Head     int64
	HeadTime time.Time // zero when unknown
	Untraced bool      // coin that contracts send is not seen by itself
}

// closed judges a network by its scan.
func (s Scan) closed(silence time.Duration) Closed {
	if s.Quiet > silence {
		return Silent
	}
	switch s.State {
	case "", wire.ScanFollowing: // "": an older wallets, whose scan goes on
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

// Scans is how the networks are scanned, in memory for those who quote: a create asks no database. Payouts and claims look
// at the database instead, under their lock. nil takes every network for open.
type Scans struct {
	list    func(context.Context) ([]Scan, error)
	silence time.Duration
	told    func(mode tenant.Mode, network string, open bool)
	log     *slog.Logger
	now     atomic.Pointer[scansSeen]
}

type scansSeen struct {
	at time.Time
	of map[tenant.Mode]map[string]Scan
}

// NewScans makes an empty copy of a list; Load fills it. A network is closed once nothing has come of its scan for the
// silence. told is given every network that was ever scanned after each Load.
func NewScans(list func(context.Context) ([]Scan, error), silence time.Duration,
	told func(mode tenant.Mode, network string, open bool), log *slog.Logger,
) *Scans {
	return &Scans{list: list, silence: silence, told: told, log: log}
}

// Load reads the list anew. Call it every second; while the database is away, what it knows grows old and networks close.
func (s *Scans) Load(ctx context.Context) error {
	found, err := s.list(ctx)
	if err != nil {
		return err
	}
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
		s.told(x.Mode, x.Network, why == "")
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
	return nil
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

// Untraced reports whether coin that contracts send on a network is not seen by itself.
func (s *Scans) Untraced(mode tenant.Mode, network string) bool {
	if s == nil {
		return false
	}
	seen := s.now.Load()
	return seen != nil && seen.of[mode][network].Untraced
}

// ErrNetworkClosed is what a caller gets who wants to pay, or to be paid, with money on a network that is not followed.
var ErrNetworkClosed = fault.New(fault.Unavailable, "network_unavailable",
	"This network cannot be used right now, because its blocks are not followed. Try again later or choose another network.").After(30 * time.Second).Closed()

// Quotes refuses a network that is closed.
func (s *Scans) Quotes(mode tenant.Mode, network string) error {
	if s.Closed(mode, network) != "" {
		return ErrNetworkClosed
	}
	return nil
}

// Rests says whether the money of a payment is on a network whose scan follows, as the payment's lock saw it: what the chain
// has taken back is not known otherwise.
func (s *Scans) Rests(v change.View) bool {
	if s == nil {
		return true
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
