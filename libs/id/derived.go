package id

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Derived is the id of an event that may be made again after its database was restored from a backup, and must then
// keep its id: the n-th event of that name of an object. Its first bits are the time in milliseconds at which the
// object was made, so ids sort like the objects, and those of one object by n (below 65 536). It ends with the code
// of the shard that the object's id ends with, so an event of an object of an earlier release keeps its id too.
func Derived(prefix, object string, made time.Time, n int64, name string) string {
	sum := sha256.New()
	_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) //nolint:gosec // any 64 bits will do; a hash never fails
	_, _ = sum.Write([]byte(object + "\x00" + name))
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(made.UnixMilli())<<16|uint64(n)&0xffff) //nolint:gosec // a time after 1970
	copy(b[8:], sum.Sum(nil))
	return prefix + crockford.EncodeToString(b[:]) + suffix(object)
}
