package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) getCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get PATH", Short: "make any GET of the API and print the answer", Args: words("a PATH"),
		Example: "  causeway get /v1/balances\n  causeway get '/v1/rates?fiat=NGN'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.plain(cmd.Context(), http.MethodGet, args[0], nil)
		},
	}
	c.adminFlag(cmd)
	return cmd
}

func (c *cli) postCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use: "post PATH", Short: "make any POST of the API and print the answer", Args: words("a PATH"),
		Example: `  causeway post /v1/payments/CW-ABCDEFGHJKMN/cancel
  causeway post /v1/wallets --data '{"network":"tron","crypto":"USDT"}'
  causeway post /v1/payments --data - < payment.json`,
		Long: "Posts JSON with a new Idempotency-Key. --data is the JSON, or - for standard input.",
		RunE: func(cmd *cobra.Command, args []string) error {
			text := data
			if text == "-" {
				raw, err := io.ReadAll(io.LimitReader(c.in, answerMax))
				if err != nil {
					return fmt.Errorf("read the data: %w", err)
				}
				text = string(raw)
			}
			if !json.Valid([]byte(text)) {
				return misused("--data is no JSON")
			}
			return c.plain(cmd.Context(), http.MethodPost, args[0], json.RawMessage(text))
		},
	}
	cmd.Flags().StringVar(&data, "data", "{}", "JSON, or - for standard input")
	c.adminFlag(cmd)
	return cmd
}

// adminFlag adds the flag of the operator's token.
func (c *cli) adminFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&c.admin, "admin-token", "", "operator's token (CAUSEWAY_ADMIN_TOKEN), for /v1/admin")
}

// plain prints the answer of any call, on one line with --json.
func (c *cli) plain(ctx context.Context, method, path string, in any) error {
	if !strings.HasPrefix(path, "/") {
		return misused("a PATH begins with /, such as /v1/me")
	}
	var answer json.RawMessage
	if _, err := c.call(ctx, method, path, in, &answer); err != nil {
		return err
	}
	if c.json {
		c.printJSON(answer)
		return nil
	}
	text, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		c.line("%s", printable(line))
	}
	return nil
}
