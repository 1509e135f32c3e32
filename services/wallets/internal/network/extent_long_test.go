//go:build integration && long

package network_test

// killedOn: the scanner is killed at every call on every chain.
const killedOn = everyChain

// broadOn: the cases of scanner and store run on every chain.
const broadOn = everyChain

const everyChain = "evm tron solana bitcoin simulated"
