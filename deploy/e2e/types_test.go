//go:build integration

package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// Good bodies of the other four types; changes replace fields, nil removes one.

func request(changes api.Object) api.Object {
	return transfer(merged(api.Object{"type": "request", "payer": nil, "crypto": nil, "network": nil, "chargeFrom": nil}, changes))
}

func gift(changes api.Object) api.Object {
	return transfer(merged(api.Object{"type": "gift", "receiver": nil, "chargeFrom": nil}, changes))
}

func merchant(changes api.Object) api.Object {
	return transfer(merged(api.Object{"type": "merchant", "payer": nil, "chargeFrom": nil}, changes))
}

func bankConfirmation(changes api.Object) api.Object {
	return transfer(merged(api.Object{"type": "bank_confirmation", "payer": nil, "receiver": nil, "chargeFrom": nil}, changes))
}

func merged(base, changes api.Object) api.Object {
	for name, value := range changes {
		base[name] = value
	}
	return base
}

// TestCreateEachType: the conditional rules of docs/api-contract.md#create that allow something, and the exact fields
// of each answer.
func TestCreateEachType(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for name, body := range map[string]api.Object{
		"gift":                           gift(nil),
		"gift, fee from fiat":            gift(api.Object{"chargeFrom": "fiat"}),
		"gift, crypto first":             gift(api.Object{"fiatAmount": nil, "cryptoAmount": 25}),
		"merchant with a receiver":       merchant(nil),
		"merchant without a receiver":    merchant(api.Object{"receiver": nil}),
		"merchant with a payer":          merchant(api.Object{"payer": api.Object{"chatId": "7"}}),
		"merchant, crypto first":         merchant(api.Object{"fiatAmount": nil, "cryptoAmount": json.Number("30.5")}),
		"bank_confirmation":              bankConfirmation(nil),
		"bank_confirmation with a ref":   bankConfirmation(api.Object{"bankRef": "FT-2201/7"}),
		"bank_confirmation with a payer": bankConfirmation(api.Object{"payer": api.Object{"chatId": "7"}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := create(t, c, body)
			sameSet(t, "the created payment", made.Keys(t, "payment"), createFields...)
			if made.Text(t, "payment.type") != body["type"] || made.Text(t, "payment.status") != "pending" {
				t.Errorf("made %s", made.Body)
			}
			shown := get(t, c, made.Text(t, "payment.reference"))
			if _, has := shown.At("payment.receiver"); has != (body["receiver"] != nil) {
				t.Errorf("receiver shown: %v: %s", has, shown.Body)
			}
		})
	}
}

// TestCreate_places: a create says in headers where the payment is read and where it is paid, and a repeated answer
// says the same.
func TestCreate_places(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for name, body := range map[string]api.Object{"a transfer": transfer(nil), "a request": request(nil), "a gift": gift(nil)} {
		idempotent := api.Header("Idempotency-Key", unique("places"))
		for range 2 {
			made := c.Call(t, http.MethodPost, "/v1/payments", body, idempotent).Want(t, http.StatusCreated)
			shown := c.Call(t, http.MethodGet, made.Header.Get("Location"), nil).Want(t, http.StatusOK)
			if shown.Text(t, "payment.reference") != made.Text(t, "payment.reference") {
				t.Errorf("read %s at its Location %s: got %s", name, made.Header.Get("Location"), shown.Body)
			}
			if want := "<" + shown.Text(t, "payment.checkoutUrl") + `>; rel="payment"`; made.Header.Get("Link") != want {
				t.Errorf("create %s: got the Link %q, want %q", name, made.Header.Get("Link"), want)
			}
		}
	}
	refused := c.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"fiatAmount": nil}), bad).Want(t, http.StatusBadRequest)
	if refused.Header.Get("Location") != "" || refused.Header.Get("Link") != "" {
		t.Errorf("create a payment without an amount: got the headers %v, want no Location and no Link", refused.Header)
	}
}

// TestCreateRequest: exactly six fields, with crypto and network, without, and with either alone; what was sent is the
// payee's preference.
func TestCreateRequest(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for name, test := range map[string]struct {
		change    api.Object
		preferred []string
	}{
		"terms only":       {nil, nil},
		"crypto, network":  {api.Object{"crypto": "usdt", "network": "TRC20"}, []string{"crypto", "network"}},
		"crypto alone":     {api.Object{"crypto": "BTC"}, []string{"crypto"}},
		"network alone":    {api.Object{"network": "bsc"}, []string{"network"}},
		"fee from fiat":    {api.Object{"chargeFrom": "fiat"}, nil},
		"fee from crypto":  {api.Object{"chargeFrom": "crypto"}, nil},
		"another currency": {api.Object{"fiatCurrency": "KES", "receiver": api.Object{"bankCode": "01", "accountNumber": "1234567890"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := create(t, c, request(test.change))
			sameSet(t, "the created request", made.Keys(t, "payment"), "id", "reference", "type", "status", "fiatAmount", "fiatCurrency")
			if made.Text(t, "payment.status") != "created" || made.Text(t, "payment.type") != "request" {
				t.Errorf("made %s", made.Body)
			}
			shown := get(t, c, made.Text(t, "payment.reference"))
			for _, absent := range []string{"id", "depositAddress", "cryptoAmount", "crypto", "network", "rate", "charge", "transactionUsd"} {
				if _, has := shown.At("payment." + absent); has {
					t.Errorf("an unfulfilled request shows %s", absent)
				}
			}
			if test.preferred == nil {
				if _, has := shown.At("payment.preferred"); has {
					t.Errorf("a preference that nobody gave: %s", shown.Body)
				}
				return
			}
			sameSet(t, "the preference", shown.Keys(t, "payment.preferred"), test.preferred...)
		})
	}
}

// TestCreateRules: the conditional rules of docs/api-contract.md#create that refuse something, by type.
func TestCreateRules(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	receiver, payer := api.Object{"bankCode": "058", "accountNumber": "0123456789"}, api.Object{"chatId": "7"}
	for name, test := range map[string]struct {
		body  api.Object
		field string
	}{
		"request with cryptoAmount":             {request(api.Object{"fiatAmount": nil, "cryptoAmount": 5}), "cryptoAmount"},
		"request without an amount":             {request(api.Object{"fiatAmount": nil}), "fiatAmount"},
		"request with a payer":                  {request(api.Object{"payer": payer}), "payer"},
		"request without a receiver":            {request(api.Object{"receiver": nil}), "receiver"},
		"request with an unknown crypto":        {request(api.Object{"crypto": "DOGE"}), "crypto"},
		"request with an unsupported pair":      {request(api.Object{"crypto": "BTC", "network": "tron"}), "crypto"},
		"gift without a payer":                  {gift(api.Object{"payer": nil}), "payer"},
		"gift with a receiver":                  {gift(api.Object{"receiver": receiver}), "receiver"},
		"gift without crypto":                   {gift(api.Object{"crypto": nil}), "crypto"},
		"gift without a network":                {gift(api.Object{"network": nil}), "network"},
		"gift with a bankRef":                   {gift(api.Object{"bankRef": "x"}), "bankRef"},
		"merchant without crypto":               {merchant(api.Object{"crypto": nil}), "crypto"},
		"merchant without a network":            {merchant(api.Object{"network": nil}), "network"},
		"merchant with an empty payer":          {merchant(api.Object{"payer": api.Object{}}), "payer.chatId"},
		"merchant with half a receiver":         {merchant(api.Object{"receiver": api.Object{"bankCode": "058"}}), "receiver.accountNumber"},
		"bank_confirmation with a receiver":     {bankConfirmation(api.Object{"receiver": receiver}), "receiver"},
		"bank_confirmation without crypto":      {bankConfirmation(api.Object{"crypto": nil}), "crypto"},
		"bank_confirmation without a network":   {bankConfirmation(api.Object{"network": nil}), "network"},
		"bank_confirmation with a long bankRef": {bankConfirmation(api.Object{"bankRef": string(slices.Repeat([]byte("x"), 101))}), "bankRef"},
		"bank_confirmation, an odd chargeFrom":  {bankConfirmation(api.Object{"chargeFrom": "both"}), "chargeFrom"},
	} {
		a := c.Call(t, http.MethodPost, "/v1/payments", test.body, bad).Want(t, http.StatusBadRequest)
		if !slices.Contains(a.FieldErrors(), test.field) {
			t.Errorf("%s: the error names %v, want %s", name, a.FieldErrors(), test.field)
		}
	}
}
