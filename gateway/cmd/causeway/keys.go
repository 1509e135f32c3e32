package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

func keysCommand() command {
	v := command{
		name: "keys",
		line: "show this key; as an operator list, make, rotate and revoke keys",
		help: `causeway keys me
causeway keys list [--merchant ID]
causeway keys create --merchant ID --name NAME [--mode test|live] [--permissions LIST] [--tier TIER]
causeway keys rotate ID [--overlap MINUTES]
causeway keys revoke ID

me shows what the API key in use may do and needs no more than the key. The others need an operator's token. A new secret
is printed once and kept nowhere: put it away at once.

examples:
  causeway keys me
  causeway keys create --merchant acme --name shop --permissions payment:create,payment:read
  causeway keys rotate 7 --overlap 60
  causeway keys list --merchant acme --json`,
	}
	v.run = func(ctx context.Context, c *cli, args []string) error { return c.keys(ctx, v, args) }
	return v
}

// keyFlags are the flags of keys.
type keyFlags struct {
	merchant, name, mode, permissions, tier string
	overlap                                 int
}

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

func (c *cli) keys(ctx context.Context, v command, args []string) error {
	k := keyFlags{}
	f := c.flags(v)
	f.StringVar(&c.admin, "admin-token", "", "operator's token (CAUSEWAY_ADMIN_TOKEN)")
	f.StringVar(&k.merchant, "merchant", "", "the merchant's id")
	f.StringVar(&k.name, "name", "", "what the key is for")
	f.StringVar(&k.mode, "mode", "test", "test or live")
	f.StringVar(&k.permissions, "permissions", "*", "comma separated permissions")
	f.StringVar(&k.tier, "tier", "", "standard, premium or unlimited")
	f.IntVar(&k.overlap, "overlap", -1, "minutes for which the old secret goes on working; -1 is the product's default")
	words, err := c.parse(f, args)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return misused("say what to do with keys: me, list, create, rotate or revoke")
	}
	method, path, body, err := k.request(words)
	if err != nil {
		return err
	}
	if words[0] == "list" {
		return c.listKeys(ctx, path)
	}
	var raw json.RawMessage
	if _, err := c.call(ctx, method, path, body, &raw); err != nil {
		return err
	}
	if c.json {
		c.printJSON(raw)
		return nil
	}
	return c.showKey(words[0], raw)
}

// request is the API call of a verb's words.
func (k keyFlags) request(words []string) (method, path string, body any, err error) {
	one := func() string { return "/v1/admin/keys/" + url.PathEscape(words[1]) }
	switch what := words[0]; {
	case what == "me" && len(words) == 1:
		return http.MethodGet, "/v1/me", nil, nil
	case what == "list" && len(words) == 1:
		query := url.Values{"limit": {"100"}}
		if k.merchant != "" {
			query.Set("merchantId", k.merchant)
		}
		return http.MethodGet, "/v1/admin/keys?" + query.Encode(), nil, nil
	case what == "create" && len(words) == 1:
		in := map[string]any{"merchantId": k.merchant, "name": k.name, "mode": k.mode, "permissions": strings.Split(k.permissions, ",")}
		if k.tier != "" {
			in["tier"] = k.tier
		}
		return http.MethodPost, "/v1/admin/keys", in, nil
	case what == "rotate" && len(words) == 2:
		in := map[string]any{}
		if k.overlap >= 0 {
			in["overlapMinutes"] = k.overlap
		}
		return http.MethodPost, one() + "/rotate", in, nil
	case what == "revoke" && len(words) == 2:
		return http.MethodDelete, one(), nil, nil
	}
	return "", "", nil, misused("keys takes no words %q", words)
}

// listKeys prints every page of the list.
func (c *cli) listKeys(ctx context.Context, path string) error {
	next := path
	for {
		var page struct {
			Keys       []json.RawMessage `json:"keys"`
			Pagination struct {
				NextCursor *string `json:"nextCursor"`
			} `json:"pagination"`
		}
		if _, err := c.call(ctx, http.MethodGet, next, nil, &page); err != nil {
			return err
		}
		for _, raw := range page.Keys {
			if c.json {
				c.printJSON(raw)
				continue
			}
			var k keyRecord
			if err := json.Unmarshal(raw, &k); err != nil {
				return fmt.Errorf("read a key: %w", err)
			}
			c.line("%s", k)
		}
		if page.Pagination.NextCursor == nil {
			return nil
		}
		next = path + "&cursor=" + url.QueryEscape(*page.Pagination.NextCursor)
	}
}

// String is a key in one line.
func (k keyRecord) String() string {
	line := fmt.Sprintf("%4d  %-4s  %-16s %-16s %s  %s", k.ID, k.Mode, k.MerchantID, k.Name, k.PublicKey, strings.Join(k.Permissions, ","))
	if k.RevokedAt != nil {
		line += "  revoked " + *k.RevokedAt
	}
	return line
}

// showKey prints the answer to one act on a key.
func (c *cli) showKey(what string, raw json.RawMessage) error {
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
	if what == "me" {
		k.MerchantID, k.Permissions = answer.Merchant.ID, answer.Permissions
	}
	c.line("%s", k)
	if k.Secret != "" {
		c.line("secret (shown this once): %s", k.Secret)
	}
	return nil
}
