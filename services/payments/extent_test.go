//go:build integration && !long

package main

var setBack = load{before: 8, lost: 4, waiting: 2}
