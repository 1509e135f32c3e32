package address_test

import (
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
)

// A hash of one chain is none of another.
func TestIsTransaction(t *testing.T) {
	hexed := strings.Repeat("0a", 32)
	signature := "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"
	for text, families := range map[string][]money.Family{
		hexed: {money.Bitcoin, money.Tron}, strings.ToUpper(hexed): {money.Bitcoin, money.Tron}, "0x" + hexed: {money.EVM},
		signature: {money.Solana}, signature[4:]: nil, "": nil, "f00d": nil, "0x1": nil, hexed + "0a": nil, "0x" + hexed[1:] + "g": nil,
	} {
		for _, family := range money.Families() {
			want := false
			for _, f := range families {
				want = want || f == family
			}
			if got := address.IsTransaction(family, text); got != want {
				t.Errorf("is this a transaction of %s, %q: got %v", family, text, got)
			}
		}
	}
}
