package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// keyRecord holds the fields of a key that the tool reads.
type keyRecord struct {
	ID          int64    `json:"id"`
	PublicKey   string   `json:"publicKey"`
	Secret      string   `json:"secret"`
	MerchantID  string   `json:"merchantId"`
	Name        string   `json:"name"`
	Mode        string   `json:"mode"`
	Permissions []string `json:"permissions"`
	RevokedAt   *string  `json:"revokedAt"`
}

func (c *cli) keysCommand() *cobra.Command {
	me := &cobra.Command{
		Use: "me", Short: "show what the key in use may do", Args: words(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.actOnKey(cmd.Context(), http.MethodGet, "/v1/me", nil)
		},
	}
	list := c.listCommand("list", "list keys", "  causeway keys list --merchant acme", listing{
		path: "/v1/admin/keys", items: "keys",
		columns: []string{"ID id", "MODE mode", "MERCHANT merchantId", "NAME name", "KEY publicKey", "PERMISSIONS permissions", "REVOKED revokedAt"},
		filters: []filter{{"merchant", "merchantId", "only of this merchant"}, {"mode", "mode", "only of this mode"}},
	})
	overlap := -1
	rotate := &cobra.Command{
		Use: "rotate ID", Short: "give a key a new secret", Args: words("an ID"), Example: "  causeway keys rotate 7 --overlap 60",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{}
			if overlap >= 0 {
				in["overlapMinutes"] = overlap
			}
			return c.actOnKey(cmd.Context(), http.MethodPost, at("/v1/admin/keys/{}/rotate", args), in)
		},
	}
	rotate.Flags().IntVar(&overlap, "overlap", -1, "minutes for which the old secret stays valid; -1 is the product's default")
	revoke := &cobra.Command{
		Use: "revoke ID", Short: "end a key", Args: words("an ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.actOnKey(cmd.Context(), http.MethodDelete, at("/v1/admin/keys/{}", args), nil)
		},
	}
	g := group("keys", "show this key; as an operator list, make, rotate and revoke keys", me, list, c.createKeyCommand(), rotate, revoke)
	g.Long = `The command me shows the permissions of the API key in use and needs only that key. The others need an operator's token.
A new secret is printed once and stored nowhere: keep it in a safe place.`
	c.adminFlag(g)
	return g
}

func (c *cli) createKeyCommand() *cobra.Command {
	var in struct{ merchant, name, mode, permissions, tier string }
	cmd := &cobra.Command{
		Use: "create", Short: "make a key", Args: words(),
		Example: "  causeway keys create --merchant acme --name shop --permissions payment:create,payment:read",
		Long:    "Makes a key and prints its secret. A test key may do everything without --permissions. A live key needs them.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			permissions := in.permissions
			if permissions == "" && in.mode != "test" {
				return misused("a live key needs --permissions, such as payment:create,payment:read")
			}
			if permissions == "" {
				permissions = "*"
			}
			body := map[string]any{"merchantId": in.merchant, "name": in.name, "mode": in.mode, "permissions": strings.Split(permissions, ",")}
			if in.tier != "" {
				body["tier"] = in.tier
			}
			return c.actOnKey(cmd.Context(), http.MethodPost, "/v1/admin/keys", body)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.merchant, "merchant", "", "the merchant's id")
	f.StringVar(&in.name, "name", "", "what the key is for")
	f.StringVar(&in.mode, "mode", "test", "test or live")
	f.StringVar(&in.permissions, "permissions", "", "comma separated permissions")
	f.StringVar(&in.tier, "tier", "", "standard, premium or unlimited")
	return cmd
}

// actOnKey makes one call about a key and prints the key of the answer.
func (c *cli) actOnKey(ctx context.Context, method, path string, in any) error {
	var raw json.RawMessage
	if _, err := c.call(ctx, method, path, in, &raw); err != nil {
		return err
	}
	if c.json {
		c.printJSON(raw)
		return nil
	}
	var answer struct {
		Key         keyRecord `json:"key"`
		Permissions []string  `json:"permissions"`
		Merchant    struct {
			ID string `json:"id"`
		} `json:"merchant"`
		Approval struct {
			ExpiresAt string `json:"expiresAt"`
		} `json:"approval"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("read a key: %w", err)
	}
	if until := answer.Approval.ExpiresAt; until != "" {
		c.line("nothing has happened yet: another operator has to type the same before %s", until)
		return nil
	}
	k := answer.Key
	if answer.Merchant.ID != "" { // of the key in use
		k.MerchantID, k.Permissions = answer.Merchant.ID, answer.Permissions
	}
	c.line("%d  %s  %s  %s  %s  %s", k.ID, k.Mode, k.MerchantID, printable(k.Name), k.PublicKey, strings.Join(k.Permissions, ","))
	if k.Secret != "" {
		c.line("secret (shown this once): %s", k.Secret)
	}
	return nil
}
