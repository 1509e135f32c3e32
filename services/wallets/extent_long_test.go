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

// refundAnswers and refundRows are all points of refunds on bitcoin, solana and tron.
var refundAnswers = []bool{false, true}

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
