package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
)

// step is the period of codes of an authenticator app, which may be one step early or late.
const step = 30

// matchTOTP returns the step of an authenticator app's clock that has a code.
func matchTOTP(secret, code string, now time.Time) (int64, bool) {
	if secret == "" || len(code) != 6 {
		return 0, false
	}
	at := now.Unix() / step
	for _, n := range []int64{at, at - 1, at + 1} {
		want, err := hotp.GenerateCode(secret, uint64(n)) //nolint:gosec // the clock is after 1970
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			return n, true
		}
	}
	return 0, false
}

// newTOTP returns a secret for an authenticator app, and its address for the QR code.
func newTOTP(login string) (secret, address string, err error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "Causeway", AccountName: login, Period: step, SecretSize: 20, Digits: otp.DigitsSix, Rand: rand.Reader})
	if err != nil {
		return "", "", err
	}
	return key.Secret(), key.URL(), nil
}

const codeCount = 10

// newCodes returns recovery codes to show, and their hashes. Each has 80 random bits, so a plain hash protects it.
func newCodes() (shown []string, hashes [][]byte) {
	for range codeCount {
		raw := make([]byte, 10)
		_, _ = rand.Read(raw) // never fails
		code := base32.StdEncoding.EncodeToString(raw)
		shown = append(shown, code[:4]+"-"+code[4:8]+"-"+code[8:12]+"-"+code[12:])
		hashes = append(hashes, hashCode(code))
	}
	return shown, hashes
}

// hashCode is the hash of a recovery code without its dashes.
func hashCode(code string) []byte {
	sum := sha256.Sum256([]byte("causeway recovery code\n" + code))
	return sum[:]
}
