//go:build integration && !long

package main

import "time"

// These last less than three minutes together, with the starts, the last payments and the audits. Those that measure
// nothing by the clock run two or three at a time.
const (
	mixScenarios = "steps,hooks,mix"
	mixFor       = 24 * time.Second
	restoreFor   = 16 * time.Second // about three of them are lost, twice
	upgradeFor   = 5 * time.Second  // beside what moving twenty processes takes
	quietFor     = 10 * time.Second
	breaks       = "process"
	lookLonger   = 3 * time.Second
	atMost       = 12 * time.Minute
)
