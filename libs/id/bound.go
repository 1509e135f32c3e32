package id

import (
	"encoding/binary"
	"time"
)

// First is the smallest id that New could make at a time, so that ids of an object can be selected by their time.
func First(prefix string, at time.Time) string {
	var b [16]byte
	if ms := at.UnixMilli(); ms > 0 {
		binary.BigEndian.PutUint64(b[:8], uint64(ms)<<16)
	}
	return prefix + crockford.EncodeToString(b[:])
}
