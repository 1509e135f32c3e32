package product

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"causeway.internal/deploy/stack/internal/state"
)

// settle makes the product usable: a merchant with a key and a webhook secret, and addresses in stock.
func (p Product) settle(ctx context.Context, k keys) error {
	err := p.Progress.Step("make a test-mode merchant", func() error { return p.merchant(ctx, k) })
	if err != nil {
		return err
	}
	return p.Progress.Step("fill the stock of test addresses", func() error { return p.stock(ctx) })
}

// errRefused says that a key is not, or no longer, valid; errMissing that there is no such route or object, and
// errKnown that there is one already.
var (
	errRefused = errors.New("the key is refused")
	errMissing = errors.New("not found")
	errKnown   = errors.New("known already")
)

// merchant keeps the key of an earlier run if the gateway still knows it.
func (p Product) merchant(ctx context.Context, k keys) error {
	st, err := state.Load(p.Dir)
	if err != nil {
		return err
	}
	made := st.Product
	if made.APIKey != "" {
		made.WebhookSecret, err = webhookSecret(ctx, made)
	}
	if made.APIKey == "" || errors.Is(err, errRefused) {
		if made.APIKey, err = makeKey(ctx, made.BaseURL, k.adminToken); err != nil {
			return err
		}
		made.WebhookSecret, err = webhookSecret(ctx, made)
	}
	if err != nil {
		return err
	}
	st, err = state.Change(p.Dir, func(st *state.State) error { st.Product = made; return nil })
	if err != nil {
		return err
	}
	return st.WriteEnv()
}

// merchantID is the merchant of the stack.
const merchantID = "local"

// approve makes and approves the merchant of the stack. An earlier gateway knows no merchants.
func approve(ctx context.Context, base, token string) error {
	path := base + "/v1/admin/merchants"
	err := call(ctx, http.MethodPost, path, token, map[string]any{"merchantId": merchantID, "name": "Local Stores", "country": "NG"}, nil)
	if err == nil {
		err = call(ctx, http.MethodPost, path+"/"+merchantID+"/approve", token, nil, nil)
	}
	if errors.Is(err, errMissing) || errors.Is(err, errKnown) {
		return nil
	}
	return err
}

func makeKey(ctx context.Context, base, token string) (string, error) {
	if err := approve(ctx, base, token); err != nil {
		return "", fmt.Errorf("make a merchant: %w", err)
	}
	request := map[string]any{
		"merchantId": merchantID, "name": "local stack", "mode": "test", "permissions": []string{"*"}, "tier": "unlimited",
	}
	var answer struct {
		Key struct {
			Secret string `json:"secret"`
		} `json:"key"`
	}
	if err := call(ctx, http.MethodPost, base+"/v1/admin/keys", token, request, &answer); err != nil {
		return "", fmt.Errorf("make an API key: %w", err)
	}
	if answer.Key.Secret == "" {
		return "", errors.New("make an API key: the answer holds no secret")
	}
	return answer.Key.Secret, nil
}

func webhookSecret(ctx context.Context, made state.Product) (string, error) {
	var answer map[string]json.RawMessage
	if err := call(ctx, http.MethodGet, made.BaseURL+"/v1/webhooks/secret", made.APIKey, nil, &answer); err != nil {
		return "", fmt.Errorf("read the webhook secret: %w", err)
	}
	if secret := findSecret(answer); secret != "" {
		return secret, nil
	}
	return "", errors.New("read the webhook secret: the answer holds none")
}

// findSecret takes the field "secret" at the top or one object below.
func findSecret(answer map[string]json.RawMessage) string {
	var text string
	if json.Unmarshal(answer["secret"], &text) == nil && text != "" {
		return text
	}
	for _, value := range answer {
		var inner map[string]json.RawMessage
		if json.Unmarshal(value, &inner) == nil && json.Unmarshal(inner["secret"], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// call sends one JSON request with a bearer token and reads the answer.
func call(ctx context.Context, method, address, token string, body, answer any) error {
	ctx, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("render the request: %w", err)
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("send the request: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if response.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("%w: %s", errRefused, text)
	}
	for status, reason := range map[int]error{http.StatusNotFound: errMissing, http.StatusConflict: errKnown} {
		if response.StatusCode == status {
			return fmt.Errorf("%w: %s", reason, text)
		}
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s: %s", request.URL.Path, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}
