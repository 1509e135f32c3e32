package httpkit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"causeway.internal/libs/idempotency"
)

// Answer is a reply with exact bytes, such as a stored one.
//
// A Stream is written instead of Body, for at most streamMax: for answers that may be larger than memory. Its context
// ends with it or with its reader. When it fails the connection is cut, so that no reader takes half an answer for a
// whole one.
type Answer struct {
	Status int
	Body   []byte
	Header http.Header
	Stream func(ctx context.Context, w io.Writer) error
}

// streamMax bounds a streamed answer, from its first byte to its last.
const streamMax = 5 * time.Minute

// Statuser is a result with another status than 200.
type Statuser interface{ Status() int }

// Success is the body of a successful answer: the members of v, with "success":true before them. v must encode as a
// JSON object.
func Success(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	body := bytes.TrimSpace(buf.Bytes())
	if len(body) < 2 || body[0] != '{' {
		return nil, fmt.Errorf("encode answer: a %T is not a JSON object", v)
	}
	out := append(make([]byte, 0, len(body)+16), `{"success":true`...)
	if len(body) > 2 {
		out = append(out, ',')
	}
	return append(out, body[1:]...), nil
}

// answerOf is the answer that a result makes. A stored answer stays as it is for the middleware idempotent.
func answerOf(result any) (any, error) {
	switch r := result.(type) {
	case Answer:
		return r.buffered(), nil
	case idempotency.Answer:
		return r, nil
	case []byte:
		return Answer{Status: http.StatusOK, Body: r}, nil
	}
	answer := Answer{Status: http.StatusOK}
	if s, ok := result.(Statuser); ok {
		answer.Status = s.Status()
	}
	var err error
	answer.Body, err = Success(result)
	return answer, err
}

// encode writes an answer.
func encode(ctx context.Context, w http.ResponseWriter, response any) error {
	answer, ok := response.(Answer)
	if !ok {
		return fmt.Errorf("encode answer: a %T is no Answer", response)
	}
	h := w.Header()
	for name, values := range answer.Header {
		h[name] = values
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json; charset=utf-8")
	}
	h.Set(RequestIDHeader, From(ctx).RequestID)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if answer.Stream != nil {
		return stream(ctx, w, answer)
	}
	if len(answer.Body) > 0 { // else net/http sends more than two kilobytes in chunks: more writes here, more reads there
		h.Set("Content-Length", strconv.Itoa(len(answer.Body)))
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // the caller may be gone
	return nil
}

// refuse writes the answer to an error.
func refuse(ctx context.Context, err error, w http.ResponseWriter) {
	r := From(ctx)
	if id := r.Identity.RequestID; id != "" {
		w.Header().Set(RequestIDHeader, id)
	}
	if errors.Is(err, errGone) {
		w.WriteHeader(statusGone)
		return
	}
	WriteError(w, r.RequestID, err)
}

// streamBuffer is how much of a stream is collected before it is sent.
const streamBuffer = 32 << 10

// buffered is the answer with its stream behind a buffer. The stream ends once the buffer is sent, so that a reader who
// left before that is seen by those who measure the stream.
func (a Answer) buffered() Answer {
	if a.Stream == nil {
		return a
	}
	write := a.Stream
	a.Stream = func(ctx context.Context, w io.Writer) error {
		buffer := bufio.NewWriterSize(w, streamBuffer)
		if err := write(ctx, buffer); err != nil {
			return err
		}
		return buffer.Flush()
	}
	return a
}

func stream(ctx context.Context, w http.ResponseWriter, answer Answer) error {
	req := From(ctx)
	ctx, cancel := context.WithTimeout(req.reader, streamMax)
	defer cancel()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(streamMax)) // recorders have no connection
	w.WriteHeader(answer.Status)
	if err := answer.Stream(ctx, w); err != nil {
		if ctx.Err() == nil {
			req.log.ErrorContext(ctx, "stream cut", "route", req.Route, "err", err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}
