package keyring

// Optional is a ring that may be missing. Without one it seals nothing; with or without, it opens what is in the clear, as
// long as that is JSON, with which no sealed value begins.
type Optional struct{ ring *Ring }

// ParseOptional is Parse, or no ring at all for an empty text.
func ParseOptional(text string) (Optional, error) {
	if text == "" {
		return Optional{}, nil
	}
	r, err := Parse(text)
	return Optional{r}, err
}

// Ring is the ring itself, nil without one.
func (o Optional) Ring() *Ring { return o.ring }

// Seal is Ring.Seal, or plain as it is.
func (o Optional) Seal(plain []byte, place string) []byte {
	if o.ring == nil {
		return plain
	}
	return o.ring.Seal(plain, place)
}

// Open is Ring.Open for what is sealed, and gives back as it is what is not.
func (o Optional) Open(value []byte, place string) ([]byte, error) {
	if _, err := KeyID(value); err != nil {
		return value, nil
	}
	if o.ring == nil {
		return nil, ErrUnknownKey
	}
	return o.ring.Open(value, place)
}
