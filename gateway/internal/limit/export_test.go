package limit

// Most bounds the buckets of a kind.
const Most = most

// Held counts the buckets of a gate.
func Held(l *Rates) int {
	return len(l.standard.at) + len(l.premium.at) + len(l.public.at) + len(l.names.at) + len(l.guesses.at)
}

// HeldConnections counts the addresses that hold connections.
func HeldConnections(c *Connections) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.held)
}
