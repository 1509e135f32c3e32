package apikey

import "causeway.internal/libs/shard"

// KeysLast is longer than any service keeps the answers of Idempotency-Keys, which is five days at most.
const KeysLast = "6 days"

// Moved reports whether the merchant has payments in several shards. A nil key has no merchant.
func (k *Key) Moved() bool { return k != nil && len(k.Moves) > 0 }

// Shards are those of the merchant: its home, and those to which its new payments moved since, in that order.
func (k *Key) Shards() []shard.Code { return append([]shard.Code{k.Shard.Home()}, k.Moves...) }

// Newest is the shard of the merchant's new payments.
func (k *Key) Newest() shard.Code { return k.Shards()[len(k.Moves)] }

// Earlier are the shards whose creates an answer may belong to before the newest makes a payment: all of those with
// payments, where the create has a name of the merchant's own, else those that may still know its Idempotency-Key.
func (k *Key) Earlier(named, keyed bool) []shard.Code {
	earlier := k.Shards()[:len(k.Moves)]
	switch {
	case named:
		return earlier
	case keyed:
		return earlier[len(k.Moves)-k.Recent:]
	}
	return nil
}
