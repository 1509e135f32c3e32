package wire

import (
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
)

// AllocateAddresses asks wallets for fresh addresses. The request id makes it idempotent: the same id gets the same
// addresses.
type AllocateAddresses struct {
	RequestID string       `json:"requestId"`
	Mode      tenant.Mode  `json:"mode"`
	Family    money.Family `json:"family"`
	Count     int          `json:"count"` // 1..AllocateMax
}

// AllocateMax bounds one allocation request; AddressesMax bounds one answer, so a request may have several answers.
const (
	AllocateMax  = 20_000
	AddressesMax = 500
)

// AddressesAllocated passes addresses that wallets has committed and watches already (watch before pay).
type AddressesAllocated struct {
	RequestID string       `json:"requestId"`
	Mode      tenant.Mode  `json:"mode"`
	Family    money.Family `json:"family"`
	Part      int          `json:"part"`  // 1..Parts
	Parts     int          `json:"parts"` // number of answers to this request
	Addresses []Address    `json:"addresses"`
}

// Address is one deposit address with the wallet that owns it.
type Address struct {
	WalletID string `json:"walletId"`
	Address  string `json:"address"`
}

// DepositState is the progress of a transfer.
type DepositState string

// The states of a deposit.
const (
	Seen      DepositState = "seen"
	Confirmed DepositState = "confirmed" // deep enough for the smallest tier of its network and asset; payments decides
	Reverted  DepositState = "reverted"  // dropped, replaced or reorged away
)

// DepositChanged is a full snapshot of one transfer to one deposit address. Key identifies it for ever: network,
// transaction and the ordinal of the transfer inside the transaction, which survives a re-inclusion. A snapshot with a
// larger Version replaces an older one; an equal or smaller one is stale.
type DepositChanged struct {
	Key         string       `json:"key"`
	Version     int64        `json:"version"`
	Mode        tenant.Mode  `json:"mode"`
	Family      money.Family `json:"family"`
	Network     string       `json:"network"`
	Address     string       `json:"address"`
	Asset       string       `json:"asset"`              // symbol of a listed asset
	Contract    string       `json:"contract,omitempty"` // token contract, "" for the native coin
	TxHash      string       `json:"txHash"`
	State       DepositState `json:"state"`
	BlockHeight int64        `json:"blockHeight"` // 0 while it is only in a node's mempool
	BlockHash   string       `json:"blockHash"`
	BlockTime   time.Time    `json:"blockTime"` // zero while no block holds it
	Amount      string       `json:"amount"`    // base units, decimal digits
	Depth       int64        `json:"depth"`     // confirmations at Head: Head-BlockHeight+1
	Head        int64        `json:"head"`
	Finalized   bool         `json:"finalized"` // at or below the network's finalized block
	FirstSeenAt time.Time    `json:"firstSeenAt"`
	Senders     []string     `json:"senders"`
	Number      int64        `json:"number,omitempty"`  // counts these messages of one mode and network: 1, 2, 3 without gaps
	Witness     Witness      `json:"witness,omitempty"` // what endpoints of other hosts say; "" of a wallets that asks nobody
}

// Witness is the answer of other hosts' endpoints about a deposit in its block.
type Witness string

// The answers.
const (
	WitnessPending      Witness = "pending"      // not asked yet, or no answer
	WitnessConfirmed    Witness = "confirmed"    // two hosts have the block with the transfer
	WitnessContradicted Witness = "contradicted" // a host has the height without the transfer, and no two have it
	WitnessAlone        Witness = "alone"        // one host serves the network
)

// ScannedThrough says that every block of a network up to Height has been scanned. Payments derives confirmations and
// expiry from it, and takes new payments on a network only while its scan follows the chain. Deposits is the number of
// DepositChanged before it, because it may overtake them: a reader that has that many knows the content of the blocks
// (docs/decisions/0006-scan-order.md).
type ScannedThrough struct {
	Mode      tenant.Mode `json:"mode"`
	Network   string      `json:"network"`
	Height    int64       `json:"height"`
	Finalized int64       `json:"finalized"`
	BlockTime time.Time   `json:"blockTime"`
	Deposits  int64       `json:"deposits,omitempty"` // Number of the last DepositChanged before this message, 0 before the first

	// The health of the scan. The message is sent at least every few seconds, so that its absence is a sign too.
	State    ScanState `json:"state,omitempty"`   // "" from a version of wallets that does not say
	Head     int64     `json:"head,omitempty"`    // newest block that the node reported
	HeadTime time.Time `json:"headTime,omitzero"` // time of that block
	ToldAt   time.Time `json:"toldAt,omitzero"`   // by the clock of wallets' database: the later of two messages counts

	Untraced bool `json:"untraced,omitempty"` // the scan does not see coin that contracts send on this network
}

// ScanState is the health of a network's scan. Payments takes no new payments on a network whose scan does not follow.
type ScanState string

// The states of a scan.
const (
	ScanFollowing   ScanState = "following"
	ScanBehind      ScanState = "behind"      // trails the head by more than the configured time
	ScanStalled     ScanState = "stalled"     // the head is older than the chain's longest pause
	ScanUnreachable ScanState = "unreachable" // no endpoint reports the head
	ScanHalted      ScanState = "halted"      // a reorganisation too deep to follow: an operator decides
	ScanMismatched  ScanState = "mismatched"  // a setting of the network contradicts that of the issued addresses
)

// OutgoingKind is the purpose of an outgoing transaction.
type OutgoingKind string

// The kinds of outgoing transactions.
const (
	OutgoingSweep OutgoingKind = "sweep" // moves money of a deposit address to the treasury
	OutgoingFund  OutgoingKind = "fund"  // brings coin to a deposit address, to pay for its sweep
)

// OutgoingFinal is an outgoing transaction for a deposit address of a payment, in a final block, which nothing undoes.
// Amount is what it brought to the treasury: "0" for a funding, and for one that moved nothing but was paid for. Fee is
// the network's fee, in its own coin: from the deposit address where that coin is swept, else from a station's coin, as
// always on solana. Returned is the rent of closed token accounts that came back to a station; empty for none.
type OutgoingFinal struct {
	Mode    tenant.Mode  `json:"mode"`
	Network string       `json:"network"`
	TxHash  string       `json:"txHash"`
	Kind    OutgoingKind `json:"kind"`
	Asset   string       `json:"asset"`  // symbol of the swept asset
	Amount  string       `json:"amount"` // base units of the asset, decimal digits
	Fee     string       `json:"fee"`    // base units of the network's own coin, decimal digits
	// Returned is in base units of the network's own coin.
	Returned string `json:"returned,omitempty"`
	// Part is set for a transaction of another party, which may have swept several addresses: each has a message.
	Part string `json:"part,omitempty"`
}

// HoldingsRead is what the chain of a network has at the addresses of this system after one block. A message with a
// later ReadAt replaces an older one, so each has all assets of its network.
type HoldingsRead struct {
	Mode     tenant.Mode `json:"mode"`
	Network  string      `json:"network"`
	ReadAt   time.Time   `json:"readAt"` // by the clock of wallets' database
	Holdings []Holding   `json:"holdings"`
}

// Holding is the balances of one asset in its base units. An empty one was not read. Expected is what all places have
// together by the transactions that wallets knows in blocks up to that one; movements outside of this system are not in
// it. Deposits are the books' balance of deposit addresses, less what the chain lacks there: a great loss makes them
// negative. Standalone is the part of it that belongs to standalone wallets.
type Holding struct {
	Asset         string `json:"asset"` // symbol
	Deposits      string `json:"deposits,omitempty"`
	GasStation    string `json:"gasStation,omitempty"`
	RefundStation string `json:"refundStation,omitempty"`
	Treasury      string `json:"treasury,omitempty"`
	Expected      string `json:"expected"` // may be negative
	Standalone    string `json:"standalone"`
	Unread        int64  `json:"unread,omitempty"` // deposit addresses with money whose balance is not in Deposits
}

// AddressesOwned names addresses of this system that payments does not issue itself: those of standalone wallets,
// treasuries, stations and nonce accounts. Payments refuses them as refund addresses. A named address stays; it may be
// named again.
type AddressesOwned struct {
	Addresses []OwnedAddress `json:"addresses"` // 1..AddressesMax
}

// OwnedAddress is an address whose keys this system holds, or that it sweeps to.
type OwnedAddress struct {
	Mode    tenant.Mode  `json:"mode"`
	Family  money.Family `json:"family"`
	Address string       `json:"address"`
}

// SimulateDeposit asks the simulated chain for a transfer, in test mode only.
type SimulateDeposit struct {
	RequestID     string `json:"requestId"`
	Address       string `json:"address"`
	Network       string `json:"network"`
	Asset         string `json:"asset"`
	Amount        string `json:"amount"` // base units, decimal digits
	Confirmations int64  `json:"confirmations"`
	Sender        string `json:"sender,omitempty"`      // "" for one that nobody knows
	LeavesAfter   int64  `json:"leavesAfter,omitempty"` // confirmations after which its block leaves the chain; 0 for never
	Returns       bool   `json:"returns,omitempty"`     // a later block holds it again
}

// AddressesUsed names the trace of each address: that of the request that gave it to a payment. Wallets continues that
// trace when money arrives there. It lists only addresses with a recorded trace, and nothing but traces depends on it.
type AddressesUsed struct {
	Addresses []UsedAddress `json:"addresses"` // 1..AddressesMax
}

// UsedAddress is an address of a payment.
type UsedAddress struct {
	Mode    tenant.Mode  `json:"mode"`
	Family  money.Family `json:"family"`
	Address string       `json:"address"`
	Trace   string       `json:"trace"` // W3C trace parent
}

// LookAtTransaction names a transaction that may have paid an address with coin that a contract sent, which the scan of
// an EVM network without traces does not see. Wallets inspects the effect of that one transaction on the address and
// reports it like any other deposit. The same transaction and address may be named any number of times.
type LookAtTransaction struct {
	Mode    tenant.Mode `json:"mode"`
	Network string      `json:"network"`
	Address string      `json:"address"`
	Asset   string      `json:"asset"` // symbol of the network's own coin
	TxHash  string      `json:"txHash"`
}

// RefundApproved orders a refund or a withdrawal, which wallets carries out once for each id. It may come any number of
// times; another order under the same id is refused. The signatures are those of the order's approval, for which
// wallets has no key.
type RefundApproved struct {
	order.Approved
	// Currency is that of the payment. Pauses name it; without it, a pause of any currency holds the refund.
	Currency money.Currency `json:"currency,omitempty"`
	// MerchantID and Charge are those of a withdrawal alone: whose wallets pay for it, and the fee that they pay besides
	// the amount, in base units of the asset.
	MerchantID string `json:"merchantId,omitempty"`
	Charge     string `json:"charge,omitempty"`
	// Cancelled says that payments has cancelled the refund since and got no answer. A wallets that has lost both
	// messages in a restore keeps the order and lets a person decide.
	Cancelled bool `json:"cancelled,omitempty"`
	// PaidBy is the transaction of a withdrawal that is confirmed. A wallets that has lost it in a restore takes it out of
	// the balance, and pays nothing.
	PaidBy string `json:"paidBy,omitempty"`
}

// RefundsPaused is the list of the pauses of refunds. One with a larger Version replaces an older one; an equal or
// smaller one is stale. Wallets asks for no signature while a refund is paused. The list is repeated, so that one that
// was lost does no lasting harm.
type RefundsPaused struct {
	Version int64         `json:"version"`
	Pauses  []RefundPause `json:"pauses"`
}

// RefundPause stops the refunds of a currency, on a network. An empty field means all.
type RefundPause struct {
	Currency money.Currency `json:"currency"`
	Network  string         `json:"network"`
}

// RefundWithdrawn says that an approved refund or withdrawal was cancelled. Wallets fails it as cancelled if nothing
// can have been signed for it, and then carries out no order under its id: the message may come before the order.
// Otherwise the refund goes on, and wallets answers RefundNotCancelled.
type RefundWithdrawn struct {
	order.Order
	WithdrawnAt time.Time `json:"withdrawnAt"`
}

// RefundState is the progress of a refund.
type RefundState string

// The states of a refund at wallets.
const (
	RefundSigning   RefundState = "signing"   // wallets has it: its transaction is planned or signed, or waits
	RefundSent      RefundState = "sent"      // a node has the newest form; also after a confirmed one left the chain
	RefundConfirmed RefundState = "confirmed" // in a final block, with its effect
	RefundFailed    RefundState = "failed"    // it can never land
)

// RefundChanged is a full snapshot of a refund or withdrawal at wallets; the prefix of the id says which. One with a
// larger Version replaces an older one; an equal or smaller one is stale. The answer to a cancellation that came too
// late repeats the state.
type RefundChanged struct {
	RefundID string      `json:"refundId"`
	Version  int64       `json:"version"` // 1, 2, 3 for each refund
	Mode     tenant.Mode `json:"mode"`
	Network  string      `json:"network"`
	State    RefundState `json:"state"`
	TxHash   string      `json:"txHash,omitempty"` // of the newest form that a node has, or of the one in a block
	Amount   string      `json:"amount"`           // base units of the asset, as ordered
	// Fee is in base units of the network's own coin, "0" until the refund is confirmed or has failed in a block.
	Fee        string    `json:"fee"`
	Reason     string    `json:"reason,omitempty"` // a stable code, of a failed one or of an answer
	OccurredAt time.Time `json:"occurredAt"`
}

// The reasons of failed refunds.
const (
	RefundReverted = "reverted" // its transaction is in a final block and moved nothing
	RefundReplaced = "replaced" // of earlier releases: another transaction has used its nonce
	RefundGivenUp  = "given_up" // an operator ended it: nothing was ever signed, or nothing that was can land

	RefundCancelled = "cancelled" // an operator cancelled it, and nothing was ever signed

	// Wallets or the signer refused the order, before anything was signed for it.
	RefundBalance            = "insufficient_balance" // of a withdrawal: the wallets of the merchant hold less
	RefundOrderInvalid       = "order_invalid"        // no transaction can carry it out
	RefundOrderChanged       = "order_changed"        // another order came under the same id
	RefundOrderRefused       = "order_refused"        // the signer does not accept its approval
	RefundDestinationOwned   = "destination_owned"    // the destination belongs to this system
	RefundDestinationRefused = "destination_refused"  // the signer or the network does not send there
	RefundAssetRefused       = "asset_refused"        // the signer does not refund the asset on the network
)

// RefundNotCancelled is the reason of an answer: a transaction of the refund may land, so it goes on.
const RefundNotCancelled = "not_cancelled"

// FindTransfer asks which amounts a transaction brought to an address: that of a refund which an operator sent from
// elsewhere. Wallets keeps nothing of it and answers each request once.
type FindTransfer struct {
	RequestID string      `json:"requestId"`
	Mode      tenant.Mode `json:"mode"`
	Network   string      `json:"network"`
	Address   string      `json:"address"`
	TxHash    string      `json:"txHash"`
	// Owed is for the simulated chains alone, which hold such a transaction (docs/api-contract.md#sandbox).
	Owed []Sum `json:"owed,omitempty"`
}

// Sum is an amount of one asset.
type Sum struct {
	Asset  string `json:"asset"`  // symbol
	Amount string `json:"amount"` // base units, decimal digits
}

// TransferFound answers FindTransfer. Sums are those of a found transaction, in any order; a failed one has none.
type TransferFound struct {
	RequestID   string        `json:"requestId"`
	Mode        tenant.Mode   `json:"mode"`
	Network     string        `json:"network"`
	Address     string        `json:"address"`
	TxHash      string        `json:"txHash"`
	State       TransferState `json:"state"`
	Sums        []Sum         `json:"sums,omitempty"`
	BlockHeight int64         `json:"blockHeight,omitempty"`
	BlockTime   time.Time     `json:"blockTime,omitzero"`
}

// TransferState is the answer of a chain about a transaction.
type TransferState string

// The answers.
const (
	TransferFinal    TransferState = "final"     // in a final block
	TransferNotFinal TransferState = "not_final" // in a block that may leave the chain
	TransferMissing  TransferState = "missing"   // in no block
	TransferUnknown  TransferState = "unknown"   // the chain does not answer, or two of its nodes differ
)

// StatusChanged is one event for a merchant. Body is the exact webhook body: it is stored, signed and sent byte for
// byte. Sequence counts the events of the object: 1, 2, 3 without gaps.
//
// Where the producer has EVENT_KEYS, Body is sealed under libs/keyring with the first of them, at the place
// BodyPlace(EventID), so that no outbox, broker, table or dead queue names a person or holds a reference: the
// dispatcher stores it sealed and opens it to show or send it. JSON is a body in the clear; a sealed one is no JSON.
//
// Token is the settlementToken of docs/api-contract.md#webhooks under libs/keyring, so that no outbox, broker, table or
// dead queue holds it in the clear. Payments seals it at the place TokenPlace(EventID) with the first key of
// SETTLEMENT_TOKEN_KEYS, which payments and callback-dispatcher share and no other service has. Body then holds
// TokenMask instead, before any text that a merchant chose: the dispatcher opens the token and replaces the first
// TokenMask just before it signs. Events, deliveries and logs show the mask.
type StatusChanged struct {
	EventID     string      `json:"eventId"`
	Type        string      `json:"type"`
	MerchantID  string      `json:"merchantId"`
	Mode        tenant.Mode `json:"mode"`
	ObjectID    string      `json:"objectId"` // pay_…, wal_… or the report's id; orders its events
	Sequence    int64       `json:"sequence"`
	CallbackURL string      `json:"callbackUrl,omitempty"`
	OccurredAt  time.Time   `json:"occurredAt"`
	Body        []byte      `json:"body"`
	Token       []byte      `json:"settlementToken,omitempty"`
}

// Stored is a consumer's answer to a producer: it has handled these messages, or keeps them with the reason why it
// cannot. The producer then deletes them from its outbox; the broker's confirm does not suffice
// (docs/architecture.md#outbox).
type Stored struct {
	Messages []StoredMessage `json:"messages"`
}

// StoredMessage is a message of a producer's outbox. After a restore a row may be that of another message, so both must
// agree.
type StoredMessage struct {
	Row int64  `json:"row"`
	ID  string `json:"id"`
}

// StoredMax is how many messages an answer names at most.
const StoredMax = 500

// RowHeader is the header with the row of the outbox from which a message comes.
const RowHeader = "x-causeway-row"

// TokenMask replaces the settlementToken in a body.
const TokenMask = `"settlementToken":"***"`

// BodyPlace binds the sealed body of an event to it.
func BodyPlace(eventID string) string { return "event-body/" + eventID }

// TokenPlace binds the sealed token of an event to it.
func TokenPlace(eventID string) string { return "settlement-token/" + eventID }

// FraudSignal says how many distinct merchants have a resolved fraud report against an address, in all; payments keeps
// the newest Version of each mode and address. Address is in the form of comparison: 0x… in lower case, any other
// exactly as reported.
type FraudSignal struct {
	Mode       tenant.Mode `json:"mode"`
	Address    string      `json:"address"`
	Merchants  int64       `json:"merchants"`
	Reports    int64       `json:"reports"` // resolved fraud reports of all of them
	Version    int64       `json:"version"` // 1, 2, 3 for each mode and address
	OccurredAt time.Time   `json:"occurredAt"`
	// Confirmed says whether an operator has confirmed the reports: only then do they block payments. Null, from a
	// release without confirmations, changes nothing.
	Confirmed *bool `json:"confirmed,omitempty"`
}
