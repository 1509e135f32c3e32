package main

import (
	"github.com/spf13/cobra"

	"causeway.internal/gateway/internal/credential"
)

func (c *cli) operatorTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use: "operator-token", Short: "make an operator's token for yourself", Args: words(),
		Long: `Makes an operator's token without calling the API, and prints it with its digest. Keep the token, as
CAUSEWAY_ADMIN_TOKEN or in a password store, and give the digest to two other operators, to each of them yourself. Once
both have sent it to POST /v1/admin/operators with your name, the token is valid, and neither of them can act as you.`,
		RunE: func(*cobra.Command, []string) error {
			token := credential.GenerateToken()
			digest := credential.TokenDigest(token)
			if c.json {
				c.printJSON(map[string]string{"token": token, "digest": digest})
				return nil
			}
			c.line("token   %s", token)
			c.line("digest  %s", digest)
			return nil
		},
	}
}
