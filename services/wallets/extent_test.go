//go:build integration && !long

package main

// A process is started for every call of the scanner, which makes this the costliest case of the suite, and scanner and store
// are the same on every chain: `make test` kills them on one real chain and on the simulated one.
const killedOn = "evm simulated"
