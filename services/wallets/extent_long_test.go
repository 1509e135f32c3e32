//go:build integration && long

package main

import "causeway.internal/services/wallets/internal/intent"

// solanaStates are all the rows at whose writing wallets dies during a sweep of solana.
var solanaStates = []string{"planned", "signed", "broadcast", "mined", "final"}

// evmKills are all points of the sweep and of its funding.
var evmKills = map[intent.Kind]kills{intent.Fund: everyKill, intent.Sweep: everyKill}

var everyKill = kills{
	signing: map[string][]bool{"wallets": {false, true}, "signer": {false, true}},
	sending: []bool{false, true}, writing: []string{"planned", "signed", "broadcast", "mined", "final"},
}

// refundKills and withdrawalKills are all points of refunds and withdrawals on ethereum.
var refundKills, withdrawalKills = everyRefundKill, everyRefundKill

var everyRefundKill = kills{
	signing: map[string][]bool{"wallets": {false, true}, "signer": {false, true}},
	sending: []bool{false, true}, writing: refundSteps,
}

// refundAnswers, refundSides and refundRows are all points of refunds on bitcoin, solana and tron.
var (
	refundAnswers = []bool{false, true}
	refundSides   = []string{"wallets", "signer"}
)

func refundRows(steps []string) []string { return steps }

// tronKills are all points of each transaction.
func tronKills(intent.Kind) (list []tronKill) {
	for _, answered := range []bool{false, true} {
		list = append(list, killAtDoor("sign", answered, "wallets"), killAtDoor("sign", answered, "signer"), killAtDoor("send", answered, "wallets"))
	}
	for _, state := range []string{"planned", "signed", "broadcast", "mined", "final"} {
		list = append(list, killAtRow(state))
	}
	return list
}
