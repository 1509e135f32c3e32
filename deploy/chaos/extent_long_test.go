//go:build integration && long

package main

import "time"

// These last about fifty minutes together: `make test/long` plays every scenario, and each for longer.
const (
	mixScenarios = "kills,steps,pauses,network,outage,replicas,lossy,hooks,mix"
	mixFor       = 8 * time.Minute
	restoreFor   = 2 * time.Minute
	upgradeFor   = 100 * time.Second
	sweepsFor    = "7m"
	failoverFor  = 150 * time.Second // two or more of each server
	hooksFor     = 2 * time.Minute
	quietFor     = 10 * time.Minute
	breaks       = "" // everything
	lookLonger   = 25 * time.Second
	atMost       = 45 * time.Minute
)
