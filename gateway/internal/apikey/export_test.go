package apikey

// Sizes tells tests how much a cache holds.
func Sizes(c *Cache) (known, unknown int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.known), len(c.unknown)
}
