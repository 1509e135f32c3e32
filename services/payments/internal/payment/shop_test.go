package payment_test

import (
	"strings"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
)

// The fields of the shop have their own rules, and each wrong one is named.
func TestCommand_shop(t *testing.T) {
	t.Parallel()
	good := func(live bool, s payment.Shop) {
		t.Helper()
		if problems := shopProblems(live, s); len(problems) != 0 {
			t.Errorf("%+v (live %t): got %v, want it taken", s, live, problems)
		}
	}
	for _, live := range []bool{false, true} {
		good(live, payment.Shop{})
		good(live, payment.Shop{MerchantReference: "order 17/b", Description: "Zwei Bücher – ẹ̀kọ́", Locale: "pt-MZ", ReturnURL: "https://shop.example/thanks?order=17#top"})
		good(live, payment.Shop{MerchantReference: strings.Repeat("é", 64), Description: strings.Repeat("é", 255), Locale: "de"})
	}
	for _, url := range []string{"http://localhost:3000/back", "http://127.0.0.1/back", "http://[::1]:8/", "http://shop.localhost/"} {
		good(false, payment.Shop{ReturnURL: url})
	}
	for name, test := range map[string]struct {
		live  bool
		shop  payment.Shop
		field string
	}{
		"long reference":        {false, payment.Shop{MerchantReference: strings.Repeat("é", 65)}, "merchantReference"},
		"reference of lines":    {false, payment.Shop{MerchantReference: "a\nb"}, "merchantReference"},
		"reference of blanks":   {false, payment.Shop{MerchantReference: " a"}, "merchantReference"},
		"long description":      {false, payment.Shop{Description: strings.Repeat("é", 256)}, "description"},
		"description of lines":  {true, payment.Shop{Description: "a\r\nb"}, "description"},
		"locale of words":       {false, payment.Shop{Locale: "swahili or english"}, "locale"},
		"locale with a script":  {false, payment.Shop{Locale: "<script>"}, "locale"},
		"long locale":           {false, payment.Shop{Locale: "en" + strings.Repeat("-aaaaaaaa", 4)}, "locale"},
		"plain http":            {true, payment.Shop{ReturnURL: "http://shop.example/"}, "returnUrl"},
		"plain http in test":    {false, payment.Shop{ReturnURL: "http://shop.example/"}, "returnUrl"},
		"localhost in live":     {true, payment.Shop{ReturnURL: "http://localhost/"}, "returnUrl"},
		"localhost as a suffix": {false, payment.Shop{ReturnURL: "http://evil-localhost/"}, "returnUrl"},
		"script":                {false, payment.Shop{ReturnURL: "javascript:alert(1)//https://"}, "returnUrl"},
		"data":                  {false, payment.Shop{ReturnURL: "data:text/html,x"}, "returnUrl"},
		"user information":      {true, payment.Shop{ReturnURL: "https://shop.example@evil.example/"}, "returnUrl"},
		"no host":               {true, payment.Shop{ReturnURL: "https:///thanks"}, "returnUrl"},
		"a port alone":          {true, payment.Shop{ReturnURL: "https://:443/"}, "returnUrl"},
		"a path":                {true, payment.Shop{ReturnURL: "/thanks"}, "returnUrl"},
		"long URL":              {true, payment.Shop{ReturnURL: "https://shop.example/" + strings.Repeat("a", 2048)}, "returnUrl"},
	} {
		if got := shopProblems(test.live, test.shop); len(got) != 1 || got[0] != test.field {
			t.Errorf("%s: got problems of %v, want one of %s", name, got, test.field)
		}
	}
}

// shopProblems are the fields that a create with this shop is refused for.
func shopProblems(live bool, s payment.Shop) (fields []string) {
	mode := tenant.Test
	if live {
		mode = tenant.Live
	}
	problems := &fault.Problems{}
	_, err := payment.Command{Shop: s}.Check(mode, nil, problems)
	for _, f := range fault.As(err).Fields {
		switch f.Field {
		case "merchantReference", "description", "locale", "returnUrl":
			fields = append(fields, f.Field)
		}
	}
	return fields
}
