//go:build !long

package limit_test

import "causeway.internal/gateway/internal/limit"

// flooders are as many addresses again as there are buckets of a kind.
const flooders = 2 * limit.Most
