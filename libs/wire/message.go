package wire

import (
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// AllocateAddresses asks wallets for fresh addresses. The request id makes it idempotent: the same id is answered with
// the same addresses.
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

// AddressesAllocated hands over addresses that wallets has committed and watches already (watch before pay).
type AddressesAllocated struct {
	RequestID string       `json:"requestId"`
	Mode      tenant.Mode  `json:"mode"`
	Family    money.Family `json:"family"`
	Part      int          `json:"part"`  // 1..Parts
	Parts     int          `json:"parts"` // answers that this request has in all
	Addresses []Address    `json:"addresses"`
}

// Address is one deposit address with the wallet that owns it.
type Address struct {
	WalletID string `json:"walletId"`
	Address  string `json:"address"`
}

// DepositState is how far a transfer has come.
type DepositState string

// The states of a deposit.
const (
	Seen      DepositState = "seen"
	Confirmed DepositState = "confirmed" // deep enough for the smallest tier of its network and asset; payments decides
	Reverted  DepositState = "reverted"  // dropped, replaced or reorged away
)

// DepositChanged is a full snapshot of one transfer to one of our addresses. Key names it for ever: network,
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
	BlockHeight int64        `json:"blockHeight"` // 0 while no block holds it: a node's mempool does
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

// Witness is what endpoints of other hosts say about a deposit in its block.
type Witness string

// The answers.
const (
	WitnessPending      Witness = "pending"      // not asked yet, or no answer
	WitnessConfirmed    Witness = "confirmed"    // two hosts have the block with the transfer
	WitnessContradicted Witness = "contradicted" // a host has the height without the transfer, and no two have it
	WitnessAlone        Witness = "alone"        // one host serves the network
)

// ScannedThrough says that every block of a network up to Height has been scanned; payments derives confirmations and
// expiry from it, and takes new payments on a network only while its scan follows the chain. It says how many
// DepositChanged were written before it, because it may overtake them: what the blocks hold is known to a reader that
// has had as many (docs/decisions/0006-scan-order.md).
type ScannedThrough struct {
	Mode      tenant.Mode `json:"mode"`
	Network   string      `json:"network"`
	Height    int64       `json:"height"`
	Finalized int64       `json:"finalized"`
	BlockTime time.Time   `json:"blockTime"`
	Deposits  int64       `json:"deposits,omitempty"` // Number of the last DepositChanged before this message, 0 before the first

	// The health of the scan. The message is sent at least every few seconds, so that its silence says something too.
	State    ScanState `json:"state,omitempty"`   // "" from a version of wallets that does not say
	Head     int64     `json:"head,omitempty"`    // newest block that the node has told
	HeadTime time.Time `json:"headTime,omitzero"` // time of that block
	ToldAt   time.Time `json:"toldAt,omitzero"`   // by the clock of wallets' database: of two messages the later one counts

	Untraced bool `json:"untraced,omitempty"` // coin that contracts send on this network is not seen by itself
}

// ScanState is how the scan of a network fares. Payments takes no new payments on a network whose scan does not follow.
type ScanState string

// The states of a scan.
const (
	ScanFollowing   ScanState = "following"
	ScanBehind      ScanState = "behind"      // trails the head by more than the configured time
	ScanStalled     ScanState = "stalled"     // the head is older than the chain ever pauses
	ScanUnreachable ScanState = "unreachable" // no endpoint tells the head
	ScanHalted      ScanState = "halted"      // a reorganisation too deep to follow: an operator decides
	ScanMismatched  ScanState = "mismatched"  // a setting of the network is not that of the addresses that were issued
)

// OutgoingKind is what a transaction that leaves us is for.
type OutgoingKind string

// The kinds of outgoing transactions.
const (
	OutgoingSweep OutgoingKind = "sweep" // moves money of a deposit address to the treasury
	OutgoingFund  OutgoingKind = "fund"  // brings coins of ours to a deposit address, to pay for its sweep
)

// OutgoingFinal is a transaction of ours about an address whose books payments keeps, in a block that is final: nothing
// undoes it. Amount is what it brought to the treasury: "0" for a funding, and for one that moved nothing and was paid
// for all the same. Fee is what the network took, in its own coin: from the deposit address where that coin is swept,
// else from coins of ours.
type OutgoingFinal struct {
	Mode    tenant.Mode  `json:"mode"`
	Network string       `json:"network"`
	TxHash  string       `json:"txHash"`
	Kind    OutgoingKind `json:"kind"`
	Asset   string       `json:"asset"`  // symbol of what is swept
	Amount  string       `json:"amount"` // base units of the asset, decimal digits
	Fee     string       `json:"fee"`    // base units of the network's own coin, decimal digits
}

// AddressesOwned names addresses of this system that payments does not hand out itself: those of standalone wallets,
// treasuries and gas stations. Payments refuses them as refund addresses. An address that was named stays; it may be
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
}

// AddressesUsed says in whose story each address plays: the trace of the request that gave it to a payment. Wallets
// goes on in that trace when money arrives there. Only addresses whose payment's trace is recorded are told, and
// nothing depends on it but traces.
type AddressesUsed struct {
	Addresses []UsedAddress `json:"addresses"` // 1..AddressesMax
}

// UsedAddress is an address that a payment carries.
type UsedAddress struct {
	Mode    tenant.Mode  `json:"mode"`
	Family  money.Family `json:"family"`
	Address string       `json:"address"`
	Trace   string       `json:"trace"` // W3C trace parent
}

// LookAtTransaction names a transaction that may have paid an address with coin that a contract sent, which the scan of
// an EVM network without traces does not see. Wallets looks at what that one transaction did to the address; what it
// finds is told as any other deposit. The same transaction and address may be named any number of times.
type LookAtTransaction struct {
	Mode    tenant.Mode `json:"mode"`
	Network string      `json:"network"`
	Address string      `json:"address"`
	Asset   string      `json:"asset"` // symbol of the network's own coin
	TxHash  string      `json:"txHash"`
}

// StatusChanged is one event for a merchant. Body is the exact webhook body: it is stored, signed and sent byte for
// byte. Sequence counts the events of the object: 1, 2, 3 without gaps.
//
// Where the producer has EVENT_KEYS, Body is sealed under libs/keyring with the first of them, at the place
// BodyPlace(EventID), so that no outbox, broker, table or dead queue names a person or holds a reference: the
// dispatcher keeps it as it came and opens it to show or send it. JSON is a body in the clear, and a sealed one is no
// JSON.
//
// Token is the settlementToken of docs/api-contract.md#webhooks under libs/keyring, so that no outbox, broker, table or
// dead queue holds it in the clear: sealed by payments with the first key of SETTLEMENT_TOKEN_KEYS, which payments and
// callback-dispatcher share and nobody else has, at the place TokenPlace(EventID). Body then holds TokenMask instead of
// it, before any text that a merchant chose: the dispatcher opens the token and puts it in the place of the first
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

// TokenMask is what a body holds where the settlementToken belongs.
const TokenMask = `"settlementToken":"***"`

// BodyPlace is where the sealed body of an event opens; it opens nowhere else.
func BodyPlace(eventID string) string { return "event-body/" + eventID }

// TokenPlace is where the sealed token of an event opens; it opens nowhere else.
func TokenPlace(eventID string) string { return "settlement-token/" + eventID }

// FraudSignal says how many distinct merchants have a resolved fraud report against an address, in all; payments keeps
// the newest Version of each mode and address. Address is in the form in which addresses are compared: 0x… in lower
// case, any other exactly as it was reported.
type FraudSignal struct {
	Mode       tenant.Mode `json:"mode"`
	Address    string      `json:"address"`
	Merchants  int64       `json:"merchants"`
	Reports    int64       `json:"reports"` // resolved fraud reports of all of them
	Version    int64       `json:"version"` // 1, 2, 3 for each mode and address
	OccurredAt time.Time   `json:"occurredAt"`
	// Confirmed says whether an operator stands behind the reports: only then do they block payments. Null, from a release
	// that knows no confirmations, changes nothing.
	Confirmed *bool `json:"confirmed,omitempty"`
}
