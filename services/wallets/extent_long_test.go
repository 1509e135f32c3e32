//go:build integration && long

package main

// killedOn: the scanner is killed at every call on every chain.
const killedOn = "evm tron solana bitcoin simulated"
