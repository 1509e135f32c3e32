package bus

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// A seal is the one signature of a pack. It covers the messages' name, the time, and the digest of each message in
// their order; a digest covers the message's id and body. The pack's header holds "2", the id of the key, the time in
// seconds and the signature, with dots between.
//
// A message that is moved to a dead queue alone takes the seal along, so that it is verified again after a redrive: its
// header has its place in the pack and the digests of all messages behind the pack's header.
type seal struct {
	name    string
	header  string
	digests []byte

	once sync.Once // a pack is checked once for all its messages
	at   int64
	err  error
}

const (
	sealVersion = "2"
	sealDomain  = "causeway pack 1"
	sealMost    = 256 // bytes of a pack's header
)

// seal signs messages of one name together.
func (s *signer) seal(name string, messages []*message.Message) string {
	at := time.Now().Unix()
	digests := make([]byte, 0, len(messages)*sha256.Size)
	for _, m := range messages {
		digests = appendDigest(digests, m.UUID, m.Payload)
	}
	return s.header(sealVersion, at, sealedBytes(name, at, digests))
}

// sealedBytes are the bytes that a seal covers. Every text is preceded by its length.
func sealedBytes(name string, at int64, digests []byte) []byte {
	out := make([]byte, 0, len(sealDomain)+len(name)+len(digests)+32)
	for _, text := range []string{sealDomain, name} {
		out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	}
	return append(binary.AppendVarint(out, at), digests...)
}

func appendDigest(to []byte, id string, body []byte) []byte {
	whole := make([]byte, 0, binary.MaxVarintLen64+len(id)+len(body))
	whole = append(binary.AppendUvarint(whole, uint64(len(id))), id...)
	sum := sha256.Sum256(append(whole, body...))
	return append(to, sum[:]...)
}

// sealedBy gives the messages of a pack its seal. Signatures of their own that they carry count no more.
func sealedBy(header string, messages []Message) {
	s := &seal{name: messages[0].Name, header: header, digests: make([]byte, 0, len(messages)*sha256.Size)}
	for n := range messages {
		m := &messages[n]
		s.digests = appendDigest(s.digests, m.ID, m.Body)
		m.seal, m.place = s, n
		delete(m.Headers, signatureHeader)
	}
}

// check verifies the seal with the keys of its producer and returns its time.
func (s *seal) check(keys map[string]ed25519.PublicKey, producer string) (int64, error) {
	s.once.Do(func() {
		s.at, s.err = verify(keys, producer, sealVersion, s.header, func(at int64) []byte { return sealedBytes(s.name, at, s.digests) })
	})
	return s.at, s.err
}

// alone is the header of the message at a place when it leaves its pack.
func (s *seal) alone(place int) string {
	return strings.Join([]string{s.header, strconv.Itoa(place), base64.RawURLEncoding.EncodeToString(s.digests)}, ".")
}

// unseal is the inverse of alone. The message's own digest has to be at its place.
func unseal(header string, m Message) (*seal, error) {
	fields := strings.Split(header, ".")
	const own = 4 // of the pack
	if len(fields) != own+2 {
		return nil, fmt.Errorf("%w: malformed header", errForged)
	}
	place, err := strconv.Atoi(fields[own])
	if err != nil || place < 0 || place >= packMax {
		return nil, fmt.Errorf("%w: malformed place", errForged)
	}
	digests, err := base64.RawURLEncoding.DecodeString(fields[own+1])
	if err != nil || len(digests)%sha256.Size != 0 || len(digests) > packMax*sha256.Size || len(digests) <= place*sha256.Size {
		return nil, fmt.Errorf("%w: malformed digests", errForged)
	}
	if at := place * sha256.Size; !slices.Equal(digests[at:at+sha256.Size], appendDigest(nil, m.ID, m.Body)) {
		return nil, fmt.Errorf("%w: another message than the one that was signed", errForged)
	}
	return &seal{name: m.Name, header: strings.Join(fields[:own], "."), digests: digests}, nil
}
