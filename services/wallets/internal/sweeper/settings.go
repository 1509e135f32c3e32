package sweeper

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/sweep"
)

// Settings are the conditions under which money leaves the deposit addresses of one EVM network. The signer has its own
// limits.
type Settings struct {
	Treasury string        `env:"SWEEP_TREASURY" doc:"address that receives sweeps, the same that the signer has pinned; empty: the network is not swept"`
	Least    string        `env:"SWEEP_LEAST" doc:"smallest sums worth a sweep, as USDT:20,ETH:0.01; empty: the defaults of docs/custody.md"`
	MaxFee   int64         `env:"SWEEP_MAX_FEE_WEI" doc:"most wei per gas; while the network asks for more, sweeps wait. Empty: the default of docs/custody.md"`
	Reserve  int64         `env:"SWEEP_RESERVE_WEI" doc:"coins kept back for a rollup's data fee; empty: the default of docs/custody.md"`
	Stuck    time.Duration `env:"SWEEP_STUCK" envDefault:"3m" doc:"time without a block after which a transaction is signed again with a higher fee"`
	Quiet    int64         `env:"SWEEP_QUIET_WEI" doc:"wei per gas up to which the network counts as quiet, and money is swept at once; empty: half the most"`
	Latest   time.Duration `env:"SWEEP_LATEST" envDefault:"72h" doc:"age from which a sweep waits for a quiet network no longer, but for the most alone"`
}

// BitcoinSettings are the conditions under which money leaves the deposit addresses of bitcoin. The signer has its own
// limits.
type BitcoinSettings struct {
	Treasury string        `env:"SWEEP_TREASURY" doc:"address that receives sweeps, the same that the signer has pinned; empty: bitcoin is not swept"`
	Least    string        `env:"SWEEP_LEAST" doc:"smallest sum that is swept while it is younger than SWEEP_LATEST, as BTC:0.001; empty: the default of docs/custody.md"`
	MaxRate  int64         `env:"SWEEP_MAX_FEE_RATE" envDefault:"100" doc:"most satoshi per virtual byte; while the network asks for more, sweeps wait"`
	Quiet    int64         `env:"SWEEP_QUIET_FEE_RATE" envDefault:"15" doc:"satoshi per virtual byte up to which the network counts as quiet, and money is swept at once. It is also the rate while the node has no estimate"`
	Latest   time.Duration `env:"SWEEP_LATEST" envDefault:"72h" doc:"age from which money waits for a quiet network or the smallest sum no longer"`
	From     int64         `env:"REFUND_FROM" doc:"height of a block before the first payment to the refund station, which wallets searches the blocks behind it for; read when wallets sees a station for the first time. Empty: the final block of that moment"`
	Stuck    time.Duration `env:"SWEEP_STUCK" envDefault:"2h" doc:"time without a block after which a transaction is signed again with a higher fee"`
}

// Batches are the limits of bitcoin.
func (s BitcoinSettings) Batches(n money.Network) (sweep.Batches, error) {
	sums, err := leastOf(n, s.Least)
	if err != nil {
		return sweep.Batches{}, err
	}
	if s.MaxRate < 1 || s.Quiet < 1 || s.Quiet > s.MaxRate {
		return sweep.Batches{}, fmt.Errorf("%s: the quiet fee rate must be 1 to the highest", n.Name)
	}
	const perByte = 1_000 // a sweep.Rate is for 1000 virtual bytes
	return sweep.Batches{
		Most: sweep.Rate(s.MaxRate * perByte), Least: sums[n.Coin().Symbol].Int64(), InputSize: btctx.InputSize,
		Pace: sweep.Pace{Quiet: big.NewInt(s.Quiet * perByte), Latest: s.Latest},
	}, nil
}

// defaults are the limits of a network without settings: the cap per gas and the reserve in wei. The smallest sums are
// money.Asset's.
var defaults = map[string]struct{ maxFee, reserve int64 }{
	"ethereum": {60_000_000_000, 0},
	"bsc":      {5_000_000_000, 0},
	"polygon":  {500_000_000_000, 0},
	"base":     {1_000_000_000, 20_000_000_000_000},
	"arbitrum": {2_000_000_000, 0},
}

// worth is how many times its fee a sweep of the network's own coin must bring.
const worth = 20

// Terms are the limits of a network.
func (s Settings) Terms(n money.Network) (sweep.Terms, error) {
	base := defaults[n.Name]
	t := sweep.Terms{MaxFee: big.NewInt(base.maxFee), Reserve: big.NewInt(base.reserve), Share: worth}
	if s.MaxFee > 0 {
		t.MaxFee.SetInt64(s.MaxFee)
	}
	if s.Reserve > 0 {
		t.Reserve.SetInt64(s.Reserve)
	}
	t.Pace = sweep.Pace{Quiet: new(big.Int).Rsh(t.MaxFee, 1), Latest: s.Latest}
	if s.Quiet > 0 {
		t.Pace.Quiet.SetInt64(s.Quiet)
	}
	var err error
	t.Least, err = leastOf(n, s.Least)
	return t, err
}

// pace is the pace of a network: with the quiet price of the settings, or else the given one.
func pace(n money.Network, quiet, otherwise int64, latest time.Duration) (sweep.Pace, error) {
	if quiet < 0 || latest < 0 {
		return sweep.Pace{}, fmt.Errorf("%s: the quiet price and the latest age of sweeps must not be negative", n.Name)
	}
	return sweep.Pace{Quiet: big.NewInt(cmp.Or(quiet, otherwise)), Latest: latest}, nil
}

// leastOf are the smallest sums of a network in base units: the settings before the defaults.
func leastOf(n money.Network, settings string) (map[string]*big.Int, error) {
	least := map[string]*big.Int{}
	sums := map[string]string{}
	for _, a := range n.Assets {
		sums[a.Symbol] = a.Worthwhile.String()
	}
	for entry := range strings.SplitSeq(settings, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		symbol, sum, ok := strings.Cut(entry, ":")
		asset, listed := n.Asset(symbol)
		if !ok || !listed {
			return nil, fmt.Errorf("%s: smallest sums: %q is not SYMBOL:amount of a listed asset", n.Name, entry)
		}
		sums[asset.Symbol] = sum
	}
	for symbol, text := range sums {
		asset, _ := n.Asset(symbol)
		sum, err := decimal.NewFromString(text)
		if err != nil || !sum.IsPositive() || money.Digits(sum) > asset.Decimals {
			return nil, fmt.Errorf("%s: smallest sums: %q is not an amount of %s", n.Name, text, symbol)
		}
		least[symbol] = asset.ToUnits(sum).BigInt()
	}
	return least, nil
}

// SolanaSettings are the conditions under which money leaves the deposit addresses of solana.
type SolanaSettings struct {
	Treasury string        `env:"SWEEP_TREASURY" doc:"address that receives sweeps, the same that the signer has pinned; it needs a token account for each swept token. Empty: solana is not swept"`
	Least    string        `env:"SWEEP_LEAST" doc:"smallest sums worth a sweep, as USDC:20,SOL:0.1; empty: the defaults of docs/custody.md"`
	MaxFee   int64         `env:"SWEEP_MAX_FEE_LAMPORTS" envDefault:"100000" doc:"most lamports of one transaction, which carries up to five sweeps of a token or eight of SOL; while the network asks for more, sweeps wait"`
	Quiet    int64         `env:"SWEEP_QUIET_UNIT_PRICE" envDefault:"200000" doc:"millionths of a lamport per compute unit up to which the network counts as quiet, and money is swept at once"`
	Latest   time.Duration `env:"SWEEP_LATEST" envDefault:"72h" doc:"age from which a sweep waits for a quiet network no longer, but for the most alone"`
	Settle   time.Duration `env:"SWEEP_SETTLE" envDefault:"1h" doc:"age at which the sweep of a token is made and the token account closed; a payer who comes later pays the account's rent again"`
	Stuck    time.Duration `env:"SWEEP_STUCK" envDefault:"1m" doc:"time without a block after which a transaction is signed again with a higher fee"`
}

// Terms are the limits of solana.
func (s SolanaSettings) Terms(n money.Network) (t sweep.Terms, err error) {
	if s.MaxFee <= 0 || s.Settle < 0 || s.Stuck <= 0 {
		return t, fmt.Errorf("%s: the fee and times of sweeps must be positive", n.Name)
	}
	t.MaxFee, t.Share = big.NewInt(s.MaxFee), worth
	if t.Pace, err = pace(n, s.Quiet, 0, s.Latest); err != nil {
		return t, err
	}
	t.Least, err = leastOf(n, s.Least)
	return t, err
}

// TronSettings are the conditions under which money leaves the deposit addresses of tron.
type TronSettings struct {
	Treasury string        `env:"SWEEP_TREASURY" doc:"address that receives sweeps, the same that the signer has pinned; empty: tron is not swept"`
	Least    string        `env:"SWEEP_LEAST" doc:"smallest sums worth a sweep, as USDT:20,TRX:40; empty: the defaults of docs/custody.md"`
	MaxFee   int64         `env:"SWEEP_MAX_FEE_SUN" envDefault:"30000000" doc:"most sun that a token's transfer may burn; while it would cost more, sweeps wait"`
	Quiet    int64         `env:"SWEEP_QUIET_SUN" doc:"sun up to which the energy of a token's transfer, burnt or lent, counts as quiet, and money is swept at once; empty: half the most"`
	Latest   time.Duration `env:"SWEEP_LATEST" envDefault:"72h" doc:"age from which a sweep waits for a quiet network no longer, but for the most alone"`
	MaxStake int64         `env:"SWEEP_MAX_STAKE_SUN" envDefault:"20000000000" doc:"most sun of the gas station's stake whose energy is lent to one address; 0: energy is never lent, TRX is burnt"`
	Rent     int64         `env:"SWEEP_ENERGY_RENT_SUN" envDefault:"0" doc:"sun for which a thousand units of the stake's energy could be rented out; wallets lends energy where that and its two transactions are cheaper than TRX to burn"`
	Expiry   time.Duration `env:"SWEEP_EXPIRY" envDefault:"5m" doc:"time from the newest final block to the expiration of a transaction; at most the signer's expiresWithin. An expired transaction is planned again only after a final block of a later time"`
	Resend   time.Duration `env:"SWEEP_RESEND" envDefault:"15s" doc:"time without a block after which the same bytes are sent to a node again"`
}

// Terms are the limits of tron.
func (s TronSettings) Terms(n money.Network) (t sweep.Terms, c TronConfig, err error) {
	if s.MaxFee <= 0 || s.MaxStake < 0 || s.Rent < 0 || s.Expiry < time.Second || s.Resend <= 0 {
		return t, c, fmt.Errorf("%s: the fee and times of sweeps must be positive, and stake and rent not negative", n.Name)
	}
	t.Share = worth
	if t.Pace, err = pace(n, s.Quiet, s.MaxFee/2, s.Latest); err != nil {
		return t, c, err
	}
	c.Expiry, c.Terms = s.Expiry, sweep.TronTerms{MaxFee: s.MaxFee, MaxStake: s.MaxStake, Rent: s.Rent, LendSize: lendSize, BackSize: lendSize}
	t.Least, err = leastOf(n, s.Least)
	return t, c, err
}

// lendSize bounds the bytes of lending energy, and of taking it back.
const lendSize = 350
