//go:build integration && long

package main

var setBack = load{before: 30, lost: 15, waiting: 5}
