package messaging

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

// quick reads a message as our own services write it: the fields in the order of wire.StatusChanged, no space between them and
// nothing escaped. Any other is left to encoding/json, by which reading all of them was a tenth of what a delivery cost.
func quick(raw []byte) (p wire.StatusChanged, ok bool) {
	front, rest, _ := bytes.Cut(raw, []byte(`,"body":"`))
	h := head{rest: string(front), ok: bare(front)}
	p.EventID = h.cut(`{"eventId":"`, `"`)
	p.Type = h.cut(`,"type":"`, `"`)
	p.MerchantID = h.cut(`,"merchantId":"`, `"`)
	p.Mode = tenant.Mode(h.cut(`,"mode":"`, `"`))
	p.ObjectID = h.cut(`,"objectId":"`, `"`)
	sequence := h.cut(`,"sequence":`, `,`)
	if strings.HasPrefix(h.rest, `"callbackUrl"`) {
		p.CallbackURL = h.cut(`"callbackUrl":"`, `"`)
		h.cut(`,`, ``)
	}
	at := h.cut(`"occurredAt":"`, `"`)
	if !h.ok || h.rest != "" || sequence < "1" || p.OccurredAt.UnmarshalText([]byte(at)) != nil { // JSON has no +1 and no 01
		return p, false
	}
	var err error
	if p.Sequence, err = strconv.ParseInt(sequence, 10, 64); err != nil {
		return p, false
	}
	if p.Body, rest, ok = unbase(rest); !ok {
		return p, false
	}
	if sealed, found := bytes.CutPrefix(rest, []byte(`,"settlementToken":"`)); found {
		p.Token, rest, ok = unbase(sealed)
	}
	return p, ok && string(rest) == "}"
}

// head is what is left of a message before its body.
type head struct {
	rest string
	ok   bool
}

// cut takes what stands between begin, with which the rest must begin, and the next end.
func (h *head) cut(begin, end string) (value string) {
	rest, begins := strings.CutPrefix(h.rest, begin)
	value, rest, ends := strings.Cut(rest, end)
	h.rest, h.ok = rest, h.ok && begins && ends
	return value
}

// bare reports whether a text is ASCII without controls and escapes.
func bare(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

// unbase reads base64 up to the next quotation mark.
func unbase(raw []byte) (value, rest []byte, ok bool) {
	text, rest, ok := bytes.Cut(raw, []byte{'"'})
	if !ok || bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0 { // which base64 skips and JSON refuses
		return nil, nil, false
	}
	value = make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(value, text)
	return value[:n], rest, err == nil
}
