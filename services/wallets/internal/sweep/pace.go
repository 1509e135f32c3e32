package sweep

import (
	"errors"
	"math/big"
	"time"
)

// Pace says when money that is worth its fee is collected: at once while the network is quiet, and at the latest after
// some time, then at any price up to the cap.
type Pace struct {
	Quiet  *big.Int      // the price up to which the network is quiet; nil counts every price as quiet
	Latest time.Duration // age from which money waits for a quiet price no longer
}

// ErrLoud means that money waits for a quieter network.
var ErrLoud = errors.New("the network is not quiet, and the money may still wait")

// Now reports whether money of an age is collected at a price: nil, or the reason to wait.
func (p Pace) Now(price, most *big.Int, age time.Duration) error {
	switch {
	case price.Cmp(most) > 0:
		return ErrDear
	case p.Quiet == nil || price.Cmp(p.Quiet) <= 0 || age >= p.Latest:
		return nil
	}
	return ErrLoud
}
