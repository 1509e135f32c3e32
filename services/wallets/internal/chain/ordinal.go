package chain

// The ordinals of coin that contracts send. 0 is a transaction's own value, and its logs count from 1.
const (
	// FirstTraced is where they begin. An ordinal from here to FirstInternal is the position of a call among all calls
	// that some node listed, and nodes list them differently: no driver gives one any more, but deposits have them.
	FirstTraced = 1_000_000
	// FirstInternal is where the ranks among the transfers of a transaction begin.
	FirstInternal = 2_000_000
	// FirstHinted is where the ordinals of the effects of named transactions begin; the address's index is added.
	FirstHinted = 1_000_000_000
)

// IsTraced reports whether an ordinal is of coin that a contract sent and a trace shows.
func IsTraced(ordinal int) bool { return ordinal >= FirstTraced && ordinal < FirstHinted }
