// Package shard holds the codes of shards, which references and public ids carry (docs/decisions/0025-shards.md). It
// reads and checks codes and does nothing else; libs/id says where they are in a name.
package shard

import (
	"errors"
	"strings"
)

// Code names a shard: two capitals or digits. The empty code is that of names from before codes, which are all in the
// first shard.
type Code string

// First is the shard of every name without a code.
const First Code = "AA"

// Length of a code.
const Length = 2

// alphabet is the part of the alphabets of references and of ids that both have, so that a code is the same in both.
const alphabet = "ABCDEFGHJKMNPQRSTVWXYZ23456789"

// These match a code as references and as ids carry it. Its first character is never the mark of gifts.
const (
	Pattern       = `[A-FHJKMNP-TV-Z2-9][A-HJKMNP-TV-Z2-9]`
	SuffixPattern = `[a-fhjkmnp-tv-z2-9][a-hjkmnp-tv-z2-9]`
)

const giftMark = 'G'

// none is the setting of a service that makes names without a code.
const none = "none"

// ErrInvalid says what a code looks like.
var ErrInvalid = errors.New("a shard is two of " + alphabet + ", the first of them not G")

// Valid reports whether a code can name a shard.
func (c Code) Valid() bool {
	if len(c) != Length || c[0] == giftMark {
		return false
	}
	return strings.IndexByte(alphabet, c[0]) >= 0 && strings.IndexByte(alphabet, c[1]) >= 0
}

// Home is the shard of a name with this code: the first for the empty one.
func (c Code) Home() Code {
	if c == "" {
		return First
	}
	return c
}

// Suffix is the code as it ends an id, which has small letters only.
func (c Code) Suffix() string { return strings.ToLower(string(c)) }

// Parse reads a code as references carry it.
func Parse(text string) (Code, error) {
	c := Code(text)
	if !c.Valid() {
		return "", ErrInvalid
	}
	return c, nil
}

// UnmarshalText reads a setting: a code, or "none" for the empty one.
func (c *Code) UnmarshalText(text []byte) error {
	if string(text) == none {
		*c = ""
		return nil
	}
	read, err := Parse(string(text))
	if err != nil {
		return err
	}
	*c = read
	return nil
}
