package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// object calls the API and prints the object of its answer.
func (c *cli) object(ctx context.Context, method, path string, in any, name string) error {
	var answer json.RawMessage
	if _, err := c.call(ctx, method, path, in, &answer); err != nil {
		return err
	}
	for part := range strings.SplitSeq(name, ".") {
		var fields map[string]json.RawMessage
		if json.Unmarshal(answer, &fields) == nil && fields[part] != nil {
			answer = fields[part]
		}
	}
	if c.json {
		c.printJSON(answer)
		return nil
	}
	return c.printObject(answer)
}

// one is a command that reads or changes one object.
func (c *cli) one(use, short, method, path, name string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: words(strings.Fields(use)[1:]...),
		RunE: func(cmd *cobra.Command, args []string) error {
			var in any
			if method == http.MethodPost {
				in = map[string]any{}
			}
			return c.object(cmd.Context(), method, at(path, args), in, name)
		},
	}
}

// amount reads a decimal without a float, so that the API gets every digit.
func amount(flag, text string) (json.Number, error) {
	if raw, err := json.Marshal(json.Number(text)); err != nil || text == "" || strings.HasPrefix(string(raw), "-") {
		return "", misused("--%s %q is no amount", flag, text)
	}
	return json.Number(text), nil
}

var (
	since = filter{"from", "from", "made at or after this time, such as 2026-11-01T00:00:00Z"}
	until = filter{"to", "to", "made before this time"}
)

func (c *cli) paymentsCommand() *cobra.Command {
	var in struct{ amount, crypto, network, reason string }
	refund := &cobra.Command{
		Use: "refund REFERENCE", Short: "send back what is owed to the payer, or a part of it", Args: words("REFERENCE"),
		Example: "  causeway payments refund CW-ABCDEFGHJKMN --reason \"order 17 is cancelled\"",
		Long: `Asks for a refund to the payment's refund address, of all that is owed to the payer unless --amount names a part. Above
the merchant's bound an operator approves it first. The key needs the permission refund:create.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"reason": in.reason}
			if in.reason == "" {
				return misused("refund needs --reason")
			}
			if in.amount != "" {
				n, err := amount("amount", in.amount)
				if err != nil {
					return err
				}
				body["amount"] = n
			}
			if in.crypto != "" || in.network != "" {
				body["crypto"], body["network"] = in.crypto, in.network
			}
			return c.object(cmd.Context(), http.MethodPost, at("/v1/payments/{}/refunds", args), body, "refund")
		},
	}
	f := refund.Flags()
	f.StringVar(&in.reason, "reason", "", "why, for the record (required)")
	f.StringVar(&in.amount, "amount", "", "a part of what is owed, in the crypto")
	f.StringVar(&in.crypto, "crypto", "", "the asset, where several are owed")
	f.StringVar(&in.network, "network", "", "its network")
	return group("payments", "read, list, cancel and refund payments",
		c.one("get REFERENCE", "show a payment", http.MethodGet, "/v1/payments/{}", "payment"),
		c.listCommand("list", "list payments, the newest first", "  causeway payments list --status settled --from 2026-11-01T00:00:00Z --all", listing{
			path: "/v1/payments", items: "payments",
			columns: []string{
				"REFERENCE reference", "CREATED createdAt", "TYPE type", "FIAT fiatAmount", "CURRENCY fiatCurrency",
				"CRYPTO cryptoAmount", "ASSET crypto", "NETWORK network", "STATUS status",
			},
			filters: []filter{
				{"status", "status", "only of this status, or of several: settled,refunded"},
				{"type", "type", "only of this type"},
				{"payer", "payerChatId", "only of this payer"},
				{"address", "address", "only with this deposit address"},
				{"tx", "txHash", "only paid by this transaction"},
				since, until,
			},
		}),
		c.one("cancel REFERENCE", "cancel a payment that nobody has paid", http.MethodPost, "/v1/payments/{}/cancel", "payment"),
		refund)
}

func (c *cli) walletsCommand() *cobra.Command {
	var in struct {
		network, crypto string
		minutes         int
	}
	create := &cobra.Command{
		Use: "create", Short: "make a deposit address", Args: words(), Example: "  causeway wallets create --network tron --crypto USDT",
		RunE: func(cmd *cobra.Command, _ []string) error {
			body := map[string]any{"network": in.network, "crypto": in.crypto}
			if in.network == "" || in.crypto == "" {
				return misused("create needs --network and --crypto")
			}
			if in.minutes > 0 {
				body["expiresInMinutes"] = in.minutes
			}
			return c.object(cmd.Context(), http.MethodPost, "/v1/wallets", body, "wallet")
		},
	}
	f := create.Flags()
	f.StringVar(&in.network, "network", "", "on which network")
	f.StringVar(&in.crypto, "crypto", "", "crypto that is deposited")
	f.IntVar(&in.minutes, "expires-in", 0, "minutes until it expires, at most 43200; 0 is the product's default")
	deposits := c.listCommand("deposits WALLET", "list the deposits of a wallet", "", listing{
		path: "/v1/wallets/{}/deposits", items: "deposits",
		columns: []string{"SEEN firstSeenAt", "AMOUNT amount", "ASSET crypto", "NETWORK network", "CONFIRMATIONS confirmations", "HASH txHash", "STATUS status"},
	})
	return group("wallets", "make, read and list standalone deposit wallets", create,
		c.one("get WALLET", "show a wallet", http.MethodGet, "/v1/wallets/{}", "wallet"),
		c.listCommand("list", "list wallets, the newest first", "", listing{
			path: "/v1/wallets", items: "wallets", begin: true,
			columns: []string{"ID id", "CREATED createdAt", "NETWORK network", "ASSET crypto", "ADDRESS address", "AMOUNT amount", "STATUS status"},
			filters: []filter{{"status", "status", "only of this status"}},
		}), deposits)
}

func (c *cli) reportsCommand() *cobra.Command {
	in := map[string]*string{}
	create := &cobra.Command{
		Use: "create", Short: "file a report of fraud or a complaint", Args: words(),
		Example: "  causeway reports create --type fraud --name \"Ada Obi\" --phone 2348012345678 --fraudster TXYZ…",
	}
	f := create.Flags()
	for _, x := range []filter{
		{"type", "complaintType", "track_transaction, stolen_funds or fraud"},
		{"name", "name", "who files it"},
		{"phone", "phoneNumber", "the reporter's phone, with the country's code"},
		{"wallet", "walletAddress", "the reporter's wallet"},
		{"fraudster", "fraudsterWalletAddress", "the wallet that is accused"},
		{"payment", "sessionReference", "reference of the payment"},
		{"description", "description", "what happened, at most 5000 characters"},
	} {
		in[x.parameter] = f.String(x.flag, "", x.help)
	}
	create.RunE = func(cmd *cobra.Command, _ []string) error {
		body := map[string]string{}
		for name, value := range in {
			if *value != "" {
				body[name] = *value
			}
		}
		return c.object(cmd.Context(), http.MethodPost, "/v1/reports", body, "data.report")
	}
	return group("reports", "file, read and look up reports", create,
		c.one("get REPORT", "show a report", http.MethodGet, "/v1/reports/{}", "data.report"),
		c.listCommand("list", "list the merchant's own reports, the newest first", "", listing{
			path: "/v1/reports", items: "data.reports",
			columns: []string{"REPORT reportId", "CREATED createdAt", "TYPE complaintType", "PAYMENT sessionReference", "NOTES adminNotes", "STATUS status"},
			filters: []filter{{"status", "status", "only of this status"}, {"type", "complaintType", "only of this type"}},
		}),
		c.listCommand("lookup", "find reports by the reporter's phone or wallet", "  causeway reports lookup --phone 2348012345678", listing{
			path: "/v1/reports/lookup", items: "data.reports", begin: true,
			columns: []string{"REPORT reportId", "CREATED createdAt", "TYPE complaintType", "PAYMENT sessionReference", "ACCUSED fraudsterWalletAddress", "STATUS status"},
			filters: []filter{
				{"phone", "phoneNumber", "the reporter's phone"},
				{"wallet", "walletAddress", "the reporter's wallet"},
				{"status", "status", "only of this status"},
				{"type", "complaintType", "only of this type"},
			},
		}))
}

func (c *cli) eventsCommand() *cobra.Command {
	return c.listCommand("events", "list events, the oldest first", "  causeway events --type payment.settled --from 2026-11-01T00:00:00Z", listing{
		path: "/v1/events", items: "events",
		columns: []string{"ID id", "CREATED createdAt", "TYPE type"},
		filters: []filter{{"type", "type", "only of this type"}, since},
	})
}
