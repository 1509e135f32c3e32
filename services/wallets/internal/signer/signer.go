// Package signer is the client of the signer's unix socket. It holds no key: it sends typed intents and compares the
// returned bytes with the request.
package signer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/intent"
)

// Client asks one signer. It is safe for concurrent use.
type Client struct{ http *http.Client }

const (
	patience   = 10 * time.Second
	answerMost = 1 << 20
)

// New makes a client of the socket at path and does not dial yet.
func New(path string) *Client {
	dialer := net.Dialer{Timeout: patience}
	return &Client{&http.Client{Timeout: patience, Transport: &http.Transport{
		MaxIdleConns: 4, IdleConnTimeout: time.Minute,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) },
	}}}
}

// Stations are the addresses that pay for gas, and the treasuries that the signer has pinned.
type Stations struct {
	Mode    string   `json:"mode"`
	Account uint32   `json:"account"`
	EVM     string   `json:"evm"`
	Tron    string   `json:"tron"`
	Solana  string   `json:"solana"`
	Nonces  []string `json:"nonces"` // the nonce accounts of solana
	// RefundNonces are those of the refund station.
	RefundNonces []string                `json:"refundNonces"`
	Treasuries   map[string]string       `json:"treasuries"`
	Refunds      map[money.Family]string `json:"refunds"` // the refund stations
	// Authorized are the tokens whose contract takes authorizations, by network and asset.
	Authorized map[string]map[string]intent.Domain `json:"authorized"`
}

// Of is the station of a family, "" for a family without one.
func (s Stations) Of(family money.Family) string {
	return map[money.Family]string{money.EVM: s.EVM, money.Tron: s.Tron, money.Solana: s.Solana}[family]
}

// Stations requests the stations.
func (c *Client) Stations(ctx context.Context) (out Stations, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/stations", nil, &out)
	return out, err
}

// Addresses asks which deposit addresses the signer has keys for.
func (c *Client) Addresses(ctx context.Context, family money.Family, indices []uint32) ([]string, error) {
	var out struct {
		Addresses []string `json:"addresses"`
	}
	err := c.do(ctx, http.MethodPost, "/v1/addresses", map[string]any{"family": family, "indices": indices}, &out)
	if err == nil && len(out.Addresses) != len(indices) {
		err = errors.New("the signer returned another number of addresses")
	}
	return out.Addresses, err
}

// Sign asks for one signature. A refusal is an *intent.Refusal.
func (c *Client) Sign(ctx context.Context, r intent.Request) (out intent.Signed, err error) {
	err = c.do(ctx, http.MethodPost, "/v1/sign", r, &out)
	return out, err
}

func (c *Client) do(ctx context.Context, method, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://signer"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("asking the signer: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, answerMost))
	if err != nil {
		return fmt.Errorf("asking the signer: %w", err)
	}
	if res.StatusCode == http.StatusForbidden {
		refusal := &intent.Refusal{}
		if err := json.Unmarshal(answer, refusal); err != nil {
			return fmt.Errorf("reading the signer's refusal: %w", err)
		}
		return refusal
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the signer answers %d", res.StatusCode)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("reading the signer's answer: %w", err)
	}
	return nil
}
