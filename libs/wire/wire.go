// Package wire holds the shape of every message that crosses RabbitMQ and the one table of exchanges and queues
// (docs/architecture.md#messages). Both sides of a message import it; it imports values alone and has no behaviour.
package wire

import "slices"

// Name is a message's routing key: <owner>.<message>.v<version>.
type Name string

// The messages of docs/architecture.md#messages.
const (
	AllocateAddressesV1    Name = "wallets.allocate_addresses.v1"
	AddressesAllocatedV1   Name = "wallets.addresses_allocated.v1"
	DepositChangedV1       Name = "wallets.deposit_changed.v1"
	ScannedThroughV1       Name = "wallets.scanned_through.v1"
	OutgoingFinalV1        Name = "wallets.outgoing_final.v1"
	AddressesOwnedV1       Name = "wallets.addresses_owned.v1"
	SimulateDepositV1      Name = "payments.simulate_deposit.v1"
	AddressesUsedV1        Name = "payments.addresses_used.v1"
	LookAtTransactionV1    Name = "payments.look_at_transaction.v1"
	RefundApprovedV1       Name = "payments.refund_approved.v1"
	RefundWithdrawnV1      Name = "payments.refund_withdrawn.v1"
	RefundsPausedV1        Name = "payments.refunds_paused.v1"
	RefundChangedV1        Name = "wallets.refund_changed.v1"
	FindTransferV1         Name = "payments.find_transfer.v1"
	TransferFoundV1        Name = "wallets.transfer_found.v1"
	HoldingsReadV1         Name = "wallets.holdings_read.v1"
	PaymentStatusChangedV1 Name = "payments.status_changed.v1"
	WalletStatusChangedV1  Name = "wallets.status_changed.v1"
	ReportStatusChangedV1  Name = "reports.status_changed.v1"
	FraudSignalV1          Name = "reports.fraud_signal.v1"
)

// The services that talk over the broker; each producer owns one exchange of its name.
const (
	Payments   = "payments"
	Wallets    = "wallets"
	Reports    = "reports"
	Dispatcher = "callback-dispatcher"
)

// Unrouted is the alternate exchange, and the queue behind it, for messages that no binding takes.
const Unrouted = "unrouted"

// Route is one line of the topology: the producer of a message and the queue of the one service that reads it.
type Route struct {
	Name     Name
	Exchange string // topic exchange of the producer
	Consumer string
	Queue    string
	Packed   bool // messages that wait together may travel together (libs/bus)
	Stored   Name // by which the consumer answers that it has handled a message (docs/architecture.md#outbox)
	Answer   bool // it carries such answers, which have none themselves
}

// DeadQueue is the queue for the dead messages of a queue.
func DeadQueue(queue string) string { return queue + ".dead" }

// IntakeQueue is the dispatcher's one queue for all three status messages.
const IntakeQueue = Dispatcher + ".status_changed.v1"

func route(name Name, from, to string) Route {
	return Route{Name: name, Exchange: from, Consumer: to, Queue: to + "." + string(name)}
}

func intake(name Name, from string) Route {
	return packed(Route{Name: name, Exchange: from, Consumer: Dispatcher, Queue: IntakeQueue})
}

func packed(r Route) Route {
	r.Packed = true
	return r
}

// Topology is the whole table. An administrator declares it (Declare); a service that uses a line waits until its queue
// exists, so that no message is published before.
func Topology() []Route {
	return answered([]Route{
		route(AllocateAddressesV1, Payments, Wallets),
		route(AddressesAllocatedV1, Wallets, Payments),
		packed(route(DepositChangedV1, Wallets, Payments)),
		route(ScannedThroughV1, Wallets, Payments),
		packed(route(OutgoingFinalV1, Wallets, Payments)),
		route(AddressesOwnedV1, Wallets, Payments),
		packed(route(SimulateDepositV1, Payments, Wallets)),
		route(AddressesUsedV1, Payments, Wallets),
		route(LookAtTransactionV1, Payments, Wallets),
		route(RefundApprovedV1, Payments, Wallets),
		route(RefundWithdrawnV1, Payments, Wallets),
		route(RefundsPausedV1, Payments, Wallets),
		route(RefundChangedV1, Wallets, Payments),
		route(FindTransferV1, Payments, Wallets),
		route(TransferFoundV1, Wallets, Payments),
		route(HoldingsReadV1, Wallets, Payments),
		route(FraudSignalV1, Reports, Payments),
		intake(PaymentStatusChangedV1, Payments),
		intake(WalletStatusChangedV1, Wallets),
		intake(ReportStatusChangedV1, Reports),
	})
}

// answered adds a line of answers for each pair of a consumer and a producer.
func answered(lines []Route) []Route {
	for n := range len(lines) {
		line := &lines[n]
		line.Stored = StoredBy(line.Consumer, line.Exchange)
		if !slices.ContainsFunc(lines, func(other Route) bool { return other.Name == line.Stored }) {
			back := route(line.Stored, line.Consumer, line.Exchange)
			back.Answer = true
			lines = append(lines, back)
		}
	}
	return lines
}

// StoredBy is the name of the answers of a consumer to a producer (Stored).
func StoredBy(consumer, producer string) Name {
	return Name(consumer + ".stored_of_" + producer + ".v1")
}
