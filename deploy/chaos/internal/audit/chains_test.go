package audit

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/chaos/internal/chain"
	"causeway.internal/deploy/chaos/internal/livenet"
)

// agreed is a network whose books and chain agree: 25 USDT were swept, and the gas for that was 2 of the 10 wei that an
// operator gave the station; 4 of the 9 USDT of the refund station were refunded.
func agreed() side {
	return side{
		chain: livenet.Chain{
			Family: "evm", Network: "ethereum", Treasury: "0xt", Assets: []livenet.Asset{{Symbol: "ETH", Digits: 18}, {Symbol: "USDT", Digits: 6}},
		},
		station: "0xs", refunds: "0xr", approved: []approvedRefund{{"USDT", "0xp", big.NewInt(4), false}}, deposits: map[string]bool{"0xd": true}, given: map[string]*big.Int{"ETH": big.NewInt(10), "USDT": big.NewInt(9)},
		ledger: map[string]*big.Int{"USDT": big.NewInt(21), "ETH": big.NewInt(-2)},
		reading: chain.Reading{
			Moves: []chain.Move{
				{Tx: "0x1", Asset: "ETH", From: "0xs", To: "0xd", Units: big.NewInt(3)},
				{Tx: "0x2", Asset: "USDT", From: "0xd", To: "0xt", Units: big.NewInt(25)},
				{Tx: "0x3", Asset: "USDT", From: "0xr", To: "0xp", Units: big.NewInt(4)},
			},
			Balances: map[string]map[string]*big.Int{
				"0xs": {"ETH": big.NewInt(6)}, "0xd": {"ETH": big.NewInt(2), "USDT": new(big.Int)}, "0xt": {"USDT": big.NewInt(25)}, "0xr": {"USDT": big.NewInt(5)},
			},
		},
	}
}

func TestSide_agrees(t *testing.T) {
	s := agreed()
	if faults := s.judge().faults(); len(faults) > 0 {
		t.Errorf("judge a network whose books and chain agree: got %q, want no fault", faults)
	}
	s.chain.Family = "solana" // what is left of gas and rent comes back to the station
	s.reading.Moves = append(s.reading.Moves, chain.Move{Tx: "0x3", Asset: "ETH", From: "0xd", To: "0xs", Units: big.NewInt(1)})
	if faults := s.judge().faults(); len(faults) > 0 {
		t.Errorf("judge rent that comes back to the station: got %q, want no fault", faults)
	}
}

// A judgement counts what it compared, so that a report can say what its laws were held against.
func TestSide_proofs(t *testing.T) {
	var sum judgement
	sum.add(agreed().judge())
	astray := agreed()
	astray.ledger["USDT"] = big.NewInt(22)
	astray.reading.Moves[1].To = "0xthief"
	sum.add(astray.judge())
	want := []Proof{
		{"chains agree with ledger", "4 balances", 1},
		{"no other destination", "6 transfers: 1 to a treasury, 2 approved refunds, 0 approved withdrawals, 2 of gas, rent and change among own addresses", 1},
	}
	if got := sum.proofs(); !slices.Equal(got, want) {
		t.Errorf("judge two networks, one of them with a theft and a wrong book: got %+v, want %+v", got, want)
	}
}

// A withdrawal leaves the station of refunds, once, and is counted apart.
func TestSide_withdrawal(t *testing.T) {
	s := agreed()
	s.approved = append(s.approved, approvedRefund{"USDT", "0xm", big.NewInt(2), true})
	move := chain.Move{Tx: "0x4", Asset: "USDT", From: "0xr", To: "0xm", Units: big.NewInt(2)}
	s.reading.Moves = append(s.reading.Moves, move)
	if j := s.judge(); len(j.wronglySent) > 0 || j.drawn != 1 || j.refunded != 1 {
		t.Errorf("judge an approved withdrawal: got %d withdrawals, %d refunds and %q, want 1, 1 and none elsewhere", j.drawn, j.refunded, j.wronglySent)
	}
	s.reading.Moves = append(s.reading.Moves, move)
	if j := s.judge(); len(j.wronglySent) != 1 {
		t.Errorf("judge a withdrawal that left twice: got %q, want one fault", j.wronglySent)
	}
}

// A refund of a token may open the payer's token account, at the usual rent.
func TestSide_rent(t *testing.T) {
	for name, test := range map[string]struct {
		to    string
		units int64
		want  int
	}{
		"of the payer":     {"0xp", 2_039_280, 0},
		"more than rent":   {"0xp", 2_039_281, 1},
		"of somebody else": {"0xthief", 2_039_280, 1},
	} {
		s := agreed()
		s.reading.Moves = append(s.reading.Moves, chain.Move{Tx: "0x3", Asset: "ETH", From: "0xr", To: test.to, Units: big.NewInt(test.units), Rent: true})
		if faults := s.judge().faults(); len(faults) != test.want {
			t.Errorf("judge rent %s: got %q, want %d faults", name, faults, test.want)
		}
	}
}

// On bitcoin the change of a refund goes back to the refund station, and nowhere else.
func TestSide_change(t *testing.T) {
	for name, test := range map[string]struct {
		family, asset, to string
		want              int
	}{
		"to the station":             {"bitcoin", "ETH", "0xr", 0},
		"to somebody else":           {"bitcoin", "ETH", "0xthief", 1},
		"to a deposit address":       {"bitcoin", "ETH", "0xd", 1},
		"of a token":                 {"bitcoin", "USDT", "0xr", 1},
		"where there are no changes": {"evm", "ETH", "0xr", 1},
	} {
		s := agreed()
		s.chain.Family = test.family
		s.reading.Moves = append(s.reading.Moves, chain.Move{Tx: "0x3", Asset: test.asset, From: "0xr", To: test.to, Units: big.NewInt(1)})
		if faults := s.judge().faults(); len(faults) != test.want {
			t.Errorf("judge change %s: got %q, want %d faults", name, faults, test.want)
		}
	}
}

// Each way in which chain and books can disagree, and each wrong destination, is found.
func TestSide_seesEachFault(t *testing.T) {
	move := func(asset, from, to string) func(*side) {
		return func(s *side) {
			s.reading.Moves = append(s.reading.Moves, chain.Move{Tx: "0x9", Asset: asset, From: from, To: to, Units: big.NewInt(1)})
		}
	}
	move4 := func(from, to string) func(*side) {
		return func(s *side) {
			s.reading.Moves = append(s.reading.Moves, chain.Move{Tx: "0x9", Asset: "USDT", From: from, To: to, Units: big.NewInt(4)})
		}
	}
	for name, test := range map[string]struct {
		harm func(*side)
		want string
	}{
		"treasury has less":              {func(s *side) { s.reading.Balances["0xt"]["USDT"] = big.NewInt(24) }, "the chain has 0.000020 USDT on treasury, stations and deposit addresses, the ledger 0.000021"},
		"a deposit is not booked":        {func(s *side) { s.reading.Balances["0xd"]["USDT"] = big.NewInt(7) }, "the chain has 0.000028 USDT"},
		"gas is not booked":              {func(s *side) { s.ledger["ETH"] = new(big.Int) }, "the ledger 0.000000000000000000"},
		"a sweep is booked twice":        {func(s *side) { s.ledger["USDT"] = big.NewInt(50) }, "the ledger 0.000050"},
		"a station lost coins":           {func(s *side) { s.reading.Balances["0xs"]["ETH"] = big.NewInt(5) }, "ETH on treasury"},
		"tokens to a thief":              {move("USDT", "0xd", "0xthief"), "0x9 moved 1 of USDT from 0xd to 0xthief"},
		"coins to a thief":               {move("ETH", "0xs", "0xthief"), "neither the treasury nor an approved refund"},
		"tokens to a station":            {move("USDT", "0xd", "0xs"), "from 0xd to 0xs"},
		"coins to a station":             {move("ETH", "0xd", "0xs"), "from 0xd to 0xs"},
		"tokens from a station":          {move("USDT", "0xs", "0xd"), "from 0xs to 0xd"},
		"out of the treasury":            {move("USDT", "0xt", "0xs"), "from 0xt to 0xs"},
		"refunded twice":                 {move4("0xr", "0xp"), "neither the treasury nor an approved refund"},
		"refunded to a thief":            {func(s *side) { s.reading.Moves[2].To = "0xthief" }, "from 0xr to 0xthief"},
		"refunded too much":              {func(s *side) { s.reading.Moves[2].Units = big.NewInt(5) }, "0x3 moved 5 of USDT from 0xr to 0xp"},
		"refunded by a deposit":          {func(s *side) { s.reading.Moves[2].From = "0xd" }, "from 0xd to 0xp"},
		"refund not on the chain":        {func(s *side) { s.reading.Moves = s.reading.Moves[:2] }, "the refund or withdrawal of 4 of USDT to 0xp is confirmed and not on the chain"},
		"another address of the product": {move("USDT", "0xd", "0xd2"), "from 0xd to 0xd2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := agreed()
			test.harm(&s)
			if faults := strings.Join(s.judge().faults(), "; "); !strings.Contains(faults, test.want) {
				t.Errorf("judge: got %q, want %q", faults, test.want)
			}
		})
	}
}
