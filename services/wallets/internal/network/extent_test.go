//go:build integration && !long

package network_test

// The scanner is killed at every call on one chain. Each call starts a process, which makes this the slowest case of
// the suite, and scanner and store are the same on every chain.
const killedOn = "evm"

// broadOn are a chain of accounts and one of outputs, on which the cases of scanner and store run.
const broadOn = "evm bitcoin"
