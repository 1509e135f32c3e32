// Package apikey holds API keys: their permissions, and how they are made, revoked and found. It uses no HTTP and no
// SQL (the store does), and keeps no secret after it has returned it.
package apikey

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"
)

// Digest is HMAC-SHA-256(pepper, secret), the form in which a secret is stored and looked up. A copy of the database
// without the pepper does not allow a guess to be tested.
type Digest [sha256.Size]byte

const (
	pepperBytesMin = 32
	peppersMax     = 2
)

// Peppers digests secrets. The first pepper digests new keys; keys under the second are still found, so that a pepper
// can be changed without a gap. It is safe for concurrent use.
type Peppers struct {
	ids   []string
	pools []*sync.Pool
}

// ParsePeppers reads KEY_PEPPERS: one or two comma separated base64 values of at least 32 bytes.
func ParsePeppers(text string) (*Peppers, error) {
	p := &Peppers{}
	for part := range strings.SplitSeq(text, ",") {
		pepper, err := base64.StdEncoding.DecodeString(strings.TrimSpace(part))
		if err != nil || len(pepper) < pepperBytesMin {
			return nil, fmt.Errorf("key peppers: want base64 of at least %d bytes each", pepperBytesMin)
		}
		name := sha256.Sum256(append([]byte("pepper id:"), pepper...))
		p.ids = append(p.ids, hex.EncodeToString(name[:4]))
		p.pools = append(p.pools, &sync.Pool{New: func() any { return hmac.New(sha256.New, pepper) }})
	}
	if len(p.pools) > peppersMax {
		return nil, errors.New("key peppers: more than two")
	}
	return p, nil
}

// ID names the first pepper without revealing it, so that an operator can count the keys under an old one.
func (p *Peppers) ID() string { return p.ids[0] }

// Digest digests a secret under the first pepper.
func (p *Peppers) Digest(secret string) Digest { return p.digest(0, secret) }

// All digests a secret under every pepper, the first one first.
func (p *Peppers) All(secret string) []Digest {
	out := make([]Digest, len(p.pools))
	for i := range p.pools {
		out[i] = p.digest(i, secret)
	}
	return out
}

func (p *Peppers) digest(i int, secret string) (d Digest) {
	mac, ok := p.pools[i].Get().(hash.Hash)
	if !ok { // the pool's New makes this type alone
		panic("pool of peppers: got another type than hash.Hash")
	}
	mac.Reset()
	mac.Write([]byte(secret))
	mac.Sum(d[:0])
	p.pools[i].Put(mac)
	return d
}

// SigningKey is the key of signed requests: the lower-case hex of SHA-256(secret)
// (docs/api-contract.md#signed-requests).
func SigningKey(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return hex.AppendEncode(nil, sum[:])
}

// SigningPlace binds a sealed signing key to its row; sealed bytes that are copied to another row do not open.
func SigningPlace(publicKey string) string { return "signing-key/" + publicKey }
