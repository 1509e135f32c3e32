// Package sim is a simulated bank: a rail that moves no money and fails on demand by the magic account numbers of
// contract.md §8. It behaves as an outside party: it knows references and accounts, never payments, and keeps its
// statement where it survives a crash of its customer.
package sim
