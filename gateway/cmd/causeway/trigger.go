package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

func triggerCommand() command {
	v := command{
		name: "trigger",
		line: "make something happen in test mode: a deposit, an expiry, a payout's outcome",
		help: `causeway trigger deposit REFERENCE|WALLET [--amount AMOUNT] [--confirmations N]
causeway trigger expire REFERENCE
causeway trigger payout REFERENCE succeed|fail|return|timeout

deposit sends simulated money to a payment (what is still owed, unless --amount says otherwise) or to a wallet (wal_…, which
needs --amount), with enough confirmations unless --confirmations says otherwise. expire closes a payment's window as its
timer would. payout says what becomes of the payout.

The key must be a test key with the permission payment:create, or wallet:create for a wallet.

examples:
  causeway trigger deposit CW-ABCDEFGHJKMN
  causeway trigger deposit CW-ABCDEFGHJKMN --amount 5 --confirmations 1
  causeway trigger deposit wal_06gzx7fv0m003d1w0ct36h7a4g --amount 12.5
  causeway trigger expire CW-ABCDEFGHJKMN
  causeway trigger payout CW-ABCDEFGHJKMN fail`,
	}
	v.run = func(ctx context.Context, c *cli, args []string) error { return c.trigger(ctx, v, args) }
	return v
}

func (c *cli) trigger(ctx context.Context, v command, args []string) error {
	var amount string
	confirmations := -1
	f := c.flags(v)
	f.StringVar(&amount, "amount", "", "how much is deposited")
	f.IntVar(&confirmations, "confirmations", -1, "how deep the deposit is at first; -1 is deep enough")
	words, err := c.parse(f, args)
	if err != nil {
		return err
	}
	if len(words) < 2 {
		return misused("say what to trigger and where: causeway trigger deposit REFERENCE")
	}
	name := url.PathEscape(words[1])
	path, body := "", map[string]any{}
	switch what := words[0]; {
	case what == "deposit" && len(words) == 2:
		path = "/v1/sandbox/payments/" + name + "/deposits"
		if strings.HasPrefix(words[1], "wal_") {
			path = "/v1/sandbox/wallets/" + name + "/deposits"
		}
		if amount != "" {
			body["amount"] = amount
		}
		if confirmations >= 0 {
			body["confirmations"] = confirmations
		}
	case what == "expire" && len(words) == 2:
		path = "/v1/sandbox/payments/" + name + "/expire"
	case what == "payout" && len(words) == 3:
		path, body["outcome"] = "/v1/sandbox/payouts/"+name+"/outcome", words[2]
	default:
		return misused("trigger takes no words %q", words)
	}
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
		c.line("%s: %s %s on %s are on their way", words[1], sent.Deposit.Amount, sent.Deposit.Crypto, sent.Deposit.Network)
		return nil
	}
	c.line("%s: done", words[1])
	return nil
}
