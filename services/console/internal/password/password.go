// Package password hashes passwords with argon2id. A hash is written in the usual text form, so that its cost can rise
// while older hashes verify.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
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

// hashMax bounds how many hashes are computed at a time: each takes 64 MiB. waitMax bounds how many wait, which is a
// second on an idle machine.
const (
	hashMax = 2
	waitMax = 40
)

var (
	slots  = make(chan struct{}, hashMax)
	places = make(chan struct{}, hashMax+waitMax)
)

// ErrBusy refuses a hash because too many wait.
var ErrBusy = errors.New("too many passwords wait for their hashes")

// Hash returns the hash of a password under a new salt.
func Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltLen)
	_, _ = rand.Read(salt) // never fails
	sum, err := compute(ctx, password, salt, passes, memory, threads)
	if err != nil {
		return "", err
	}
	enc := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, threads, enc.EncodeToString(salt), enc.EncodeToString(sum)), nil
}

// compute hashes once there is a slot. It refuses if too many wait, and waits no longer than its context.
func compute(ctx context.Context, password string, salt []byte, t, m uint32, p uint8) ([]byte, error) {
	select {
	case places <- struct{}{}:
	default:
		return nil, ErrBusy
	}
	defer func() { <-places }()
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-slots }()
	return argon2.IDKey([]byte(password), salt, t, m, p, keyLen), nil
}

// Verify reports whether a hash is that of a password. An empty hash takes as long as any other and matches no
// password, so that the time of an answer does not reveal which accounts exist.
func Verify(ctx context.Context, hash, password string) (bool, error) {
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
			got, err := compute(ctx, password, salt, t, m, p)
			return err == nil && subtle.ConstantTimeCompare(got, want) == 1, err
		}
	}
	_, err := compute(ctx, password, make([]byte, saltLen), passes, memory, threads)
	return false, err
}
