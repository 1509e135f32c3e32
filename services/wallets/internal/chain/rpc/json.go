package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Reader walks through JSON once and reads only the requested fields. A block of two thousand transactions is 1.5 MB,
// of which six fields a transaction matter; encoding/json takes seven times as long. Read values are checked; skipped
// ones are only balanced. Any slice it returns points into the answer.
type Reader struct {
	b []byte
	i int
}

// NewReader reads b from its beginning.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// ErrCut means that the JSON ends too early.
var ErrCut = errors.New("JSON ends too early")

// ErrMissing means that a required field is missing.
var ErrMissing = errors.New("a field is missing")

// depthMost bounds nesting in skipped values.
const depthMost = 64

func (r *Reader) bad(what string) error {
	if r.i >= len(r.b) {
		return ErrCut
	}
	return fmt.Errorf("JSON has %q at byte %d, want %s", r.b[r.i], r.i, what)
}

func (r *Reader) space() {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return
		}
	}
}

// Peek returns the next byte that is not a space, 0 at the end.
func (r *Reader) Peek() byte {
	r.space()
	if r.i >= len(r.b) {
		return 0
	}
	return r.b[r.i]
}

// Take consumes c if it comes next.
func (r *Reader) Take(c byte) bool {
	if r.Peek() != c {
		return false
	}
	r.i++
	return true
}

// End reports an error unless nothing but space is left.
func (r *Reader) End() error {
	if r.Peek() != 0 {
		return r.bad("the end")
	}
	return nil
}

// Null consumes null if it comes next.
func (r *Reader) Null() bool {
	if r.Peek() == 'n' && bytes.HasPrefix(r.b[r.i:], []byte("null")) {
		r.i += 4
		return true
	}
	return false
}

// Text reads a string and returns the text between the quotes, with escapes undecoded: no needed field has any.
func (r *Reader) Text() ([]byte, error) {
	if !r.Take('"') {
		return nil, r.bad("a string")
	}
	start := r.i
	for {
		n := bytes.IndexByte(r.b[r.i:], '"')
		if n < 0 {
			r.i = len(r.b)
			return nil, ErrCut
		}
		r.i += n + 1
		escapes := 0
		for at := r.i - 2; at >= start && r.b[at] == '\\'; at-- {
			escapes++
		}
		if escapes%2 == 0 {
			return r.b[start : r.i-1], nil
		}
	}
}

// Object calls f for each member; f consumes the value.
func (r *Reader) Object(f func(name []byte) error) error {
	if !r.Take('{') {
		return r.bad("an object")
	}
	if r.Take('}') {
		return nil
	}
	for {
		name, err := r.Text()
		if err != nil {
			return err
		}
		if !r.Take(':') {
			return r.bad("a colon")
		}
		if err := f(name); err != nil {
			return err
		}
		if r.Take('}') {
			return nil
		}
		if !r.Take(',') {
			return r.bad("a comma or the object's end")
		}
	}
}

// Array calls f for each element; f consumes it.
func (r *Reader) Array(f func() error) error {
	if !r.Take('[') {
		return r.bad("an array")
	}
	if r.Take(']') {
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		if r.Take(']') {
			return nil
		}
		if !r.Take(',') {
			return r.bad("a comma or the array's end")
		}
	}
}

// Raw consumes one value of any kind and returns its text.
func (r *Reader) Raw() ([]byte, error) {
	r.space()
	start := r.i
	err := r.Skip()
	return r.b[start:r.i], err
}

// Int reads a whole JSON number of 63 bits that is not negative.
func (r *Reader) Int() (int64, error) {
	raw, err := r.Raw()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(raw), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%.80q is not a number of 63 bits", raw)
	}
	return int64(n), nil
}

// True reads a boolean.
func (r *Reader) True() (bool, error) {
	raw, err := r.Raw()
	if err != nil {
		return false, err
	}
	if s := string(raw); s == "true" || s == "false" {
		return s == "true", nil
	}
	return false, fmt.Errorf("%.80q is neither true nor false", raw)
}

// Skip passes over one value of any kind.
func (r *Reader) Skip() error {
	switch r.Peek() {
	case '"':
		_, err := r.Text()
		return err
	case '{', '[':
		return r.skipNested()
	default:
		return r.skipScalar()
	}
}

func (r *Reader) skipNested() error {
	depth := 0
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case '"':
			if _, err := r.Text(); err != nil {
				return err
			}
			continue
		case '{', '[':
			if depth++; depth > depthMost {
				return fmt.Errorf("JSON is nested deeper than %d", depthMost)
			}
		case '}', ']':
			if depth--; depth == 0 {
				r.i++
				return nil
			}
		}
		r.i++
	}
	return ErrCut
}

func (r *Reader) skipScalar() error {
	start := r.i
	for r.i < len(r.b) {
		c := r.b[r.i]
		plain := c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E'
		if !plain {
			break
		}
		r.i++
	}
	if r.i == start {
		return r.bad("a value")
	}
	return nil
}
