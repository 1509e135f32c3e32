package keyring

// Optional is a ring that may be missing. Without one it seals nothing. In both cases it opens plain values that are
// JSON; no sealed value begins like JSON.
type Optional struct{ ring *Ring }

// ParseOptional is Parse; an empty text gives no ring.
func ParseOptional(text string) (Optional, error) {
	if text == "" {
		return Optional{}, nil
	}
	r, err := Parse(text)
	return Optional{r}, err
}

// Ring is the ring, nil without one.
func (o Optional) Ring() *Ring { return o.ring }

// Seal is Ring.Seal, or returns plain unchanged.
func (o Optional) Seal(plain []byte, place string) []byte {
	if o.ring == nil {
		return plain
	}
	return o.ring.Seal(plain, place)
}

// Open is Ring.Open for sealed values and returns others unchanged.
func (o Optional) Open(value []byte, place string) ([]byte, error) {
	if _, err := KeyID(value); err != nil {
		return value, nil
	}
	if o.ring == nil {
		return nil, ErrUnknownKey
	}
	return o.ring.Open(value, place)
}
