package drive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Bounds of one request.
const (
	answerWait = 30 * time.Second
	textMax    = 300     // bytes of a failure that are shown
	lengthMax  = 1 << 20 // bytes of an answer
)

// client is one connection, made when it is needed and made again after anything unexpected.
type client struct {
	base string
	host string
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

func (c *client) dial() error {
	if c.conn != nil {
		return nil
	}
	to, err := url.Parse(c.base)
	if err != nil {
		return fmt.Errorf("reading the base URL: %w", err)
	}
	conn, err := net.DialTimeout("tcp", to.Host, answerWait)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	c.host, c.conn, c.in = to.Host, conn, bufio.NewReader(conn)
	return nil
}

// send does one request and reads its answer to the end.
func (c *client) send(r Request) (err error) {
	if err := c.dial(); err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			c.close()
		}
	}()
	c.out = append(c.out[:0], r.Method...)
	c.out = append(append(append(c.out, ' '), r.Path...), " HTTP/1.1\r\nHost: "...)
	c.out = append(append(append(c.out, c.host...), "\r\n"...), r.Header...)
	c.out = strconv.AppendInt(append(c.out, "Content-Length: "...), int64(len(r.Body)), 10)
	c.out = append(append(c.out, "\r\n\r\n"...), r.Body...)
	if err := c.conn.SetDeadline(time.Now().Add(answerWait)); err != nil {
		return err
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return fmt.Errorf("sending: %w", err)
	}
	status, text, keep, err := c.answer(r.Took != nil)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if status/100 != 2 {
		return fmt.Errorf("%d %s: %s", status, http.StatusText(status), text[:min(len(text), textMax)])
	}
	if r.Took != nil {
		r.Took(text)
	}
	return nil
}

var errAnswer = errors.New("no answer of HTTP/1.1 with a length")

// answer reads one answer. Its body is thrown away if the status is 2xx, unless it is wanted.
func (c *client) answer(wanted bool) (status int, text []byte, keep bool, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, nil, false, err
	}
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, nil, false, errAnswer
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, nil, false, errAnswer
	}
	length, keep, err := c.head()
	switch {
	case err != nil:
		return 0, nil, false, err
	case length < 0 || length > lengthMax: // chunks, which no answer of a few kilobytes has
		return status, nil, false, errAnswer
	case status/100 == 2 && !wanted:
		_, err = c.in.Discard(length)
		return status, nil, keep, err
	}
	text = make([]byte, length)
	_, err = io.ReadFull(c.in, text)
	return status, text, keep, err
}

// head reads the headers: how long the body is, -1 when they do not say, and whether the connection stays.
func (c *client) head() (length int, keep bool, err error) {
	length, keep = -1, true
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return length, keep, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return 0, false, errAnswer
			}
		case bytes.EqualFold(name, []byte("Connection")):
			keep = !bytes.EqualFold(value, []byte("close"))
		}
	}
}
