package payment

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"causeway.internal/libs/tenant"
)

// localeTag is a language tag such as fr or pt-MZ. A language that no page has is the payer's browser's to choose.
var localeTag = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)

// check applies the rules of docs/api-contract.md#what-belongs-to-the-shop.
func (s Shop) check(k *checker, mode tenant.Mode) {
	k.line("merchantReference", s.MerchantReference, maxOrder)
	k.line("description", s.Description, maxText)
	if s.Locale != "" && (len(s.Locale) > maxLocale || !localeTag.MatchString(s.Locale)) {
		k.add("locale", "must be a language tag, such as fr or pt-MZ")
	}
	if s.ReturnURL != "" {
		k.returnURL(s.ReturnURL, mode)
	}
}

// line checks a text that a page shows in one line.
func (c *checker) line(field, value string, limit int) {
	c.atMost(field, value, limit)
	if strings.ContainsFunc(value, unicode.IsControl) || strings.TrimSpace(value) != value {
		c.add(field, "must have no line breaks or control characters, and no space at its ends")
	}
}

// returnURL takes what a browser may be sent to: https, and in test mode http on the developer's own machine.
func (c *checker) returnURL(value string, mode tenant.Mode) {
	c.atMost("returnUrl", value, maxURL)
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		c.add("returnUrl", "must be an https URL")
	case u.User != nil:
		c.add("returnUrl", "must not contain user information")
	case u.Scheme == "https":
	case u.Scheme == "http" && mode == tenant.Test && loopback(u.Hostname()):
	case u.Scheme == "http" && mode == tenant.Test:
		c.add("returnUrl", "must be https; http is for your own machine only")
	default:
		c.add("returnUrl", "must be an https URL")
	}
}

// loopback reports a name of the machine itself.
func loopback(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "127.0.0.1" || host == "::1"
}
