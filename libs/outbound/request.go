package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// request is one POST, checked, with the time by which it must be over.
type request struct {
	url     *url.URL
	origin  string // scheme, host and port: what connections are kept by
	host    string // the Host header
	address string // what is dialled
	secure  bool
	header  http.Header
	body    []byte
	until   time.Time
}

// framing is what the headers of a caller may not say: where a request goes and ends.
var framing = []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Trailer"}

func newRequest(to string, header http.Header, body []byte) (*request, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	port := u.Port()
	switch {
	case u.Hostname() == "":
		return nil, errors.New("the URL names no host")
	case u.Scheme == "https":
		if port == "" {
			port = "443"
		}
	case u.Scheme == "http":
		if port == "" {
			port = "80"
		}
	default:
		return nil, fmt.Errorf("the scheme %q is not supported", u.Scheme)
	}
	host, err := httpguts.PunycodeHostPort(u.Host)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(host, ":"+u.Port())
	if u.Port() == "" {
		host = name // without the colon that may stand before no port
	}
	u.Host = host
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	r := &request{
		url: u, origin: u.Scheme + "://" + host, host: host, address: net.JoinHostPort(name, port), secure: u.Scheme == "https",
		header: header, body: body,
	}
	for name, values := range header {
		if !httpguts.ValidHeaderFieldName(name) || slices.ContainsFunc(framing, func(own string) bool { return strings.EqualFold(own, name) }) {
			return nil, fmt.Errorf("the header name %q is not valid", name)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) { // which is not shown: it may be a secret
				return nil, fmt.Errorf("the value of header %q is not valid", name)
			}
		}
	}
	return r, nil
}

// basic is the Authorization header of a URL with user and password, unless the caller sets its own.
func (r *request) basic() string {
	if r.url.User == nil || r.header.Get("Authorization") != "" {
		return ""
	}
	var carrier http.Request
	carrier.Header = http.Header{}
	password, _ := r.url.User.Password()
	carrier.SetBasicAuth(r.url.User.Username(), password)
	return carrier.Header.Get("Authorization")
}

// append writes the request as HTTP/1.1.
func (r *request) append(b []byte) []byte {
	b = append(b, "POST "...)
	b = append(b, strings.ReplaceAll(r.url.RequestURI(), " ", "%20")...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, r.host...)
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(r.body)), 10)
	b = append(b, "\r\n"...)
	line := func(name, value string) {
		b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
	}
	if basic := r.basic(); basic != "" {
		line("Authorization", basic)
	}
	for name, values := range r.header {
		for _, value := range values {
			line(name, value)
		}
	}
	return append(append(b, "\r\n"...), r.body...)
}
