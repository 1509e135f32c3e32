//go:build integration

package main

import (
	"maps"

	"github.com/ThreeDotsLabs/watermill/message"

	"causeway.internal/libs/outbox"
)

// asWatermill is what the relay makes of an outbox row.
func asWatermill(m outbox.Message) *message.Message {
	out := message.NewMessage(m.ID, m.Body)
	maps.Copy(out.Metadata, m.Headers)
	return out
}
