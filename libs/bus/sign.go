package bus

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/wire"
)

// Every message carries its producer's Ed25519 signature over its name, id, time and body, so that the right to write
// to an exchange is not enough to move money. A consumer holds public keys only and can forge nothing.
//
// The header holds "1", the id of the key, the time in seconds and the signature, with dots between.
//
// With SIGN_PACKS a pack carries one signature for all its messages (seal), because a signature and its check cost more
// than everything else that a message needs between its producer and its consumer.
const (
	signatureHeader  = "x-causeway-signature"
	signatureVersion = "1"
	signatureDomain  = "causeway message 1"
	signatureMost    = 4 << 10 // bytes of the header; with the digests of a pack it has half of that
)

// signatureAge is how old a signature may be when a message first arrives: less than the fourteen days for which
// inboxes and the dispatcher remember message ids, so that no later copy of a message takes effect again. An operator
// may still redrive an older message (Message.Returned).
const signatureAge = 13 * 24 * time.Hour

var keyID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// signer signs the messages that a service publishes; nil signs nothing.
type signer struct {
	id    string
	key   ed25519.PrivateKey
	packs bool // the messages of a pack get one signature
}

// verifier holds the public keys of producers by their ids.
type verifier struct {
	keys     map[string]map[string]ed25519.PublicKey
	required bool
}

// readKeys reads the keys of a service for its lines.
func readKeys(cfg Config, service string, lines []wire.Route) (*signer, *verifier, error) {
	signs, err := readSigner(cfg.Key.Reveal())
	if err != nil {
		return nil, nil, err
	}
	if signs != nil {
		signs.packs = cfg.SignPacks
	}
	verifies := &verifier{keys: map[string]map[string]ed25519.PublicKey{}, required: cfg.Required}
	for _, text := range cfg.Trusted {
		producer, key, ok := strings.Cut(text, "/")
		id, raw, err := readKey(key)
		if !ok || err != nil {
			return nil, nil, fmt.Errorf("MESSAGE_PUBLIC_KEYS: %q is not producer/id:base64 of 32 bytes", text)
		}
		if verifies.keys[producer] == nil {
			verifies.keys[producer] = map[string]ed25519.PublicKey{}
		}
		verifies.keys[producer][id] = raw
	}
	for _, line := range lines {
		switch {
		case !cfg.Required:
		case line.Exchange == service && signs == nil:
			return nil, nil, errors.New("SIGNED_MESSAGES_ONLY is on and MESSAGE_KEY is missing")
		case line.Consumer == service && len(verifies.keys[line.Exchange]) == 0:
			return nil, nil, fmt.Errorf("SIGNED_MESSAGES_ONLY is on and MESSAGE_PUBLIC_KEYS holds no key of %s", line.Exchange)
		}
	}
	return signs, verifies, nil
}

func readSigner(text string) (*signer, error) {
	if text == "" {
		return nil, nil
	}
	id, seed, err := readKey(text)
	if err != nil {
		return nil, errors.New("MESSAGE_KEY is not id:base64 of 32 bytes")
	}
	return &signer{id: id, key: ed25519.NewKeyFromSeed(seed)}, nil
}

// readKey reads id:base64 of 32 bytes, the length of a seed and of a public key alike.
func readKey(text string) (id string, raw []byte, err error) {
	id, encoded, _ := strings.Cut(text, ":")
	raw, err = base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != ed25519.SeedSize || !keyID.MatchString(id) {
		return "", nil, errors.New("not id:base64 of 32 bytes")
	}
	return id, raw, nil
}

// sign gives each message its signature.
func (s *signer) sign(name string, messages []*message.Message) {
	if s == nil {
		return
	}
	at := time.Now().Unix()
	for _, m := range messages {
		m.Metadata.Set(signatureHeader, s.header(signatureVersion, at, signedBytes(name, m.UUID, at, m.Payload)))
	}
}

// header signs bytes.
func (s *signer) header(version string, at int64, signed []byte) string {
	return strings.Join([]string{version, s.id, strconv.FormatInt(at, 10), base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.key, signed))}, ".")
}

// signedBytes are the bytes that a signature covers. Every text is preceded by its length, so no two messages have the
// same.
func signedBytes(name, id string, at int64, body []byte) []byte {
	out := make([]byte, 0, len(signatureDomain)+len(name)+len(id)+len(body)+32)
	for _, text := range []string{signatureDomain, name, id} {
		out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	}
	return append(binary.AppendVarint(out, at), body...)
}

// authentic is nil for a message with its producer's signature, and for an unsigned one as long as signatures are not
// required. A present signature must be valid in any case.
func (l *Link) authentic(queue string, m Message) error {
	err := l.verifier.check(l.producer(queue, m.Name), m, time.Now())
	switch {
	case err == nil:
		return nil
	case !l.verifier.required && !errors.Is(err, errForged):
		l.metrics.unsigned.WithLabelValues(queue).Inc()
		return nil
	}
	return fault.Permanent(fmt.Errorf("the message is not authentic: %w", err))
}

// producer is the service that sends a message to a queue, "" for a name that no line routes there.
func (l *Link) producer(queue, name string) string {
	for _, line := range l.lines {
		if line.Queue == queue && string(line.Name) == name {
			return line.Exchange
		}
	}
	return ""
}

// errForged means a present but invalid signature.
var errForged = errors.New("the signature is invalid")

func (v *verifier) check(producer string, m Message, now time.Time) error {
	if producer == "" {
		return fmt.Errorf("no producer sends %q to this queue", m.Name)
	}
	at, err := v.signedAt(producer, m)
	if err != nil {
		return err
	}
	if age := now.Sub(time.Unix(at, 0)); age > signatureAge && !m.Returned {
		return fmt.Errorf("%w: %d days old, the limit is %d; redrive it if it was never handled",
			errForged, int(age/(24*time.Hour)), int(signatureAge/(24*time.Hour)))
	}
	return nil
}

// signedAt returns when the producer signed a message, by its own signature or by that of its pack.
func (v *verifier) signedAt(producer string, m Message) (int64, error) {
	if m.seal != nil {
		return m.seal.check(v.keys[producer], producer)
	}
	header, ok := m.Headers[signatureHeader]
	switch {
	case !ok:
		return 0, errors.New("the signature is missing")
	case len(header) > signatureMost:
		return 0, fmt.Errorf("%w: malformed header", errForged)
	case strings.HasPrefix(header, sealVersion+"."):
		alone, err := unseal(header, m)
		if err != nil {
			return 0, err
		}
		return alone.check(v.keys[producer], producer)
	}
	return verify(v.keys[producer], producer, signatureVersion, header, func(at int64) []byte { return signedBytes(m.Name, m.ID, at, m.Body) })
}

// verify checks a header against the bytes that it signs at its time, which it returns.
func verify(keys map[string]ed25519.PublicKey, producer, version, header string, signed func(at int64) []byte) (int64, error) {
	fields := strings.SplitN(header, ".", 5)
	if len(fields) != 4 || fields[0] != version {
		return 0, fmt.Errorf("%w: malformed header", errForged)
	}
	at, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: malformed time", errForged)
	}
	signature, err := base64.RawURLEncoding.DecodeString(fields[3])
	if err != nil {
		return 0, fmt.Errorf("%w: malformed header", errForged)
	}
	key, ok := keys[fields[1]]
	if !ok {
		return 0, fmt.Errorf("this service knows no key %q of %s", fields[1], producer)
	}
	if !ed25519.Verify(key, signed(at), signature) {
		return 0, fmt.Errorf("%w: not signed by %s", errForged, producer)
	}
	return at, nil
}
