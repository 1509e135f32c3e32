package audit

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/load"
)

// Kind is what came of one kind of outgoing money, beside the payouts and refunds of payments.
type Kind struct {
	Name   string
	Counts string // such as "12 asked for, 9 paid"
	Sent   string // such as "150000 NGN"
	Cost   string // such as "0.01 ETH"; "" where nothing is charged
}

// The kinds, by which kills are counted too.
const (
	Withdrawals = "balances" // withdrawn in fiat
	Draws       = "wallets"  // withdrawn in crypto
	Strays      = "strays"
)

type withdrawalRow struct {
	ID, Merchant, State, Failure, Amount string
	Sequence                             int64
}

// drawRow is a withdrawal from wallets as payments has it; Sent is its state in wallets.
type drawRow struct {
	ID, Merchant, Network, Asset, State, Failure, Amount, Charge, Fee, Address, TxHash string
	Sequence                                                                           int64
	Sent                                                                               string
}

// strayRow is a refund of the payment that an address without one was given, or that payment if there is none.
type strayRow struct{ ID, Address, Network, Status, Refund, State, Asset, Amount, To, Fee, Sent string }

// balanceRow is what belongs to a merchant: Brought by payments or deposits, and what the books hold.
type balanceRow struct{ Merchant, Asset, Brought, Held string }

// outgoing is everything known of outgoing money.
type outgoing struct {
	asked       load.Outgoing
	listed      []load.Listed
	withdrawals []withdrawalRow
	rail        []railRow // of withdrawals
	balances    []balanceRow
	draws       []drawRow
	custody     []balanceRow // by merchant, and network and asset; what was brought is asked
	strays      []strayRow
	faults      []string
}

const (
	selectWithdrawals = `SELECT id, merchant_id, state, failure, trim_scale(amount)::text, sequence FROM withdrawals WHERE merchant_id = ANY($1)`

	selectWithdrawalRail = `SELECT ref, outcome, trim_scale(amount)::text, currency, account_number FROM sim_transfers WHERE ref LIKE 'wdr-%'`

	selectBalances = `SELECT m.merchant_id, 'NGN', trim_scale(m.brought)::text, trim_scale(coalesce(a.balance, 0))::text
	FROM (SELECT merchant_id, mode, sum(payout_amount) AS brought FROM payments
		WHERE merchant_id = ANY($1) AND to_balance AND status = 'settled' AND fiat_currency = 'NGN' GROUP BY merchant_id, mode) AS m
	LEFT JOIN ledger_accounts a ON a.code = CASE m.mode WHEN 'test' THEN 'test:' ELSE '' END || 'merchant:' || m.merchant_id || ':NGN'`

	selectDraws = `SELECT id, merchant_id, network, asset, state, failure, trim_scale(amount)::text, trim_scale(charge)::text, trim_scale(fee)::text,
	address, tx_hash, sequence, '' FROM draws WHERE merchant_id = ANY($1)`

	selectCustody = `SELECT merchant_id, network || ' ' || asset, '', sum(credit - debit)::text FROM custody_entries
	WHERE merchant_id = ANY($1) AND account = 'merchant' GROUP BY merchant_id, network, asset`

	selectStrays = `SELECT p.id, p.address, coalesce(r.network, ''), p.status, coalesce(r.id, ''), coalesce(r.state, ''), coalesce(r.asset, ''),
	trim_scale(coalesce(r.amount, 0))::text, coalesce(r.address, ''), trim_scale(coalesce(r.fee, 0))::text, ''
FROM payments p LEFT JOIN refunds r ON r.payment_id = p.id WHERE p.type = 'stray'`

	// Statements that find what a run still waits for. A refund of a cancelled payment is waited for by its payer too.
	countOutgoing = `SELECT (SELECT count(*) FROM withdrawals WHERE state IN ('requested', 'approved', 'sending')),
	(SELECT count(*) FROM draws WHERE state NOT IN ('confirmed', 'failed')),
	(SELECT count(*) FROM refunds WHERE state NOT IN ('confirmed', 'failed'))`
)

// readOutgoing reads what the databases have of outgoing money.
func readOutgoing(ctx context.Context, e Evidence, payments, wallets *pgx.Conn) (o outgoing, err error) {
	o.asked, o.listed = e.Outgoing, e.ListedOut
	if o.withdrawals, err = list[withdrawalRow](ctx, payments, "withdrawals", selectWithdrawals, e.Merchants); err != nil {
		return o, err
	}
	if o.rail, err = list[railRow](ctx, payments, "the rail", selectWithdrawalRail); err != nil {
		return o, err
	}
	if o.balances, err = list[balanceRow](ctx, payments, "balances", selectBalances, e.Merchants); err != nil {
		return o, err
	}
	if o.draws, err = list[drawRow](ctx, payments, "withdrawals from wallets", selectDraws, e.Merchants); err != nil {
		return o, err
	}
	if o.custody, err = list[balanceRow](ctx, wallets, "balances of wallets", selectCustody, e.Merchants); err != nil {
		return o, err
	}
	if o.strays, err = list[strayRow](ctx, payments, "stray payments", selectStrays); err != nil {
		return o, err
	}
	states, err := list[struct{ ID, State string }](ctx, wallets, "orders that wallets carries out", `SELECT id, state FROM refunds`)
	if err != nil {
		return o, err
	}
	sent := map[string]string{}
	for _, row := range states {
		sent[row.ID] = row.State
	}
	for i := range o.draws {
		o.draws[i].Sent = sent[o.draws[i].ID]
	}
	for i := range o.strays {
		o.strays[i].Sent = sent[o.strays[i].Refund]
	}
	return o, nil
}

func (o *outgoing) fault(format string, args ...any) {
	o.faults = append(o.faults, fmt.Sprintf(format, args...))
}

// judge compares the books with what merchants and operators asked for, and with the bank's statement.
func (o *outgoing) judge() []Kind {
	return []Kind{o.judgeWithdrawals(), o.judgeDraws(), o.judgeStrays()}
}

// ended is what must come of a withdrawal to an account: its state, and the word of the bank's statement.
func ended(account string) (state, bank string) {
	shape := load.ShapeOf(account)
	if shape == load.Fails {
		return "failed", "fail"
	}
	if shape == load.Returns {
		return "returned", "return"
	}
	return "paid", "succeed"
}

func (o *outgoing) judgeWithdrawals() Kind {
	rows, statement := map[string]withdrawalRow{}, map[string][]railRow{}
	for _, row := range o.withdrawals {
		rows[row.ID] = row
	}
	for _, r := range o.rail {
		id := r.Reference[:max(0, strings.LastIndexByte(r.Reference, '-'))]
		statement[strings.Replace(id, "-", "_", 1)] = append(statement[strings.Replace(id, "-", "_", 1)], r)
	}
	refused, states, paid, asked := 0, map[string]int{}, new(big.Rat), map[string]bool{}
	for _, w := range o.asked.Withdrawals {
		row, there := rows[w.ID]
		switch {
		case w.Problem != "":
			o.fault("withdrawal of %s: the merchant could not go on: %s", w.Amount, w.Problem)
			continue
		case w.Refused:
			refused++
			continue
		case asked[w.ID]:
			o.fault("two requests were answered with withdrawal %s", w.ID)
			continue
		case !there:
			o.fault("withdrawal %s was answered and is not there", w.ID)
			continue
		}
		asked[w.ID] = true
		states[row.State]++
		state, bank := ended(w.Account)
		if row.State != state || rat(row.Amount).Cmp(rat(w.Amount)) != 0 || row.Merchant != w.Merchant {
			o.fault("withdrawal %s is %s with %s of %s, must be %s with %s of %s", w.ID, row.State, row.Amount, row.Merchant, state, w.Amount, w.Merchant)
		}
		lines := statement[w.ID]
		if len(lines) != 1 || lines[0].Outcome != bank || rat(lines[0].Amount).Cmp(rat(w.Amount)) != 0 || lines[0].Account != w.Account || lines[0].Currency != "NGN" {
			o.fault("the bank's statement of withdrawal %s says %v, must be one %s of %s NGN to %s", w.ID, lines, bank, w.Amount, w.Account)
		}
		if row.State == "paid" {
			paid.Add(paid, rat(row.Amount))
		}
		o.judgeTold(w.ID, row.State, row.Sequence)
	}
	for id := range rows {
		if !asked[id] {
			o.fault("withdrawal %s was made and never answered: a request made two, or its answer was lost for good", id)
		}
	}
	for id := range statement {
		if !asked[id] {
			o.fault("the bank paid withdrawal %s, for which nobody asked", id)
		}
	}
	o.judgeBalances()
	return Kind{
		Name: Withdrawals, Sent: text(paid) + " NGN",
		Counts: fmt.Sprintf("%d asked for, %d paid, %d failed, %d returned, %d refused for want of balance",
			len(o.asked.Withdrawals), states["paid"], states["failed"], states["returned"], refused),
	}
}

// judgeBalances: a balance is what payments brought, less what was withdrawn and did not come back.
func (o *outgoing) judgeBalances() {
	gone := map[string]*big.Rat{}
	for _, row := range o.withdrawals {
		if gone[row.Merchant] == nil {
			gone[row.Merchant] = new(big.Rat)
		}
		if row.State != "failed" && row.State != "returned" {
			gone[row.Merchant].Add(gone[row.Merchant], rat(row.Amount))
		}
	}
	for _, b := range o.balances {
		must := rat(b.Brought)
		if gone[b.Merchant] != nil {
			must.Sub(must, gone[b.Merchant])
		}
		delete(gone, b.Merchant)
		if rat(b.Held).Cmp(must) != 0 || must.Sign() < 0 {
			o.fault("the balance of %s is %s %s, must be %s", b.Merchant, b.Held, b.Asset, text(must))
		}
	}
	for merchant, amount := range gone {
		if amount.Sign() != 0 {
			o.fault("%s withdrew %s NGN and was never credited", merchant, text(amount))
		}
	}
}

// judgeTold: the list of events has each event of a withdrawal once, without a gap, and the last one has its state.
func (o *outgoing) judgeTold(id, state string, sequence int64) {
	listed := map[int64]string{}
	for _, l := range o.listed {
		if l.Reference != id {
			continue
		}
		if listed[l.Sequence] != "" {
			o.fault("event %d of withdrawal %s is listed twice", l.Sequence, id)
		}
		listed[l.Sequence] = l.Status
	}
	for n := int64(1); n <= sequence; n++ {
		if listed[n] == "" {
			o.fault("event %d of %d of withdrawal %s is not listed", n, sequence, id)
		}
	}
	if last := listed[sequence]; last != "" && last != state || int64(len(listed)) > sequence {
		o.fault("the last of %d listed events of withdrawal %s says %s, it is %s after %d", len(listed), id, last, state, sequence)
	}
}

func (o *outgoing) judgeDraws() Kind {
	rows, asked, hashes := map[string]drawRow{}, map[string]bool{}, map[string]string{}
	for _, row := range o.draws {
		rows[row.ID] = row
	}
	states := map[string]int{}
	sent, charged, cost := sums{}, sums{}, sums{}
	for _, d := range o.asked.Draws {
		row, there := rows[d.ID]
		switch {
		case d.Problem != "":
			o.fault("withdrawal of %s %s on %s: the merchant could not go on: %s", d.Amount, d.Pair.Crypto, d.Pair.Network, d.Problem)
			continue
		case asked[d.ID]:
			o.fault("two requests were answered with withdrawal %s", d.ID)
			continue
		case !there:
			o.fault("withdrawal %s was answered and is not there", d.ID)
			continue
		}
		asked[d.ID] = true
		states[row.State]++
		o.judgeDraw(d, row, hashes)
		if row.State == "confirmed" {
			sent.add(row.Asset, rat(row.Amount))
			charged.add(row.Asset, rat(row.Charge))
		}
		cost.add(coin(row.Network), rat(row.Fee))
	}
	for id := range rows {
		if !asked[id] {
			o.fault("withdrawal %s was made and never answered: a request made two, or its answer was lost for good", id)
		}
	}
	o.judgeCustody()
	return Kind{
		Name: Draws, Sent: sent.String() + ", charged " + charged.String(), Cost: cost.String(),
		Counts: fmt.Sprintf("%d asked for, %d confirmed, %d failed for want of balance", len(o.asked.Draws), states["confirmed"], states["failed"]),
	}
}

// judgeDraw: it went once, with the amount and to the address that were asked for, or there was too little money.
func (o *outgoing) judgeDraw(d load.Draw, row drawRow, hashes map[string]string) {
	if rat(row.Amount).Cmp(rat(d.Amount)) != 0 || rat(row.Charge).Cmp(rat(d.Fee)) != 0 || !strings.EqualFold(row.Address, d.Address) ||
		(load.Pair{Crypto: row.Asset, Network: row.Network}) != d.Pair || row.Merchant != d.Merchant {
		o.fault("withdrawal %s is of %s and %s %s on %s to %s by %s, asked for were %s and %s of %v to %s by %s", d.ID,
			row.Amount, row.Charge, row.Asset, row.Network, row.Address, row.Merchant, d.Amount, d.Fee, d.Pair, d.Address, d.Merchant)
	}
	switch {
	case row.State == "confirmed" && row.TxHash == "":
		o.fault("withdrawal %s is confirmed and has no transaction", d.ID)
	case row.State == "confirmed" && hashes[row.TxHash] != "":
		o.fault("withdrawals %s and %s are one transaction %s", d.ID, hashes[row.TxHash], row.TxHash)
	case row.State == "confirmed":
		hashes[row.TxHash] = d.ID
	case row.State != "failed" || row.Failure != "insufficient_balance":
		o.fault("withdrawal %s is %s (%s), must be confirmed, or fail for want of balance", d.ID, row.State, row.Failure)
	}
	if row.Sent != row.State {
		o.fault("withdrawal %s is %s for payments and %q for wallets", d.ID, row.State, row.Sent)
	}
	o.judgeTold(d.ID, row.State, row.Sequence)
}

// judgeCustody: a merchant's balance of an asset is what its wallets received, less what was withdrawn with its fees.
func (o *outgoing) judgeCustody() {
	must := map[string]sums{}
	of := func(merchant string) sums {
		if must[merchant] == nil {
			must[merchant] = sums{}
		}
		return must[merchant]
	}
	for _, w := range o.asked.Wallets {
		if w.Problem != "" {
			o.fault("a wallet of %v: the merchant could not go on: %s", w.Pair, w.Problem)
		}
		of(w.Merchant).add(w.Pair.Network+" "+w.Pair.Crypto, rat(w.Sent))
	}
	for _, row := range o.draws {
		if row.State == "confirmed" {
			of(row.Merchant).add(row.Network+" "+row.Asset, new(big.Rat).Neg(new(big.Rat).Add(rat(row.Amount), rat(row.Charge))))
		}
	}
	for _, b := range o.custody {
		network, asset, _ := strings.Cut(b.Asset, " ")
		held := new(big.Rat).Quo(rat(b.Held), new(big.Rat).SetInt(unit(network, asset)))
		want := of(b.Merchant)[b.Asset]
		if want == nil {
			want = new(big.Rat)
		}
		delete(of(b.Merchant), b.Asset)
		if held.Cmp(want) != 0 || held.Sign() < 0 {
			o.fault("the balance of %s of wallets is %s %s, must be %s", b.Merchant, text(held), b.Asset, text(want))
		}
	}
	for merchant, left := range must {
		for asset, want := range left {
			if want.Sign() != 0 {
				o.fault("the books of wallets have no %s of %s, must have %s", asset, merchant, text(want))
			}
		}
	}
}

// coin is the asset in which a network takes its fees.
func coin(network string) string {
	known := map[string]string{"bitcoin": "BTC", "bsc": "BNB", "polygon": "POL", "solana": "SOL", "tron": "TRX"}
	if symbol := known[network]; symbol != "" {
		return symbol
	}
	return "ETH"
}

// unit is how many base units one of an asset has, by the documents of its network.
func unit(network, asset string) *big.Int {
	digits := int64(18)
	switch {
	case asset == "BTC":
		digits = 8
	case asset == "SOL":
		digits = 9
	case asset == "TRX", (asset == "USDT" || asset == "USDC") && network != "bsc":
		digits = 6
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil)
}

// judgeStrays: all money that went astray is adopted once, and went back once and whole.
func (o *outgoing) judgeStrays() Kind {
	byAddress := map[string][]strayRow{}
	for _, row := range o.strays {
		address := strings.ToLower(row.Address)
		byAddress[address] = append(byAddress[address], row)
	}
	back, cost, adopted, returned := sums{}, sums{}, 0, 0
	for _, s := range o.asked.Strays {
		if s.Problem != "" {
			o.fault("%s %s on %s went astray to %q: the operators could not go on: %s", s.Amount, s.Pair.Crypto, s.Pair.Network, s.Address, s.Problem)
			continue
		}
		rows := byAddress[strings.ToLower(s.Address)]
		delete(byAddress, strings.ToLower(s.Address))
		if len(rows) != 1 {
			o.fault("money on %s has %d payments and refunds, must have one: %v", s.Address, len(rows), rows)
			continue
		}
		adopted++
		row := rows[0]
		if row.ID != s.Payment || row.Status != "refunded" || row.State != "confirmed" || row.Sent != "confirmed" || row.Asset != s.Pair.Crypto ||
			row.Network != s.Pair.Network || rat(row.Amount).Cmp(rat(s.Amount)) != 0 || !strings.EqualFold(row.To, s.To) {
			o.fault("stray money %+v has %+v, must have one confirmed refund of all of it", s, row)
			continue
		}
		returned++
		back.add(row.Asset, rat(row.Amount))
		cost.add(coin(row.Network), rat(row.Fee))
	}
	for address, rows := range byAddress {
		o.fault("%s has a stray payment for which nobody asked: %v", address, rows)
	}
	return Kind{
		Name: Strays, Sent: back.String(), Cost: cost.String(),
		Counts: fmt.Sprintf("%d sent, %d adopted, %d sent back", len(o.asked.Strays), adopted, returned),
	}
}

// sums are amounts by what they are of.
type sums map[string]*big.Rat

func (s sums) add(of string, amount *big.Rat) {
	if s[of] == nil {
		s[of] = new(big.Rat)
	}
	s[of].Add(s[of], amount)
}

// String lists what is not nothing.
func (s sums) String() string {
	var parts []string
	for of, amount := range s {
		if amount.Sign() != 0 {
			parts = append(parts, text(amount)+" "+of)
		}
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " and ")
}

// proofs are the laws that outgoing money was held against; byLaw has the faults of the books.
func (o *outgoing) proofs(byLaw map[string]int) []Proof {
	return []Proof{
		{
			"withdrawals and stray money arrive once", fmt.Sprintf("%d of balances, %d of wallets, %d stray", len(o.withdrawals), len(o.draws), len(o.asked.Strays)),
			len(o.faults),
		},
		{"floats agree with the bank", fmt.Sprintf("%d transfers of withdrawals among its statement", len(o.rail)), byLaw[floatsDiffer]},
		{"balances of merchants never below zero", fmt.Sprintf("%d fiat, %d crypto", len(o.balances), len(o.custody)), byLaw[fiatBelowZero] + byLaw[cryptoBelowZero]},
	}
}

// moving says which outgoing money the run still waits for, "" when none.
func moving(ctx context.Context, payments *pgx.Conn, merchants []string, asked load.Outgoing) (string, error) {
	var withdrawals, draws, refunds int
	if err := payments.QueryRow(ctx, countOutgoing).Scan(&withdrawals, &draws, &refunds); err != nil {
		return "payments' database", fmt.Errorf("looking for outgoing money: %w", err)
	}
	rows, err := list[withdrawalRow](ctx, payments, "withdrawals", selectWithdrawals, merchants)
	if err != nil {
		return "payments' database", err
	}
	must := map[string]string{}
	for _, w := range asked.Withdrawals {
		must[w.ID], _ = ended(w.Account)
	}
	for _, row := range rows {
		if row.State == "paid" && must[row.ID] == "returned" { // the bank sends it back soon
			withdrawals++
		}
	}
	if withdrawals == 0 && draws == 0 && refunds == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d withdrawals, %d withdrawals from wallets, %d refunds not ended", withdrawals, draws, refunds), nil
}
