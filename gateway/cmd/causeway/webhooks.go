package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

func (c *cli) webhooksCommand() *cobra.Command {
	g := group("webhooks", "show deliveries and endpoints, send again what did not arrive",
		c.listCommand("deliveries", "list deliveries, the newest first", "  causeway webhooks deliveries --status exhausted", listing{
			path: "/v1/webhooks/deliveries", items: "deliveries",
			columns: []string{"ID id", "CREATED createdAt", "TYPE type", "OBJECT objectId", "ATTEMPTS attemptCount", "URL url", "STATUS status"},
			filters: []filter{
				{"status", "status", "pending, retrying, held, delivered, exhausted or all"},
				{"type", "type", "only events of this type"},
				{"endpoint", "endpointId", "only to this endpoint"},
				{"event", "eventId", "only of this event"},
			},
		}),
		c.one("delivery ID", "show a delivery with its attempts", http.MethodGet, "/v1/webhooks/deliveries/{}", "delivery"),
		c.one("resend ID", "send a delivery again now", http.MethodPost, "/v1/webhooks/deliveries/{}/retry", "delivery"),
		c.listCommand("endpoints", "list endpoints", "", listing{
			path: "/v1/webhooks/endpoints", items: "endpoints", columns: []string{"ID id", "URL url", "TYPES types", "ENABLED enabled"},
		}),
		c.replayCommand())
	g.Long = "Shows deliveries of webhooks and sends them again. The key needs the permission webhook:manage."
	return g
}

// replay is what the tool asks for and reads of a replay.
type replay struct {
	ID    *string `json:"id"`
	State string  `json:"state"`
	Total int     `json:"total"`
	Sent  int     `json:"sent"`
}

func (c *cli) replayCommand() *cobra.Command {
	var in struct {
		from, to, endpoint, status string
		types                      []string
		dry, wait                  bool
	}
	cmd := &cobra.Command{
		Use: "replay", Short: "send the deliveries of a time again", Args: words(),
		Example: "  causeway webhooks replay --from 2026-11-01T00:00:00Z --dry-run\n  causeway webhooks replay --from 2026-11-01T00:00:00Z --wait" +
			"\n  causeway webhooks replay --from 2026-11-01T00:00:00Z --endpoint whe_06gzxbfvjmsasj8kyqcm9986pr",
		Long: `Sends the deliveries of a period again: the exhausted ones, unless --status says otherwise. Without --endpoint these are
the deliveries to callbackUrls alone; a registered endpoint has a replay of its own. --dry-run only counts them. --wait
shows the progress until all are queued.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in.from == "" {
				return misused("replay needs --from")
			}
			if in.endpoint == "" {
				if err := c.sayEndpoints(cmd.Context()); err != nil {
					return err
				}
			}
			body := map[string]any{"from": in.from, "dryRun": in.dry}
			for name, value := range map[string]string{"to": in.to, "endpointId": in.endpoint, "status": in.status} {
				if value != "" {
					body[name] = value
				}
			}
			if len(in.types) > 0 {
				body["types"] = in.types
			}
			return c.replay(cmd.Context(), body, in.wait && !in.dry)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.from, "from", "", "events made at or after this time")
	f.StringVar(&in.to, "to", "", "events made before this time; without it, now")
	f.StringVar(&in.endpoint, "endpoint", "", "to this endpoint (whe_…) instead of to callbackUrls")
	f.StringVar(&in.status, "status", "", "exhausted (the default), delivered or all")
	f.StringSliceVar(&in.types, "type", nil, "only events of these types")
	f.BoolVar(&in.dry, "dry-run", false, "only count the deliveries")
	f.BoolVar(&in.wait, "wait", false, "show the progress until all are queued")
	return cmd
}

// sayEndpoints says how to send again to registered endpoints, if the merchant has any.
func (c *cli) sayEndpoints(ctx context.Context) error {
	var answer struct {
		Endpoints []json.RawMessage `json:"endpoints"`
	}
	if _, err := c.call(ctx, http.MethodGet, "/v1/webhooks/endpoints?limit=1", nil, &answer); err != nil {
		return err
	}
	if len(answer.Endpoints) > 0 {
		c.say("only deliveries to callbackUrls; for those to a registered endpoint name it with --endpoint (causeway webhooks endpoints)")
	}
	return nil
}

func (c *cli) replay(ctx context.Context, body any, wait bool) error {
	var answer struct {
		Replay json.RawMessage `json:"replay"`
	}
	if _, err := c.call(ctx, http.MethodPost, "/v1/webhooks/replays", body, &answer); err != nil {
		return err
	}
	for {
		var now replay
		if err := json.Unmarshal(answer.Replay, &now); err != nil {
			return fmt.Errorf("read the replay: %w", err)
		}
		if wait {
			c.say("%s: %d of %d sent", now.State, now.Sent, now.Total)
		}
		if !wait || now.State != "running" || now.ID == nil {
			break
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		if _, err := c.call(ctx, http.MethodGet, "/v1/webhooks/replays/"+url.PathEscape(*now.ID), nil, &answer); err != nil {
			return err
		}
	}
	if c.json {
		c.printJSON(answer.Replay)
		return nil
	}
	return c.printObject(answer.Replay)
}
