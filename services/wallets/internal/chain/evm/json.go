package evm

import (
	"bytes"
	"errors"
	"fmt"
)

// reader walks through JSON once and looks only at what it is asked for. A block of two thousand transactions is 1.5 MB,
// of which six fields a transaction matter; encoding/json spends seven times as long on it (chains.md §5). What is read is
// checked; what is skipped is only balanced. Any slice it returns points into the answer.
type reader struct {
	b []byte
	i int
}

var errCut = errors.New("JSON ends too early")

// depthMost bounds nesting in what is skipped.
const depthMost = 64

func (r *reader) bad(what string) error {
	if r.i >= len(r.b) {
		return errCut
	}
	return fmt.Errorf("JSON has %q at byte %d, want %s", r.b[r.i], r.i, what)
}

func (r *reader) space() {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return
		}
	}
}

// peek returns the next byte that is no space, 0 at the end.
func (r *reader) peek() byte {
	r.space()
	if r.i >= len(r.b) {
		return 0
	}
	return r.b[r.i]
}

// take consumes c if it comes next.
func (r *reader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.i++
	return true
}

// end reports an error unless nothing but space is left.
func (r *reader) end() error {
	if r.peek() != 0 {
		return r.bad("the end")
	}
	return nil
}

// null consumes null if it comes next.
func (r *reader) null() bool {
	if r.peek() == 'n' && bytes.HasPrefix(r.b[r.i:], []byte("null")) {
		r.i += 4
		return true
	}
	return false
}

// text reads a string and returns it as it stands between the quotes, escapes and all: nothing we read has any.
func (r *reader) text() ([]byte, error) {
	if !r.take('"') {
		return nil, r.bad("a string")
	}
	start := r.i
	for {
		n := bytes.IndexByte(r.b[r.i:], '"')
		if n < 0 {
			r.i = len(r.b)
			return nil, errCut
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

// object calls f for each member; f consumes the value.
func (r *reader) object(f func(name []byte) error) error {
	if !r.take('{') {
		return r.bad("an object")
	}
	if r.take('}') {
		return nil
	}
	for {
		name, err := r.text()
		if err != nil {
			return err
		}
		if !r.take(':') {
			return r.bad("a colon")
		}
		if err := f(name); err != nil {
			return err
		}
		if r.take('}') {
			return nil
		}
		if !r.take(',') {
			return r.bad("a comma or the object's end")
		}
	}
}

// array calls f for each element; f consumes it.
func (r *reader) array(f func() error) error {
	if !r.take('[') {
		return r.bad("an array")
	}
	if r.take(']') {
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		if r.take(']') {
			return nil
		}
		if !r.take(',') {
			return r.bad("a comma or the array's end")
		}
	}
}

// skip passes over one value of any kind.
func (r *reader) skip() error {
	switch r.peek() {
	case '"':
		_, err := r.text()
		return err
	case '{', '[':
		return r.skipNested()
	default:
		return r.skipScalar()
	}
}

func (r *reader) skipNested() error {
	depth := 0
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case '"':
			if _, err := r.text(); err != nil {
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
	return errCut
}

func (r *reader) skipScalar() error {
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
