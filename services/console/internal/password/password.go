// Package password hashes passwords with argon2id. A hash is written in the usual text form, so that its cost can rise
// while older hashes verify.
package password

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost: RFC 9106's second recommendation, 64 MiB and three passes, which takes about 50 ms.
const (
	passes  = 3
	threads = 4
	keyLen  = 32
	saltLen = 16
)

var memory uint32 = 64 << 10 // KiB

// slots bounds how many hashes are computed at a time: each takes 64 MiB.
var slots = make(chan struct{}, 2)

// Hash returns the hash of a password under a new salt.
func Hash(password string) string {
	salt := make([]byte, saltLen)
	_, _ = rand.Read(salt) // never fails
	enc := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, threads,
		enc.EncodeToString(salt), enc.EncodeToString(compute(password, salt, passes, memory, threads)))
}

func compute(password string, salt []byte, t, m uint32, p uint8) []byte {
	slots <- struct{}{}
	defer func() { <-slots }()
	return argon2.IDKey([]byte(password), salt, t, m, p, keyLen)
}

// Verify reports whether a hash is that of a password. An empty hash takes as long as any other and matches no
// password, so that the time of an answer does not reveal which accounts exist.
func Verify(hash, password string) bool {
	var v int
	var t, m uint32
	var p uint8
	parts := strings.Split(hash, "$")
	enc := base64.RawStdEncoding
	if len(parts) == 6 && parts[1] == "argon2id" {
		_, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &v, &m, &t, &p)
		salt, err1 := enc.DecodeString(parts[4])
		want, err2 := enc.DecodeString(parts[5])
		if err == nil && err1 == nil && err2 == nil && v == argon2.Version && len(want) == keyLen && t > 0 && p > 0 && m <= 4*memory {
			return subtle.ConstantTimeCompare(compute(password, salt, t, m, p), want) == 1
		}
	}
	compute(password, make([]byte, saltLen), passes, memory, threads)
	return false
}
