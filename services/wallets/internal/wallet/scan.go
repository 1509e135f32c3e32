package wallet

import (
	"time"

	"causeway.internal/libs/tenant"
)

// ScanState is the state of a network's scan.
type ScanState string

// The states of a scan. Only a scan that follows sees new deposits in time.
const (
	ScanFollowing   ScanState = "following"
	ScanBehind      ScanState = "behind"      // trails the head by more than the limit
	ScanStalled     ScanState = "stalled"     // the head is older than any pause of the chain
	ScanUnreachable ScanState = "unreachable" // no endpoint reports the head
	ScanHalted      ScanState = "halted"      // a reorganisation is too deep to follow
	ScanMismatched  ScanState = "mismatched"  // nothing is scanned: a setting differs from that of the issued addresses
)

// Progress is how far a network is scanned, and the state of its scan.
type Progress struct {
	Mode      tenant.Mode
	Network   string
	Height    int64
	Finalized int64
	BlockTime time.Time
	Deposits  int64 // number of the last deposit message before
	State     ScanState
	Head      int64
	HeadTime  time.Time // zero while no head is known
	ToldAt    time.Time // by the database's clock
}
