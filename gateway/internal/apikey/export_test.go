package apikey

// Sizes returns how much a cache holds, for tests.
func Sizes(c *Cache) (known, unknown int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.known), len(c.unknown)
}
