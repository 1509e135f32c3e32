package operator

import (
	"cmp"
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/wallets/internal/store"
)

// accountNames are what accountants call the accounts of the books of standalone wallets.
var accountNames = map[string]string{
	"custody": "Crypto on deposit addresses", "merchant": "Owed to merchants", "treasury": "Crypto in the treasury",
	"gas_station": "Coins of the gas station", "gas_float": "Coins for gas on deposit addresses", "fees": "Fees of networks",
	"rent": "Rent of token accounts", "refund_station": "Crypto of the refund station", "withdrawals": "Withdrawals on their way",
	"withdrawal_fees": "Charges of withdrawals",
}

// ledgerLine is a line of the export without its amount.
type ledgerLine struct{ account, network, asset string }

// journals is an export under way.
type journals struct {
	w        *csv.Writer
	balances map[ledgerLine]*big.Int // after the last line
}

// Journals prints the journals of standalone wallets of a month as a CSV for accountants: opening balances, entries,
// and closing balances.
func Journals(in command.Input) (Operation, error) {
	var month, mode string
	if err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&month, "month", "", "the month, such as 2026-10")
		f.StringVar(&mode, "mode", string(tenant.Live), "live or test")
	}); err != nil {
		return nil, err
	}
	from, err := time.Parse("2006-01", month)
	if err != nil || !tenant.Mode(mode).Valid() {
		return nil, in.Usage()
	}
	return func(ctx context.Context, p Parts) error {
		x := journals{csv.NewWriter(in.Out), map[ledgerLine]*big.Int{}}
		if err := x.w.Write(strings.Split("kind,journal,bookedAt,event,merchantId,walletId,line,account,accountName,network,asset,debit,credit", ",")); err != nil {
			return err
		}
		if err := p.Store.ExportCustody(ctx, tenant.Mode(mode), from, from.AddDate(0, 1, 0), x.take); err != nil {
			return err
		}
		return x.close()
	}, nil
}

// take writes an entry, or an opening balance.
func (x journals) take(e store.CustodyEntry) error {
	at := ledgerLine{e.Account, e.Network, e.Asset}
	if x.balances[at] == nil {
		x.balances[at] = new(big.Int)
	}
	x.balances[at].Add(x.balances[at], e.Units)
	if e.Journal == "" {
		return x.write([]string{"opening", "", "", "", "", "", ""}, at, e.Units)
	}
	return x.write([]string{"entry", e.Journal, timestamp.Text(e.At), e.Event, e.MerchantID, e.WalletID, strconv.Itoa(int(e.Line))}, at, e.Units)
}

// close writes the closing balances.
func (x journals) close() error {
	lines := slices.SortedFunc(maps.Keys(x.balances), func(a, b ledgerLine) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.network, b.network), cmp.Compare(a.asset, b.asset))
	})
	for _, at := range lines {
		if x.balances[at].Sign() == 0 {
			continue
		}
		if err := x.write([]string{"closing", "", "", "", "", "", ""}, at, x.balances[at]); err != nil {
			return err
		}
	}
	x.w.Flush()
	return x.w.Error()
}

// write writes an amount on its side of an account, in whole units.
func (x journals) write(head []string, at ledgerLine, units *big.Int) error {
	n, _ := money.NetworkOf(at.network)
	asset, listed := n.Asset(at.asset)
	if !listed {
		return fmt.Errorf("%s is not listed on %s", at.asset, at.network)
	}
	debit, credit := money.Canonical(decimal.NewFromBigInt(new(big.Int).Abs(units), -asset.Decimals)), ""
	if units.Sign() < 0 {
		debit, credit = "", debit
	}
	cells := append(head, at.account, accountNames[at.account], at.network, at.asset, debit, credit)
	for i, cell := range cells {
		if strings.IndexAny(cell, "=+-@\t\r") == 0 { // a spreadsheet would read it as a formula
			cells[i] = "'" + cell
		}
	}
	return x.w.Write(cells)
}
