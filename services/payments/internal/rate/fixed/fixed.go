// Package fixed is a table of prices that never move: the default of test mode, where an example must give the same
// numbers every day. It is no market, and its source name says so.
package fixed
