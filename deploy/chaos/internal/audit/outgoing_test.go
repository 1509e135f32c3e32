package audit

import (
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/chaos/internal/load"
)

const (
	usualAccount = "0123456789"
	failsAccount = "0000000003"
)

// leaving is outgoing money with which everything is right.
func leaving() outgoing {
	usdt := load.Pair{Crypto: "USDT", Network: "tron"}
	told := func(id string, states ...string) (all []load.Listed) {
		for i, state := range states {
			all = append(all, load.Listed{ID: "evt_" + id + state, Reference: id, Status: state, Sequence: int64(i + 1)})
		}
		return all
	}
	return outgoing{
		asked: load.Outgoing{
			Withdrawals: []load.Withdrawal{
				{ID: "wdr_1", Merchant: "m", Amount: "40", Account: usualAccount},
				{ID: "wdr_2", Merchant: "m", Amount: "30", Account: failsAccount},
				{Merchant: "m", Amount: "70", Account: usualAccount, Refused: true},
			},
			Wallets: []load.Wallet{{Merchant: "m", Pair: usdt, Sent: "100"}},
			Draws: []load.Draw{
				{ID: "wwd_1", Merchant: "m", Pair: usdt, Amount: "35", Fee: "5", Address: "TM"}, {ID: "wwd_2", Merchant: "m", Pair: usdt, Amount: "75", Fee: "5", Address: "TM"},
			},
			Strays: []load.Stray{{Pair: usdt, Address: "TS", Amount: "70", To: "TP", Payment: "pay_1"}},
		},
		listed: slices.Concat(
			told("wdr_1", "requested", "approved", "sending", "paid"), told("wdr_2", "requested", "failed"),
			told("wwd_1", "requested", "approved", "confirmed"), told("wwd_2", "requested", "failed"),
		),
		withdrawals: []withdrawalRow{
			{ID: "wdr_1", Merchant: "m", State: "paid", Amount: "40", Sequence: 4}, {ID: "wdr_2", Merchant: "m", State: "failed", Amount: "30", Sequence: 2},
		},
		rail:     []railRow{{"wdr-1-1", "succeed", "40", "NGN", usualAccount}, {"wdr-2-1", "fail", "30", "NGN", failsAccount}},
		balances: []balanceRow{{"m", "NGN", "60", "20"}},
		draws: []drawRow{
			{
				ID: "wwd_1", Merchant: "m", Network: "tron", Asset: "USDT", State: "confirmed", Amount: "35", Charge: "5", Fee: "13", Address: "TM",
				TxHash: "0x1", Sequence: 3, Sent: "confirmed",
			},
			{
				ID: "wwd_2", Merchant: "m", Network: "tron", Asset: "USDT", State: "failed", Failure: "insufficient_balance", Amount: "75", Charge: "5",
				Fee: "0", Address: "TM", Sequence: 2, Sent: "failed",
			},
		},
		custody: []balanceRow{{"m", "tron USDT", "", "60000000"}},
		strays: []strayRow{{
			ID: "pay_1", Address: "TS", Network: "tron", Status: "refunded", Refund: "rfd_1", State: "confirmed", Asset: "USDT", Amount: "70", To: "TP",
			Fee: "1", Sent: "confirmed",
		}},
	}
}

// Money that left as was asked has no fault, and each kind is counted.
func TestOutgoing_agrees(t *testing.T) {
	o := leaving()
	kinds := o.judge()
	if len(o.faults) > 0 {
		t.Errorf("judge outgoing money with which all is right: got %q, want no fault", o.faults)
	}
	want := []Kind{
		{Withdrawals, "3 asked for, 1 paid, 1 failed, 0 returned, 1 refused for want of balance", "40 NGN", ""},
		{Draws, "2 asked for, 1 confirmed, 1 failed for want of balance", "35 USDT, charged 5 USDT", "13 TRX"},
		{Strays, "1 sent, 1 adopted, 1 sent back", "70 USDT", "1 TRX"},
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("judge outgoing money: got %+v, want %+v", kinds, want)
	}
}

// Each way in which outgoing money can be lost, leave twice or go elsewhere is found.
func TestOutgoing_seesEachFault(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(*outgoing)
		want string
	}{
		"withdrawal lost":               {func(o *outgoing) { o.withdrawals = o.withdrawals[1:] }, "wdr_1 was answered and is not there"},
		"withdrawal that nobody made":   {func(o *outgoing) { o.asked.Withdrawals = o.asked.Withdrawals[1:] }, "wdr_1 was made and never answered"},
		"withdrawal not ended":          {func(o *outgoing) { o.withdrawals[0].State = "sending" }, "wdr_1 is sending"},
		"withdrawal of another's money": {func(o *outgoing) { o.withdrawals[0].Merchant = "n" }, "wdr_1 is paid with 40 of n"},
		"withdrawal paid twice": {
			func(o *outgoing) { o.rail = append(o.rail, railRow{"wdr-1-2", "succeed", "40", "NGN", usualAccount}) }, "statement of withdrawal wdr_1 says",
		},
		"withdrawal not paid":       {func(o *outgoing) { o.rail = o.rail[1:] }, "statement of withdrawal wdr_1 says []"},
		"withdrawal to a thief":     {func(o *outgoing) { o.rail[0].Account = "1" }, "statement of withdrawal wdr_1 says"},
		"withdrawal paid too much":  {func(o *outgoing) { o.rail[0].Amount = "41" }, "statement of withdrawal wdr_1 says"},
		"two requests for one":      {func(o *outgoing) { o.asked.Withdrawals[1].ID = "wdr_1" }, "two requests were answered with withdrawal wdr_1"},
		"balance too high":          {func(o *outgoing) { o.balances[0].Held = "50" }, "the balance of m is 50 NGN, must be 20"},
		"balance below zero":        {func(o *outgoing) { o.balances[0].Brought, o.balances[0].Held = "30", "-10" }, "must be -10"},
		"never credited":            {func(o *outgoing) { o.balances = nil }, "m withdrew 40 NGN and was never credited"},
		"bank paid what nobody has": {func(o *outgoing) { o.rail = append(o.rail, railRow{"wdr-9-1", "succeed", "1", "NGN", "1"}) }, "the bank paid withdrawal wdr_9"},
		"event lost":                {func(o *outgoing) { o.listed = o.listed[1:] }, "event 1 of 4 of withdrawal wdr_1 is not listed"},
		"event listed twice":        {func(o *outgoing) { o.listed = append(o.listed, o.listed[0]) }, "event 1 of withdrawal wdr_1 is listed twice"},
		"another event listed last": {func(o *outgoing) { o.listed[3].Status = "failed" }, "says failed, it is paid"},
		"merchant could not go on":  {func(o *outgoing) { o.asked.Withdrawals[2] = load.Withdrawal{Problem: "why"} }, "could not go on: why"},
		"wallets' withdrawal lost":  {func(o *outgoing) { o.draws = o.draws[1:] }, "wwd_1 was answered and is not there"},
		"wallets' withdrawal made":  {func(o *outgoing) { o.asked.Draws = o.asked.Draws[1:] }, "wwd_1 was made and never answered"},
		"wallets' not ended":        {func(o *outgoing) { o.draws[0].State = "sent" }, "wwd_1 is sent"},
		"wallets' failed":           {func(o *outgoing) { o.draws[1].Failure = "refused" }, "wwd_2 is failed (refused)"},
		"wallets' elsewhere":        {func(o *outgoing) { o.draws[0].Address = "TThief" }, "to TThief"},
		"wallets' without a hash":   {func(o *outgoing) { o.draws[0].TxHash = "" }, "wwd_1 is confirmed and has no transaction"},
		"services differ":           {func(o *outgoing) { o.draws[0].Sent = "failed" }, `confirmed for payments and "failed" for wallets`},
		"one transaction for two": {func(o *outgoing) {
			o.draws[1].State, o.draws[1].TxHash = "confirmed", "0x1"
		}, "withdrawals wwd_2 and wwd_1 are one transaction"},
		"wallets' money lost":     {func(o *outgoing) { o.custody[0].Held = "59000000" }, "is 59 tron USDT, must be 60"},
		"wallets' money unbooked": {func(o *outgoing) { o.custody = nil }, "have no tron USDT of m, must have 60"},
		"wallet not filled":       {func(o *outgoing) { o.asked.Wallets[0].Problem = "why" }, "could not go on: why"},
		"stray not adopted":       {func(o *outgoing) { o.strays = nil }, "money on TS has 0 payments and refunds"},
		"stray refunded twice":    {func(o *outgoing) { o.strays = append(o.strays, o.strays[0]) }, "money on TS has 2 payments and refunds"},
		"stray not back":          {func(o *outgoing) { o.strays[0].State = "sent" }, "must have one confirmed refund"},
		"stray to a thief":        {func(o *outgoing) { o.strays[0].To = "TThief" }, "must have one confirmed refund"},
		"stray adopted by itself": {func(o *outgoing) { o.asked.Strays = nil }, "ts has a stray payment for which nobody asked"},
		"operators could not":     {func(o *outgoing) { o.asked.Strays[0].Problem = "why" }, "could not go on: why"},
	} {
		t.Run(name, func(t *testing.T) {
			o := leaving()
			test.harm(&o)
			o.judge()
			if faults := strings.Join(o.faults, "; "); !strings.Contains(faults, test.want) {
				t.Errorf("judge: got %q, want %q", faults, test.want)
			}
		})
	}
}
