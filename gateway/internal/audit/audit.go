// Package audit names what operators did. An entry is written in the transaction of the act itself and fails with it
// (contract.md §9); this package only describes entries, the store writes them.
package audit

// Entry is one act. It never holds a secret, nor a payment's reference, which is a bearer secret (design.md §4).
type Entry struct {
	Actor     string // operator:<name of the token> or cli:<user>
	Act       Act
	Object    string // what it was done to: key:12
	RequestID string
	ClientIP  string            // "" when there is none
	Detail    map[string]string // small facts that matter later
}

// Act is what was done.
type Act string

// The acts.
const (
	KeyCreated Act = "key.created"
	KeyRevoked Act = "key.revoked"
)
