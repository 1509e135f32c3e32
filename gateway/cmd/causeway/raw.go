package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (c *cli) getCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get PATH", Short: "make any GET of the API and print the answer", Args: words("a PATH"),
		Example: `  causeway get /v1/balances
  causeway get '/v1/rates?fiat=NGN'
  causeway get /v1/payments/export > payments.csv`,
		Long: "Makes any GET of the API. It prints JSON indented, or on one line with --json, and another answer, such as CSV, as it\ncomes.",
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

// plain prints the answer of any call: JSON on one line with --json, else indented, and anything else as it comes.
func (c *cli) plain(ctx context.Context, method, path string, in any) error {
	if !strings.HasPrefix(path, "/") {
		return misused("a PATH begins with /, such as /v1/me")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(callTime, func() { cancel(fmt.Errorf("nothing came for %v", callTime)) })
	defer timer.Stop()
	res, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "application/json" {
		return c.pour(res.Body, timer)
	}
	var answer json.RawMessage
	if err := c.decode(res.Body, &answer); err != nil {
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

// pour prints text of any length, such as CSV, while it comes. Each line, or 64 KiB of a longer one, has the time of a
// call to come.
func (c *cli) pour(body io.Reader, timer *time.Timer) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	for {
		raw, err := lines.ReadSlice('\n')
		line := string(raw)
		timer.Stop() // a pager may take as long as its reader
		if c.terminal {
			text, ended := strings.CutSuffix(line, "\n")
			line = printable(strings.TrimSuffix(text, "\r"))
			if ended {
				line += "\n"
			}
		}
		if _, err := io.WriteString(c.out, line); err != nil {
			return fmt.Errorf("print the answer: %w", err)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("read the answer: %w", err)
		}
		timer.Reset(callTime)
	}
}
