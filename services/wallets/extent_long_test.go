//go:build integration && long

package main

// killedOn: the scanner is killed at every call on every chain.
const killedOn = "evm tron solana bitcoin simulated"

// solanaStates are all the rows at whose writing wallets dies during a sweep of solana.
var solanaStates = []string{"planned", "signed", "broadcast", "mined", "final"}
