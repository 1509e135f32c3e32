package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Merchant is who a run creates its payments as. Each run has one of its own, so that the auditor finds everything that
// was made for it, asked for or not.
type Merchant struct {
	ID            string
	APIKey        string
	WebhookSecret string
}

// NewMerchant makes a merchant's key of a mode through the operator's endpoint and reads its webhook secret.
func NewMerchant(ctx context.Context, baseURL, adminToken, mode, id string) (Merchant, error) {
	var made struct {
		Key struct {
			Secret string `json:"secret"`
		} `json:"key"`
	}
	if mode == "live" {
		if err := approve(ctx, baseURL, adminToken, id); err != nil {
			return Merchant{}, err
		}
	}
	err := call(ctx, http.MethodPost, baseURL+"/v1/admin/keys", adminToken, map[string]any{
		"merchantId": id, "name": "chaos", "mode": mode, "permissions": []string{"*"}, "tier": "unlimited",
	}, &made)
	if err != nil {
		return Merchant{}, fmt.Errorf("making a merchant: %w", err)
	}
	var hooks struct {
		Secret string `json:"secret"`
	}
	if err := call(ctx, http.MethodGet, baseURL+"/v1/webhooks/secret", made.Key.Secret, nil, &hooks); err != nil {
		return Merchant{}, fmt.Errorf("reading the merchant's webhook secret: %w", err)
	}
	return Merchant{ID: id, APIKey: made.Key.Secret, WebhookSecret: hooks.Secret}, nil
}

// approve makes and approves a merchant, whom a live key needs. An earlier gateway knows neither route and needs
// neither.
func approve(ctx context.Context, baseURL, adminToken, id string) error {
	path := baseURL + "/v1/admin/merchants"
	status, err := Ask(ctx, http.MethodPost, path, adminToken, map[string]any{"merchantId": id, "name": "chaos", "country": "NG"}, nil)
	if err != nil || status == http.StatusNotFound {
		return err
	}
	if status == http.StatusCreated {
		status, err = Ask(ctx, http.MethodPost, path+"/"+id+"/approve", adminToken, nil, nil)
	}
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("making merchant %s is answered with %d", id, status)
	}
	return err
}

// call sends one request with a bearer token and reads the answer.
func call(ctx context.Context, method, address, token string, body, answer any) error {
	status, err := Ask(ctx, method, address, token, body, answer)
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("%s %s is answered with %d", method, address, status)
	}
	return err
}

// Ask sends one request with a bearer token, if there is one, and returns the status of the answer; one of success is
// read into answer unless that is nil.
func Ask(ctx context.Context, method, address, token string, body, answer any) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return 0, err
	}
	if answer == nil || response.StatusCode/100 != 2 {
		return response.StatusCode, nil
	}
	return response.StatusCode, json.Unmarshal(text, answer)
}

// Listed is one event of a payment, or of a withdrawal, whose id is the reference then, as the list of events shows it.
type Listed struct {
	ID        string
	Type      string
	Reference string
	Status    string
	Sequence  int64
}

// listPage is no divisor of anything, so that pages end in the middle of whatever belongs together.
const listPage = 37

// Events walks the merchant's list of events from the first to the last one and returns those of payments and of
// withdrawals.
func Events(ctx context.Context, baseURL, apiKey string) (all, withdrawals []Listed, err error) {
	for cursor := ""; ; {
		var page struct {
			Events []struct {
				ID   string `json:"id"`
				Type string `json:"type"`
				Data struct {
					Payment    *paymentTold `json:"payment"`
					Withdrawal *struct {
						ID       string `json:"id"`
						Status   string `json:"status"`
						Sequence int64  `json:"sequence"`
					} `json:"withdrawal"`
				} `json:"data"`
			} `json:"events"`
			Pagination struct {
				NextCursor string `json:"nextCursor"`
				HasMore    bool   `json:"hasMore"`
			} `json:"pagination"`
		}
		query := url.Values{"limit": {strconv.Itoa(listPage)}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if err := call(ctx, http.MethodGet, baseURL+"/v1/events?"+query.Encode(), apiKey, nil, &page); err != nil {
			return nil, nil, fmt.Errorf("listing the events: %w", err)
		}
		for _, e := range page.Events {
			if p := e.Data.Payment; p != nil {
				all = append(all, Listed{ID: e.ID, Type: e.Type, Reference: p.Reference, Status: p.Status, Sequence: p.Sequence})
			}
			if w := e.Data.Withdrawal; w != nil {
				withdrawals = append(withdrawals, Listed{ID: e.ID, Type: e.Type, Reference: w.ID, Status: w.Status, Sequence: w.Sequence})
			}
		}
		if cursor = page.Pagination.NextCursor; !page.Pagination.HasMore {
			return all, withdrawals, nil
		}
	}
}
