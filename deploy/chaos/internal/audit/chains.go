package audit

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/chain"
	"causeway.internal/deploy/chaos/internal/livenet"
)

// Network is what came of one live network.
type Network struct {
	Name         string
	Sweeps       int // of addresses
	Transactions int // that reached a final block, with those that pay for sweeps
	Refunds      int
	Draws        int    // withdrawals from wallets
	Collected    string // worth of what sweeps brought to the treasury
	Cost         string // the fees of sweeps, fundings and loans of energy
	CostPerUSD   string // of a collected US dollar; "" when nothing was collected
	RefundCost   string // the fees of refunds and withdrawals, and the rent of token accounts that they opened
	Returned     string // rent of token accounts that sweeps closed; "" without any
	Held         string // on the treasury, the stations and the deposit addresses, beside what operators put there
}

// side is everything about one live network that has to agree.
type side struct {
	chain    livenet.Chain
	station  string              // "" without one
	refunds  string              // the refund station, "" without one
	approved []approvedRefund    // confirmed ones
	deposits map[string]bool     // addresses that were handed out
	given    map[string]*big.Int // by asset: what operators put on the station and the treasury
	ledger   map[string]*big.Int // by asset: in the books of payments, and of standalone wallets in those of wallets
	reading  chain.Reading
}

// approvedRefund is a refund or a withdrawal that payments has approved and believes to be on the chain.
type approvedRefund struct {
	asset, to string
	units     *big.Int
	draw      bool // a withdrawal from wallets
}

// own lists the addresses of the product.
func (s side) own() []string {
	all := slices.Collect(maps.Keys(s.deposits))
	for _, a := range []string{s.station, s.refunds, s.chain.Treasury} {
		if a != "" {
			all = append(all, a)
		}
	}
	return all
}

// held adds up what the chain has on the product's addresses, without what operators put there.
func (s side) held(asset string) *big.Int {
	total := new(big.Int)
	for _, address := range s.own() {
		if units := s.reading.Balances[address][asset]; units != nil {
			total.Add(total, units)
		}
	}
	if given := s.given[asset]; given != nil {
		total.Sub(total, given)
	}
	return total
}

// judgement is what was compared, and what is wrong.
type judgement struct {
	balances    int
	collected   int // transfers to the treasury
	refunded    int // approved refunds
	drawn       int // approved withdrawals
	among       int // transfers of gas, rent and change among addresses of the product
	differing   []string
	wronglySent []string
}

func (j judgement) faults() []string { return slices.Concat(j.differing, j.wronglySent) }

// add counts another network's judgement too.
func (j *judgement) add(other judgement) {
	j.balances, j.collected = j.balances+other.balances, j.collected+other.collected
	j.refunded, j.drawn, j.among = j.refunded+other.refunded, j.drawn+other.drawn, j.among+other.among
	j.differing, j.wronglySent = append(j.differing, other.differing...), append(j.wronglySent, other.wronglySent...)
}

// proofs are the laws that the chains were held against.
func (j judgement) proofs() []Proof {
	transfers := fmt.Sprintf("%d transfers: %d to a treasury, %d approved refunds, %d approved withdrawals, %d of gas, rent and change among own addresses",
		j.collected+j.refunded+j.drawn+j.among+len(j.wronglySent), j.collected, j.refunded, j.drawn, j.among)
	return []Proof{
		{"chains agree with ledger", fmt.Sprintf("%d balances", j.balances), len(j.differing)},
		{"no other destination", transfers, len(j.wronglySent)},
	}
}

// judge compares the books with the chain, and looks where money went.
func (s side) judge() judgement {
	j := judgement{balances: len(s.chain.Assets)}
	fault := func(to *[]string, format string, args ...any) {
		*to = append(*to, s.chain.Network+": "+fmt.Sprintf(format, args...))
	}
	for _, a := range s.chain.Assets {
		booked := s.ledger[a.Symbol]
		if booked == nil {
			booked = new(big.Int)
		}
		if held := s.held(a.Symbol); held.Cmp(booked) != 0 {
			fault(&j.differing, "the chain has %s %s on treasury, stations and deposit addresses, the ledger %s", a.Text(held), a.Symbol, a.Text(booked))
		}
	}
	left := slices.Clone(s.approved)
	for _, m := range s.reading.Moves {
		paid := slices.IndexFunc(left, func(r approvedRefund) bool {
			return s.refunds != "" && m.From == s.refunds && !m.Rent && r.asset == m.Asset && r.to == m.To && r.units.Cmp(m.Units) == 0
		})
		switch {
		case paid >= 0 && left[paid].draw:
			left = slices.Delete(left, paid, paid+1)
			j.drawn++
		case paid >= 0:
			left = slices.Delete(left, paid, paid+1)
			j.refunded++
		case !s.allowed(m):
			fault(&j.wronglySent, "%s moved %s of %s from %s to %s, which is neither the treasury nor an approved refund or withdrawal", m.Tx, m.Units, m.Asset, m.From, m.To)
		case m.To == s.chain.Treasury:
			j.collected++
		default:
			j.among++
		}
	}
	for _, r := range left {
		fault(&j.differing, "the refund or withdrawal of %s of %s to %s is confirmed and not on the chain", r.units, r.asset, r.to)
	}
	return j
}

// tokenRent are the lamports that a token account needs.
var tokenRent = big.NewInt(2_039_280)

// allowed says whether money may go there: to the treasury, as gas from a station to a deposit address, as the rent of
// a token account for an approved refund, or back to the station as what is left of gas and rent. On bitcoin the change
// of a refund goes back to where it came from.
func (s side) allowed(m chain.Move) bool {
	coin := m.Asset == s.chain.Coin().Symbol
	switch {
	case s.refunds != "" && m.From == s.refunds && m.To == s.refunds:
		return coin && s.chain.Family == "bitcoin"
	case m.Rent && m.From == s.refunds:
		return m.Units.Cmp(tokenRent) == 0 && slices.ContainsFunc(s.approved, func(r approvedRefund) bool { return r.to == m.To })
	case m.From == s.chain.Treasury:
		return m.To == s.chain.Treasury
	case m.To == s.chain.Treasury:
		return true
	case s.station != "" && m.From == s.station:
		return coin && (m.To == s.station || s.deposits[m.To])
	}
	return coin && s.station != "" && m.To == s.station && s.chain.Family == "solana"
}

const (
	selectDeposits = `SELECT address FROM addresses WHERE mode = 'live' AND family = $1`

	selectLedger = `SELECT asset, sum(CASE side WHEN 'debit' THEN amount ELSE -amount END)::text FROM ledger_entries
WHERE account IN ('crypto:deposit:' || $1 || ':' || asset, 'crypto:hot:' || $1 || ':' || asset) GROUP BY asset`

	// Withdrawals leave the station of refunds too.
	selectRefunds = `SELECT asset, trim_scale(amount)::text, address, draw FROM (SELECT mode, network, state, asset, amount, address, false AS draw FROM refunds
		UNION ALL SELECT mode, network, state, asset, amount, address, true FROM draws) AS left_by_order
	WHERE mode = 'live' AND network = $1 AND state = 'confirmed'`

	// The money of standalone wallets is in the books of wallets alone. Its journals name the merchant.
	selectStandalone = `SELECT asset, sum(debit - credit)::text FROM custody_entries WHERE mode = 'live' AND network = $1 AND merchant_id <> ''
	AND account IN ('custody', 'treasury', 'gas_station', 'gas_float', 'refund_station') GROUP BY asset`

	selectSwept = `SELECT (SELECT count(*) FROM sweeps WHERE mode = 'live' AND network = $1 AND state = 'swept')::int,
	count(*)::int FROM outgoing_tx WHERE mode = 'live' AND network = $1 AND state IN ('final', 'failed')`

	selectBlocked = `SELECT network || ' ' || address || ': ' || reason FROM sweeps WHERE mode = 'live' AND state = 'blocked'`

	countUnswept = `SELECT (SELECT count(*) FROM outgoing_tx WHERE mode = 'live' AND (state IN ('planned', 'signed', 'broadcast', 'mined')
		OR kind = 'delegate' AND state = 'final' AND NOT returned)),
	(SELECT count(*) FROM deposits d LEFT JOIN sweeps s ON s.id = d.sweep WHERE d.mode = 'live' AND d.state <> 'reverted' AND (s.id IS NULL OR s.state = 'open'))`
)

// booksSettle is how long the last messages about final transactions may take to the books.
const booksSettle = time.Minute

// chainsJudged is the judgement of all live networks.
type chainsJudged struct {
	networks []Network
	sum      judgement
	faults   []string
}

// judgeChains compares every live network with the books of payments, until they agree or the last messages must have
// arrived.
func judgeChains(ctx context.Context, n *livenet.Networks, payments, wallets *pgx.Conn) (all chainsJudged, err error) {
	usd, err := readPrices(ctx, payments)
	if err != nil {
		return all, err
	}
	for _, c := range n.Chains {
		for deadline := time.Now().Add(booksSettle); ; {
			s, err := sideOf(ctx, n, c, payments, wallets)
			if err != nil {
				return all, err
			}
			j := s.judge()
			found := j.faults()
			if len(found) == 0 || time.Now().After(deadline) || ctx.Err() != nil {
				network, err := s.summary(ctx, wallets, usd)
				if err != nil {
					return all, err
				}
				all.networks, all.faults = append(all.networks, network), append(all.faults, found[:min(len(found), faultsShown)]...)
				all.sum.add(j)
				break
			}
			time.Sleep(time.Second)
		}
	}
	blocked, err := list[struct{ Text string }](ctx, wallets, "blocked sweeps", selectBlocked)
	for _, b := range blocked {
		all.faults = append(all.faults, "a sweep is blocked: "+b.Text)
	}
	return all, err
}

// sideOf reads one network.
func sideOf(ctx context.Context, n *livenet.Networks, c livenet.Chain, payments, wallets *pgx.Conn) (side, error) {
	subject := chain.Subject{Family: c.Family, URL: c.Node.RPCURL, Coin: c.Coin().Symbol, Tokens: map[string]string{}}
	for _, a := range c.Assets[1:] {
		subject.Tokens[a.Symbol] = a.Contract
	}
	c.Treasury = subject.Canonical(c.Treasury)
	s := side{
		chain: c, station: subject.Canonical(n.Stations[c.Family]), refunds: subject.Canonical(n.Refunds[c.Family]), deposits: map[string]bool{}, given: n.Given[c.Network], ledger: map[string]*big.Int{},
	}
	addresses, err := list[struct{ Address string }](ctx, wallets, "deposit addresses", selectDeposits, c.Family)
	if err != nil {
		return s, err
	}
	for _, a := range addresses {
		s.deposits[subject.Canonical(a.Address)] = true
	}
	booked, err := list[struct{ Asset, Total string }](ctx, payments, "the ledger", selectLedger, c.Network)
	if err != nil {
		return s, err
	}
	for _, b := range booked {
		a, known := c.Asset(b.Asset)
		if !known {
			return s, fmt.Errorf("the ledger has %s on %s, which nobody pays in", b.Asset, c.Network)
		}
		if s.ledger[b.Asset], err = a.Units(b.Total); err != nil {
			return s, fmt.Errorf("reading the ledger: %w", err)
		}
	}
	standalone, err := list[struct{ Asset, Units string }](ctx, wallets, "the books of standalone wallets", selectStandalone, c.Network)
	if err != nil {
		return s, err
	}
	for _, b := range standalone {
		if s.ledger[b.Asset] == nil {
			s.ledger[b.Asset] = new(big.Int)
		}
		s.ledger[b.Asset].Add(s.ledger[b.Asset], rat(b.Units).Num())
	}
	refunds, err := list[struct {
		Asset, Amount, Address string
		Draw                   bool
	}](ctx, payments, "refunds", selectRefunds, c.Network)
	if err != nil {
		return s, err
	}
	for _, r := range refunds {
		a, _ := c.Asset(r.Asset)
		units, err := a.Units(r.Amount)
		if err != nil {
			return s, fmt.Errorf("reading refunds: %w", err)
		}
		s.approved = append(s.approved, approvedRefund{r.Asset, subject.Canonical(r.Address), units, r.Draw})
	}
	s.reading, err = subject.Read(ctx, s.own())
	return s, err
}

// summary is the network's line of the report.
func (s side) summary(ctx context.Context, wallets *pgx.Conn, usd prices) (Network, error) {
	n := Network{Name: s.chain.Network}
	for _, r := range s.approved {
		if r.draw {
			n.Draws++
			continue
		}
		n.Refunds++
	}
	if err := wallets.QueryRow(ctx, selectSwept, n.Name).Scan(&n.Sweeps, &n.Transactions); err != nil {
		return n, fmt.Errorf("counting sweeps: %w", err)
	}
	if err := s.costs(ctx, wallets, usd, &n); err != nil {
		return n, err
	}
	for i, a := range s.chain.Assets {
		if i > 0 {
			n.Held += ", "
		}
		n.Held += text(units(a, s.held(a.Symbol).String())) + " " + a.Symbol
	}
	return n, nil
}

// unswept says what the run still waits for on the live networks, "" when nothing.
func unswept(ctx context.Context, e Evidence) (string, error) {
	db, err := pgx.Connect(ctx, e.Databases["wallets"])
	if err != nil {
		return "wallets' database", err
	}
	defer db.Close(ctx)
	var open, deposits int
	if err := db.QueryRow(ctx, countUnswept).Scan(&open, &deposits); err != nil {
		return "wallets' database", fmt.Errorf("looking for deposits not swept: %w", err)
	}
	if open == 0 && deposits == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d transactions under way, %d deposits not swept", open, deposits), nil
}
