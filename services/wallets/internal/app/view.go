package app

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/wallets/internal/wallet"
)

// amountOf writes base units as a canonical decimal: "12.5", "0".
func amountOf(network, crypto string, units *big.Int) string {
	return money.Canonical(assetOf(network, crypto).FromUnits(decimal.NewFromBigInt(units, 0)))
}

// encode writes JSON in the form of answers: without escaping HTML and without a trailing newline.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// createdView is a wallet in the answer to a create: exactly the fields of gateway/openapi.yaml.
type createdView struct {
	ID        string          `json:"id"`
	Address   string          `json:"address"`
	Network   string          `json:"network"`
	Crypto    string          `json:"crypto"`
	Status    wallet.Status   `json:"status"`
	CreatedAt string          `json:"createdAt"`
	ExpiresAt string          `json:"expiresAt"`
	Metadata  json.RawMessage `json:"metadata"`
}

func created(w wallet.Wallet) ([]byte, error) {
	return encode(struct {
		Success bool        `json:"success"`
		Wallet  createdView `json:"wallet"`
	}{true, createdView{w.ID, w.Address, w.NetworkName, w.Crypto, w.Status, timestamp.Text(w.CreatedAt), timestamp.Text(w.ExpiresAt), w.Metadata}})
}

// itemView is a wallet in a list: exactly the fields of gateway/openapi.yaml.
type itemView struct {
	ID            string        `json:"id"`
	Address       string        `json:"address"`
	Network       string        `json:"network"`
	Crypto        string        `json:"crypto"`
	Status        wallet.Status `json:"status"`
	Amount        string        `json:"amount"`
	Confirmations int64         `json:"confirmations"`
	CreatedAt     string        `json:"createdAt"`
}

func itemOf(w wallet.Wallet) itemView {
	return itemView{
		w.ID, w.Address, w.NetworkName, w.Crypto, w.Status, amountOf(w.Network, w.Crypto, w.Amount), w.Confirmations(), timestamp.Text(w.CreatedAt),
	}
}

// walletView is a wallet as GET and events show it.
type walletView struct {
	itemView
	ExpiresAt string          `json:"expiresAt"`
	Metadata  json.RawMessage `json:"metadata"`
	Sequence  int64           `json:"sequence,omitempty"`
}

func viewOf(w wallet.Wallet) walletView {
	return walletView{itemView: itemOf(w), ExpiresAt: timestamp.Text(w.ExpiresAt), Metadata: w.Metadata}
}

func shown(w wallet.Wallet) ([]byte, error) {
	return encode(struct {
		Success bool       `json:"success"`
		Wallet  walletView `json:"wallet"`
	}{true, viewOf(w)})
}

// seedPage is the pagination of docs/api-contract.md#pagination; only a list by cursor has keyset.
type seedPage struct {
	Limit    int `json:"limit"`
	Offset   int `json:"offset"`
	Returned int `json:"returned"`
	*keyset
}

type keyset struct {
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

func listed(q ListQuery, list []wallet.Wallet) ([]byte, error) {
	page := seedPage{Limit: q.Limit, Offset: q.Offset}
	if q.Cursor {
		page.keyset = &keyset{HasMore: len(list) > q.Limit}
		if list = list[:min(len(list), q.Limit)]; page.HasMore {
			last := list[len(list)-1]
			next := Position{last.CreatedAt, last.ID}.Cursor()
			page.NextCursor = &next
		}
	}
	page.Returned = len(list)
	items := make([]itemView, len(list))
	for i, w := range list {
		items[i] = itemOf(w)
	}
	return encode(struct {
		Success    bool       `json:"success"`
		Wallets    []itemView `json:"wallets"`
		Pagination seedPage   `json:"pagination"`
	}{true, items, page})
}

// Cursor writes a position for the next request.
func (p Position) Cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.At.UnixMicro(), 10) + " " + p.Name))
}

// ParseCursor reads the text that Cursor wrote.
func ParseCursor(text string) (Position, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	at, name, ok := strings.Cut(string(raw), " ")
	micros, parseErr := strconv.ParseInt(at, 10, 64)
	const far = 1 << 53
	if err != nil || parseErr != nil || !ok || micros < 0 || micros > far || name == "" || strings.ContainsRune(name, 0) {
		return Position{}, false
	}
	return Position{time.UnixMicro(micros).UTC(), name}, true
}

type depositView struct {
	TxHash        string       `json:"txHash"`
	Network       string       `json:"network"`
	Crypto        string       `json:"crypto"`
	Amount        string       `json:"amount"`
	Status        wallet.State `json:"status"`
	Confirmations int64        `json:"confirmations"`
	Counted       bool         `json:"counted"`
	BlockHeight   int64        `json:"blockHeight"`
	FirstSeenAt   string       `json:"firstSeenAt"`
}

// depositName orders deposits that were first seen in the same moment, and ends a page of them.
func depositName(d wallet.Deposit) string {
	return d.Network + ":" + d.TxHash + ":" + fmt.Sprintf("%010d", d.Ordinal)
}

func depositsListed(w wallet.Wallet, q DepositQuery, list []wallet.Deposit, heads map[string]int64) ([]byte, error) {
	page := struct {
		Limit int `json:"limit"`
		keyset
	}{q.Limit, keyset{HasMore: len(list) > q.Limit}}
	if list = list[:min(len(list), q.Limit)]; page.HasMore {
		last := list[len(list)-1]
		next := Position{last.FirstSeenAt, depositName(last)}.Cursor()
		page.NextCursor = &next
	}
	items := make([]depositView, len(list))
	for i, d := range list {
		network, depth := d.Network, int64(0)
		if network == w.Network {
			network = w.NetworkName
		}
		if d.State != wallet.Reverted {
			depth = max(0, heads[d.Network]-d.BlockHeight+1)
		}
		items[i] = depositView{
			d.TxHash, network, d.Asset, amountOf(d.Network, d.Asset, d.Amount), d.State, depth, w.Counts(d), d.BlockHeight, timestamp.Text(d.FirstSeenAt),
		}
	}
	return encode(struct {
		Success    bool          `json:"success"`
		Deposits   []depositView `json:"deposits"`
		Pagination any           `json:"pagination"`
	}{true, items, page})
}

func simulated(w wallet.Wallet, s wallet.Simulated) ([]byte, error) {
	type view struct {
		TxHash         string `json:"txHash"`
		DepositAddress string `json:"depositAddress"`
		Amount         string `json:"amount"`
		Crypto         string `json:"crypto"`
		Network        string `json:"network"`
		Confirmations  int64  `json:"confirmations"`
	}
	return encode(struct {
		Success bool `json:"success"`
		Deposit view `json:"deposit"`
	}{true, view{s.TxHash, w.Address, amountOf(w.Network, w.Crypto, s.Amount), w.Crypto, w.NetworkName, s.Confirmations}})
}

type balanceView struct {
	Crypto    string `json:"crypto"`
	Network   string `json:"network"`
	Available string `json:"available"`
	Pending   string `json:"pending"`
	Missing   string `json:"missing,omitempty"`
}

func balanced(list []wallet.Balance) ([]byte, error) {
	items := make([]balanceView, len(list))
	for i, b := range list {
		available, missing := b.Available, ""
		if available.Sign() < 0 { // a chain has taken back what was withdrawn
			available, missing = new(big.Int), amountOf(b.Network, b.Asset, new(big.Int).Neg(available))
		}
		items[i] = balanceView{b.Asset, b.Network, amountOf(b.Network, b.Asset, available), amountOf(b.Network, b.Asset, b.Pending), missing}
	}
	return encode(struct {
		Success  bool          `json:"success"`
		Balances []balanceView `json:"balances"`
	}{true, items})
}

// EventBody is the webhook body of a wallet's event, byte for byte as it is signed and sent
// (docs/api-contract.md#webhooks).
func EventBody(eventID, kind string, at time.Time, w wallet.Wallet) ([]byte, error) {
	v := viewOf(w)
	v.Sequence = w.Sequence
	type data struct {
		Wallet walletView `json:"wallet"`
	}
	return encode(struct {
		ID        string      `json:"id"`
		Type      string      `json:"type"`
		CreatedAt string      `json:"createdAt"`
		Mode      tenant.Mode `json:"mode"`
		Data      data        `json:"data"`
	}{eventID, kind, timestamp.Text(at), w.Mode, data{v}})
}
