//go:build integration && long

package network_test

// killedOn: the scanner is killed at every call on every chain.
const killedOn = "evm tron solana bitcoin simulated"
