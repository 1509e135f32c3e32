//go:build integration && !long

package network_test

// The scanner is killed at every call on one real chain and on the simulated one. Each call starts a process, which
// makes this the slowest case of the suite, and scanner and store are the same on every chain.
const killedOn = "evm simulated"
