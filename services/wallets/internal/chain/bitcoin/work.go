package bitcoin

import (
	"context"
	"fmt"
	"math/big"

	"causeway.internal/libs/address"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// The difficulty of the main network: it changes every 2016 blocks, by how long these took, four times at most.
const (
	period    = 2016
	periodAim = 14 * 24 * 60 * 60 // seconds
	mostStep  = 4
	leastWork = 0x1d00ffff
	noWork    = 0x207fffff // of every block of a regtest chain
)

// work checks that a block has the difficulty that its predecessor demands: a header with less is cheap to forge. The
// predecessor is named by its hash, which the scanner compares with the last scanned block. The easy blocks of a
// testnet follow no rule that is worth checking.
func (d *Driver) work(ctx context.Context, e *rpc.Endpoint, height int64, h header) error {
	if height == 0 || d.net == address.Testnet {
		return nil
	}
	want := uint32(noWork)
	if d.net == address.Mainnet {
		last, err := d.headerOf(ctx, e, h.parent.String())
		if err != nil {
			return err
		}
		want = last.bits
		if height%period == 0 {
			hash, err := hashAt(ctx, e, height-period)
			if err != nil {
				return err
			}
			first, err := d.headerOf(ctx, e, hash)
			if err != nil {
				return err
			}
			if first.bits != last.bits { // else it is forged
				return fmt.Errorf("endpoint %s has two difficulties in the period before block %d", e.Name, height)
			}
			want = retarget(last.bits, int64(last.time)-int64(first.time))
		}
	}
	if h.bits != want {
		return fmt.Errorf("block %d at endpoint %s asks for work %08x, the chain demands %08x", height, e.Name, h.bits, want)
	}
	return nil
}

// headerOf requests the header with a hash and checks its hash.
func (d *Driver) headerOf(ctx context.Context, e *rpc.Endpoint, hash string) (header, error) {
	raw, err := asked(ctx, e, "getblockheader", hash, false)
	if err != nil {
		return header{}, err
	}
	h, err := parseHeader(raw, d.limit)
	if err == nil && h.hash.String() != hash {
		err = fmt.Errorf("is block %s", h.hash)
	}
	if err != nil {
		return header{}, fmt.Errorf("block %s at endpoint %s: %w", hash, e.Name, err)
	}
	return h, nil
}

// retarget is the main network's next target after a period of so many seconds.
func retarget(bits uint32, took int64) uint32 {
	took = min(max(took, periodAim/mostStep), periodAim*mostStep)
	target := header{bits: bits}.target()
	target.Mul(target, big.NewInt(took)).Div(target, big.NewInt(periodAim))
	if limit := (header{bits: leastWork}).target(); target.Cmp(limit) > 0 {
		target = limit
	}
	return compact(target)
}

// compact writes a target as a header does. The highest bit of the mantissa is its sign and stays free.
func compact(target *big.Int) uint32 {
	size := uint((target.BitLen() + 7) / 8)
	mantissa := new(big.Int).Set(target)
	if size > 3 {
		mantissa.Rsh(mantissa, 8*(size-3))
	} else {
		mantissa.Lsh(mantissa, 8*(3-size))
	}
	if mantissa.Bit(23) == 1 {
		mantissa.Rsh(mantissa, 8)
		size++
	}
	return uint32(size)<<24 | uint32(mantissa.Uint64()) //nolint:gosec // a target has at most 32 bytes
}
