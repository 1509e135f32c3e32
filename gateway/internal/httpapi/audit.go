package httpapi

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/timestamp"
)

type actsRequest struct{ filter audit.Filter }

// wordMax bounds a filter; actors, acts and objects are shorter.
const wordMax = 200

// Read implements httpkit.Reader.
func (a *actsRequest) Read(in *httpkit.Input) {
	a.filter = audit.Filter{
		Actor: in.QueryText("actor", wordMax), Act: in.QueryText("act", wordMax), Object: in.QueryText("object", wordMax),
		From: since(in, "from"), To: since(in, "to"), Limit: in.QueryInt("limit", 50, 1, 100),
	}
	if text := in.Query("cursor"); text != "" {
		var micros int64
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err == nil {
			_, err = fmt.Sscanf(string(raw), "a%x.%x", &micros, &a.filter.BeforeID)
		}
		if err != nil || micros < 0 {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
		a.filter.Before = time.UnixMicro(micros)
	}
}

// since reads a time or a day of a query.
func since(in *httpkit.Input, name string) time.Time {
	text := in.Query(name)
	if text == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	in.Problems.Add(name, "must be an ISO 8601 time or a day")
	return time.Time{}
}

type actView struct {
	At        *string           `json:"at"`
	Actor     string            `json:"actor"`
	Act       audit.Act         `json:"act"`
	Object    string            `json:"object"`
	RequestID string            `json:"requestId"`
	ClientIP  *string           `json:"clientIp"`
	Detail    map[string]string `json:"detail"`
}

type actsAnswer struct {
	Acts       []actView  `json:"acts"`
	Pagination pagination `json:"pagination"`
}

func (a *API) acts(ctx context.Context, r actsRequest) (actsAnswer, error) {
	acts, more, err := a.Audit.Acts(ctx, r.filter)
	if err != nil {
		return actsAnswer{}, err
	}
	out := actsAnswer{Acts: make([]actView, 0, len(acts)), Pagination: pagination{Limit: r.filter.Limit, HasMore: more}}
	for _, e := range acts {
		v := actView{At: timestamp.OrNull(e.At), Actor: e.Actor, Act: e.Act, Object: e.Object, RequestID: e.RequestID, Detail: e.Detail}
		if e.ClientIP != "" {
			v.ClientIP = &e.ClientIP
		}
		out.Acts = append(out.Acts, v)
	}
	if more {
		last := acts[len(acts)-1]
		c := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "a%x.%x", last.At.UnixMicro(), last.ID))
		out.Pagination.NextCursor = &c
	}
	return out, nil
}
