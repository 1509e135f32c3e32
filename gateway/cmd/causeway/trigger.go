package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) triggerCommand() *cobra.Command {
	var sum string
	confirmations := -1
	deposit := &cobra.Command{
		Use: "deposit REFERENCE|WALLET", Short: "send simulated money to a payment or a wallet", Args: words("a REFERENCE or a WALLET"),
		Long: `Sends simulated money to a payment (what is still owed, unless --amount says otherwise) or to a wallet (wal_…, which
needs --amount), with enough confirmations unless --confirmations says otherwise.`,
		Example: `  causeway trigger deposit CW-ABCDEFGHJKMN
  causeway trigger deposit CW-ABCDEFGHJKMN --amount 5 --confirmations 1
  causeway trigger deposit wal_06gzx7fv0m003d1w0ct36h7a4g --amount 12.5`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{}
			if sum != "" {
				body["amount"] = sum
			}
			if confirmations >= 0 {
				body["confirmations"] = confirmations
			}
			path := "/v1/sandbox/payments/"
			if strings.HasPrefix(args[0], "wal_") {
				path = "/v1/sandbox/wallets/"
			}
			return c.trigger(cmd.Context(), args[0], path+url.PathEscape(args[0])+"/deposits", body)
		},
	}
	deposit.Flags().StringVar(&sum, "amount", "", "amount that is deposited")
	deposit.Flags().IntVar(&confirmations, "confirmations", -1, "confirmations that the deposit has at first; -1 is enough of them")
	expire := &cobra.Command{
		Use: "expire REFERENCE", Short: "close a payment's window as its timer would", Args: words("a REFERENCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.trigger(cmd.Context(), args[0], at("/v1/sandbox/payments/{}/expire", args), map[string]any{})
		},
	}
	payout := &cobra.Command{
		Use: "payout REFERENCE succeed|fail|return|timeout", Short: "set the outcome of a payout", Args: words("a REFERENCE", "an outcome"),
		Example: "  causeway trigger payout CW-ABCDEFGHJKMN fail",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.trigger(cmd.Context(), args[0], at("/v1/sandbox/payouts/{}/outcome", args), map[string]any{"outcome": args[1]})
		},
	}
	g := group("trigger", "make something happen in test mode: a deposit, an expiry, a payout's outcome", deposit, expire, payout)
	g.Long = "Makes something happen in test mode. The key must be a test key with the permission payment:create, or wallet:create\nfor a wallet."
	return g
}

func (c *cli) trigger(ctx context.Context, what, path string, body any) error {
	var answer json.RawMessage
	if _, err := c.call(ctx, http.MethodPost, path, body, &answer); err != nil {
		return err
	}
	if c.json {
		c.printJSON(answer)
		return nil
	}
	var sent struct {
		Deposit *struct {
			Amount  json.Number `json:"amount"`
			Crypto  string      `json:"crypto"`
			Network string      `json:"network"`
		} `json:"deposit"`
	}
	if json.Unmarshal(answer, &sent) == nil && sent.Deposit != nil {
		c.line("%s: %s %s on %s are on their way", what, sent.Deposit.Amount, sent.Deposit.Crypto, sent.Deposit.Network)
		return nil
	}
	c.line("%s: done", what)
	return nil
}
