//go:build integration

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/deploy/e2e/internal/contract"
	"causeway.internal/libs/testkit/stack"
)

var bad = api.Bad(contract.WithBadRequest)

// num is a number with digits of its own.
func num(text string) json.Number { return json.Number(text) }

type badBody struct {
	name  string
	body  any    // an object, or raw text
	field string // that the error must name; "" for a body that is no object of fields
}

func with(changes api.Object) api.Object { return transfer(changes) }

// raw is a good body in text with one piece added in front.
func rawTransfer(t testing.TB, add string) string {
	t.Helper()
	text, err := json.Marshal(transfer(nil))
	if err != nil {
		t.Fatal(err)
	}
	return "{" + add + string(text[1:])
}

// badFields is the table of docs/api-contract.md#create with the rules of docs/api-contract.md#validation,
// docs/api-contract.md#numbers and docs/api-contract.md#fees.
func badFields() []badBody {
	receiver := func(bank, number any) api.Object {
		return api.Object{"receiver": api.Object{"bankCode": bank, "accountNumber": number}}
	}
	return []badBody{
		{"no type", with(api.Object{"type": nil}), "type"},
		{"unknown type", with(api.Object{"type": "loan"}), "type"},
		{"type in capitals", with(api.Object{"type": "TRANSFER"}), "type"},
		{"type of wrong type", with(api.Object{"type": 1}), "type"},
		{"no amount", with(api.Object{"fiatAmount": nil}), "fiatAmount"},
		{"both amounts", with(api.Object{"cryptoAmount": 1}), "cryptoAmount"},
		{"fiatAmount as text", with(api.Object{"fiatAmount": "25000"}), "fiatAmount"},
		{"fiatAmount zero", with(api.Object{"fiatAmount": 0}), "fiatAmount"},
		{"fiatAmount negative", with(api.Object{"fiatAmount": -1}), "fiatAmount"},
		{"fiatAmount with three digits", with(api.Object{"fiatAmount": num("100.001")}), "fiatAmount"},
		{"fiatAmount beyond 1e15", with(api.Object{"fiatAmount": num("1e16")}), "fiatAmount"},
		{"fiatAmount absurd", with(api.Object{"fiatAmount": num("1e999999")}), "fiatAmount"},
		{"fiatAmount true", with(api.Object{"fiatAmount": true}), "fiatAmount"},
		{"cryptoAmount as text", with(api.Object{"fiatAmount": nil, "cryptoAmount": "1"}), "cryptoAmount"},
		{"cryptoAmount zero", with(api.Object{"fiatAmount": nil, "cryptoAmount": num("0.0")}), "cryptoAmount"},
		{"cryptoAmount with nine digits", with(api.Object{"fiatAmount": nil, "cryptoAmount": num("1.000000001")}), "cryptoAmount"},
		{"cryptoAmount beyond the asset", with(api.Object{"fiatAmount": nil, "cryptoAmount": num("1.0000001")}), "cryptoAmount"},
		{"no fiatCurrency", with(api.Object{"fiatCurrency": nil}), "fiatCurrency"},
		{"unknown fiatCurrency", with(api.Object{"fiatCurrency": "USD"}), "fiatCurrency"},
		{"fiatCurrency of wrong type", with(api.Object{"fiatCurrency": []string{"NGN"}}), "fiatCurrency"},
		{"no crypto", with(api.Object{"crypto": nil}), "crypto"},
		{"crypto of wrong type", with(api.Object{"crypto": 5}), "crypto"},
		{"no network", with(api.Object{"network": nil}), "network"},
		{"network of wrong type", with(api.Object{"network": api.Object{}}), "network"},
		{"unknown network", with(api.Object{"network": "dogecoin"}), "network"},
		{"no chargeFrom", with(api.Object{"chargeFrom": nil}), "chargeFrom"},
		{"unknown chargeFrom", with(api.Object{"chargeFrom": "both"}), "chargeFrom"},
		{"no payer", with(api.Object{"payer": nil}), "payer"},
		{"payer of wrong type", with(api.Object{"payer": "payer-1"}), "payer"},
		{"payer without chatId", with(api.Object{"payer": api.Object{"phone": "1"}}), "payer.chatId"},
		{"chatId of blanks", with(api.Object{"payer": api.Object{"chatId": " \t "}}), "payer.chatId"},
		{"chatId of wrong type", with(api.Object{"payer": api.Object{"chatId": 5}}), "payer.chatId"},
		{"phone of wrong type", with(api.Object{"payer": api.Object{"chatId": "a", "phone": 5}}), "payer.phone"},
		{"no receiver", with(api.Object{"receiver": nil}), "receiver"},
		{"receiver of wrong type", with(api.Object{"receiver": "058"}), "receiver"},
		{"receiver without bankCode", with(api.Object{"receiver": api.Object{"accountNumber": "0123456789"}}), "receiver.bankCode"},
		{"receiver without accountNumber", with(api.Object{"receiver": api.Object{"bankCode": "058"}}), "receiver.accountNumber"},
		{"bankCode with a blank", with(receiver("0 58", "0123456789")), "receiver.bankCode"},
		{"bankCode of one character", with(receiver("0", "0123456789")), "receiver.bankCode"},
		{"bankCode of wrong type", with(receiver(58, "0123456789")), "receiver.bankCode"},
		{"accountNumber too short", with(receiver("058", "012345678")), "receiver.accountNumber"},
		{"accountNumber with letters", with(receiver("058", "01234567ab")), "receiver.accountNumber"},
		{"accountNumber of wrong type", with(receiver("058", 123456789)), "receiver.accountNumber"},
		{"accountNumber that does not exist", with(receiver("058", "0000000001")), "receiver.accountNumber"},
		{"bankRef with another type", with(api.Object{"bankRef": "x"}), "bankRef"},
		{"metadata of wrong type", with(api.Object{"metadata": "x"}), "metadata"},
		{"metadata as a list", with(api.Object{"metadata": []int{1}}), "metadata"},
		{"metadata beyond 8 KiB", with(api.Object{"metadata": api.Object{"k": strings.Repeat("x", 9000)}}), "metadata"},
		{"callbackUrl of wrong type", with(api.Object{"callbackUrl": 5}), "callbackUrl"},
		{"callbackUrl that is none", with(api.Object{"callbackUrl": "not a url"}), "callbackUrl"},
		{"callbackUrl of another scheme", with(api.Object{"callbackUrl": "ftp://example.com/"}), "callbackUrl"},
		{"null where required", with(api.Object{"type": json.RawMessage("null")}), "type"},
		{"request with cryptoAmount", api.Object{
			"type": "request", "cryptoAmount": 5, "fiatCurrency": "NGN",
			"receiver": api.Object{"bankCode": "058", "accountNumber": "0123456789"},
		}, "cryptoAmount"},
		{"request with payer", api.Object{
			"type": "request", "fiatAmount": 5000, "fiatCurrency": "NGN", "payer": api.Object{"chatId": "a"},
			"receiver": api.Object{"bankCode": "058", "accountNumber": "0123456789"},
		}, "payer"},
		{"request without receiver", api.Object{"type": "request", "fiatAmount": 5000, "fiatCurrency": "NGN"}, "receiver"},
		{"gift with receiver", with(api.Object{"type": "gift"}), "receiver"},
		{"gift without payer", with(api.Object{"type": "gift", "receiver": nil, "payer": nil}), "payer"},
		{"bank_confirmation with receiver", with(api.Object{"type": "bank_confirmation"}), "receiver"},
	}
}

// badTexts are bodies that are broken before any field is.
func badTexts(t testing.TB) []badBody {
	t.Helper()
	deep := `{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}"
	return []badBody{
		{"empty", "", ""},
		{"not JSON", "hello", ""},
		{"a list", "[]", ""},
		{"a number", "5", ""},
		{"null", "null", ""},
		{"cut off", `{"type":"transfer"`, ""},
		{"trailing data", rawTransfer(t, "") + "{}", ""},
		{"trailing comma", `{"type":"transfer",}`, ""},
		{"NaN", strings.Replace(rawTransfer(t, ""), "25000", "NaN", 1), ""},
		{"Infinity", strings.Replace(rawTransfer(t, ""), "25000", "Infinity", 1), ""},
		{"leading zero", strings.Replace(rawTransfer(t, ""), "25000", "025000", 1), ""},
		{"duplicate key", rawTransfer(t, `"fiatAmount":1,`), "fiatAmount"},
		{"duplicate key of an unknown field", rawTransfer(t, `"x":1,"x":2,`), "x"},
		{"nested beyond 32", deep, ""},
		{"nested beyond 32 in metadata", rawTransfer(t, `"metadata":`+deep+","), ""},
		{"not UTF-8", rawTransfer(t, "\"x\":\"\xff\xfe\","), ""},
	}
}

// TestBadCreates: each case is a 400 that names the field, and nothing is written.
func TestBadCreates(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("bad")
	mine := key(t, s, c, "test", merchant, "payment:*")
	t.Run("cases", func(t *testing.T) {
		for _, test := range append(badFields(), badTexts(t)...) {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				a := mine.Call(t, http.MethodPost, "/v1/payments", test.body, bad, api.Header("Idempotency-Key", unique("bad"))).Want(t, http.StatusBadRequest)
				if test.field == "" {
					return
				}
				fields, broken := a.FieldErrors(), a.Text(t, "error.code") == "invalid_json" // whose text names what is wrong
				if !slices.Contains(fields, test.field) && !(broken && strings.Contains(a.Text(t, "message"), `"`+test.field+`"`)) {
					t.Errorf("the error names %v, want %s: %s", fields, test.field, a.Body)
				}
			})
		}
	})
	if n := countPayments(t, s, merchant); n != 0 {
		t.Errorf("%d payments were written", n)
	}
}

// countPayments asks the database, because nothing else shows what must not exist.
func countPayments(t testing.TB, s *stack.Stack, merchant string) int {
	t.Helper()
	return count(t, s, "payments", `SELECT count(*) FROM payments WHERE merchant_id = $1`, merchant)
}

func count(t testing.TB, s *stack.Stack, service, query string, args ...any) int {
	t.Helper()
	return value[int](t, s, service, query, args...)
}

// value is what a query of a service's database finds.
func value[T any](t testing.TB, s *stack.Stack, service, query string, args ...any) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.Databases[service])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestAllFieldErrorsAtOnce: an answer names every wrong field, not the first one only.
func TestAllFieldErrorsAtOnce(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	a := c.Call(t, http.MethodPost, "/v1/payments", api.Object{
		"type": "transfer", "fiatAmount": "x", "fiatCurrency": "USD", "payer": api.Object{}, "receiver": api.Object{"bankCode": 5}, "callbackUrl": 7,
	}, bad).Want(t, http.StatusBadRequest)
	fields := a.FieldErrors()
	for _, want := range []string{
		"fiatAmount", "fiatCurrency", "crypto", "network", "chargeFrom", "payer.chatId", "receiver.bankCode", "receiver.accountNumber", "callbackUrl",
	} {
		if !slices.Contains(fields, want) {
			t.Errorf("the error names %v and not %s", fields, want)
		}
	}
}

// TestAmountLimits: outside the limits of docs/api-contract.md#fees is a 400 with its own code that names both limits.
func TestAmountLimits(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for currency, limit := range map[string]int64{"NGN": 50_000_000, "GHS": 500_000, "KES": 5_000_000, "ZAR": 1_000_000} {
		for _, amount := range []json.Number{num("0.99"), num(fmt.Sprintf("%d.01", limit))} {
			a := c.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"fiatCurrency": currency, "fiatAmount": amount}), bad).Want(t, http.StatusBadRequest)
			digits := strings.NewReplacer(",", "", " ", "", "_", "").Replace(a.Text(t, "message"))
			if a.Text(t, "error.code") != "amount_out_of_range" || !strings.Contains(digits, fmt.Sprint(limit)) || !strings.Contains(digits, "1") {
				t.Errorf("create a payment of %s %s: got %s, want amount_out_of_range that names 1 and %d", amount, currency, a.Body, limit)
			}
		}
		create(t, c, transfer(api.Object{"fiatCurrency": currency, "fiatAmount": limit}))
		create(t, c, transfer(api.Object{"fiatCurrency": currency, "fiatAmount": 1}))
	}
}

// TestUnsupportedPair: a pair we do not take is a 400 with its own code that lists what we take.
func TestUnsupportedPair(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for _, pair := range [][2]string{{"DOGE", "erc20"}, {"BTC", "tron"}, {"USDT", "base"}} {
		a := c.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"crypto": pair[0], "network": pair[1]}), bad).Want(t, http.StatusBadRequest)
		if a.Text(t, "error.code") != "unsupported_pair" || !strings.Contains(a.Text(t, "message"), "USDT") {
			t.Errorf("create a payment in %v: got %s, want unsupported_pair that names the pairs", pair, a.Body)
		}
	}
}

// TestIgnoredInput: what docs/api-contract.md#validation says is ignored or means "not supplied".
func TestIgnoredInput(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	create(t, c, transfer(api.Object{"unknown": api.Object{"x": 1}}))
	create(t, c, transfer(api.Object{"receiver": api.Object{
		"bankCode": "058", "accountNumber": "0123456789", "accountName": "Somebody Else", "bankName": "No Bank",
	}}))
	c.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{
		"callbackUrl": "", "bankRef": json.RawMessage("null"), "metadata": json.RawMessage("null"), "cryptoAmount": json.RawMessage("null"),
	}), bad).Want(t, http.StatusCreated)
	c.Call(t, http.MethodPost, "/v1/payments", transfer(nil), api.Header("Content-Type", ""), bad).Want(t, http.StatusCreated)
	c.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"fiatAmount": num("2.5e4")})).Want(t, http.StatusCreated)
}

// TestCreateWhileNamesAreDown: with the name service down a create goes on.
func TestCreateWhileNamesAreDown(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	create(t, c, transfer(api.Object{"receiver": api.Object{"bankCode": "058", "accountNumber": "0000000002"}}))
}
