//go:build integration

package main

import (
	"maps"

	"github.com/ThreeDotsLabs/watermill/message"

	"causeway.internal/libs/outbox"
)

// asWatermill turns an outbox row into a message, as the relay does.
func asWatermill(m outbox.Message) *message.Message {
	out := message.NewMessage(m.ID, m.Body)
	maps.Copy(out.Metadata, m.Headers)
	return out
}
