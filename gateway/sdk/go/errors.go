package causeway

import (
	"encoding/json"
	"fmt"
	"time"
)

// APIError is a refusal of the API. Code is stable; switch on it and not on the message.
type APIError struct {
	Status     int
	Code       ErrorCode // unreadable_answer where the answer is not Causeway's
	Message    string
	Fields     []FieldError
	RequestID  string        // support finds the request by it
	RetryAfter time.Duration // after which the API wants to be asked again; negative where it did not say
}

// CodeUnreadable is the code of an answer that is not Causeway's.
const CodeUnreadable ErrorCode = "unreadable_answer"

// FieldError is a field that a request got wrong.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error implements error.
func (e *APIError) Error() string {
	return fmt.Sprintf("causeway: %s (%d %s, request %s)", e.Message, e.Status, e.Code, e.RequestID)
}

// ConnectionError says that no answer came. Whether the request had an effect is not known.
type ConnectionError struct {
	Operation string
	Err       error
}

// Error implements error.
func (e *ConnectionError) Error() string { return fmt.Sprintf("causeway: %s: %v", e.Operation, e.Err) }

// Unwrap is the reason.
func (e *ConnectionError) Unwrap() error { return e.Err }

// WebhookError says that a webhook is not from Causeway, or too old. Answer it with status 400 and do nothing.
type WebhookError struct {
	Reason  string // unsigned, stale or forged
	Message string
}

// Error implements error.
func (e *WebhookError) Error() string { return "causeway: webhook: " + e.Message }

// refusal reads the error of an answer.
func refusal(status int, body []byte, requestID string, retryAfter time.Duration) *APIError {
	e := &APIError{
		Status: status, Code: CodeUnreadable, Message: fmt.Sprintf("the answer with status %d is not Causeway's", status), RequestID: requestID,
		RetryAfter: retryAfter,
	}
	var answer struct {
		Error struct {
			Code      ErrorCode       `json:"code"`
			Message   string          `json:"message"`
			RequestID string          `json:"requestId"`
			Fields    json.RawMessage `json:"fields"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Code == "" || answer.Error.Message == "" || status < 300 {
		return e
	}
	e.Code, e.Message = answer.Error.Code, answer.Error.Message
	if answer.Error.RequestID != "" {
		e.RequestID = answer.Error.RequestID
	}
	if json.Unmarshal(answer.Error.Fields, &e.Fields) != nil {
		e.Fields = nil
	}
	return e
}
