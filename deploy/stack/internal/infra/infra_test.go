package infra

import (
	"regexp"
	"testing"
)

func TestScope_namesOfTheService(t *testing.T) {
	names := regexp.MustCompile(scope([]string{"payments", "callback-dispatcher"}))
	for _, name := range []string{
		"payments", "payments.wallets.deposit_changed.v1", "payments.wallets.deposit_changed.v1.dead", "callback-dispatcher.status_changed.v1",
		"unrouted", "amq.default",
	} {
		if !names.MatchString(name) {
			t.Errorf("%s is refused", name)
		}
	}
	for _, name := range []string{"wallets", "wallets.payments", "paymentsx", "xpayments", "amq.topic", "unrouted.x", ""} {
		if names.MatchString(name) {
			t.Errorf("%s is allowed", name)
		}
	}
}

func TestWith_replacesAccountAndPath(t *testing.T) {
	got := with("postgres://root:x@127.0.0.1:5/postgres?sslmode=disable", "app", "p", "db")
	if got != "postgres://app:p@127.0.0.1:5/db?sslmode=disable" {
		t.Error(got)
	}
	if name := database("cw_1", "callback-dispatcher"); name != "cw_1_callback_dispatcher" {
		t.Error(name)
	}
}
