//go:build integration && !long

package main

import (
	"slices"
	"strings"

	"causeway.internal/services/wallets/internal/intent"
)

// solanaStates are the rows at whose writing wallets dies during a sweep of solana. The store is the same on every
// chain.
var solanaStates = []string{"planned", "signed", "mined"}

// evmKills are one of each kind of the points of the sweep itself, and one of its funding, which one code sends.
// Refunds have others of that code.
var evmKills = map[intent.Kind]kills{
	intent.Fund: {sending: []bool{true}},
	intent.Sweep: {
		signing: map[string][]bool{"wallets": {true}, "signer": {true}},
		sending: []bool{true}, writing: []string{"mined"},
	},
}

// refundKills and withdrawalKills are points of refunds and withdrawals on ethereum. One code carries both out, so each
// has what the other lacks, and together they have all.
var (
	refundKills = kills{
		signing: map[string][]bool{"wallets": {false}, "signer": {true}},
		sending: []bool{false}, writing: []string{"refund signed", "refund broadcast", "taking sent"},
	}
	withdrawalKills = kills{
		signing: map[string][]bool{"wallets": {true}, "signer": {false}},
		sending: []bool{true}, writing: []string{"taking signing", "refund planned", "refund mined", "refund final", "taking confirmed"},
	}
)

// refundAnswers, refundSides and refundRows are some points of refunds on bitcoin, solana and tron. Those of ethereum
// have all, with the same store and the same signer.
var (
	refundAnswers = []bool{true}
	refundSides   = []string{"wallets"}
)

func refundRows(steps []string) []string {
	return slices.DeleteFunc(slices.Clone(steps), func(step string) bool { return !strings.HasSuffix(step, "signed") })
}

// tronKills are two points of each transaction; the sweep itself has one of each kind.
func tronKills(kind intent.Kind) []tronKill {
	list := []tronKill{killAtDoor("sign", true, "wallets"), killAtRow("broadcast")}
	if kind == intent.Sweep {
		list = append(list, killAtDoor("sign", true, "signer"), killAtDoor("send", true, "wallets"), killAtRow("final"))
	}
	return list
}
