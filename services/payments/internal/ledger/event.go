package ledger

import (
	"strconv"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// The events of docs/architecture.md#ledger. Each is written under a unique key. Where an event may repeat for the same
// object, such as a deposit that is reorged away and mined again, the key contains a count.
const (
	EventDeposit       = "deposit_confirmed"
	EventDepositGone   = "deposit_reverted"
	EventReleased      = "suspense_released"
	EventAbsorbed      = "loss_absorbed"
	EventConverted     = "converted"
	EventUnconverted   = "conversion_reversed"
	EventPayoutHeld    = "payout_held"
	EventPayoutVoided  = "payout_voided"
	EventPayoutDone    = "payout_succeeded"
	EventPayoutBack    = "payout_returned"
	EventSettledByUser = "settled_by_caller"
	EventMerchantPaid  = "merchant_paid"
	EventMerchantBack  = "merchant_unpaid"
	EventWithdrawn     = "withdrawal_taken"
	EventWithdrawnBack = "withdrawal_given_back"
	EventRefunded      = "refunded"
	EventRefundHeld    = "refund_held"
	EventRefundBack    = "refund_given_back"
	EventRefundSent    = "refund_confirmed"
	EventRefundUndone  = "refund_reversed"
	EventUnclaimed     = "unclaimed_booked"
	EventUnclaimedBack = "unclaimed_returned"
	EventSwept         = "swept"
	EventGasSpent      = "gas_spent"
	EventTraderSold    = "desk_sold"
	EventFloatToppedUp = "float_topped_up"
	EventSpreadClosed  = "spread_closed"
	EventGasBooked     = "gas_booked"
	EventCapital       = "capital_moved"
)

// ByHand lists the events with which operators book what left or reached the treasury and stations outside of this
// system, so that wallets reports none of it.
func ByHand() []string {
	return []string{EventTraderSold, EventRefunded, EventGasBooked, EventCapital}
}

func count(prefix, key string, n int) string { return prefix + ":" + key + "#" + strconv.Itoa(n) }

// Deposit is one transfer that became deep enough. N counts its bookings: 1, then 2 after it was reorged away and mined
// again.
type Deposit struct {
	Payment string
	Key     string // network, transaction and ordinal
	N       int
	Network string
	Asset   string
	Amount  decimal.Decimal
	To      Account         // Customer of the payment, or Suspense
	Gone    decimal.Decimal // part of Amount that a refund has taken from To: a reversal finds it in suspense
}

// Confirmed books the transfer: the deposit address holds it, and Causeway owes it.
func (d Deposit) Confirmed() Journal {
	j := Journal{Key: count("dep", d.Key, d.N), Event: EventDeposit, Payment: d.Payment}
	j.move(CryptoDeposit(d.Network, d.Asset), d.To, d.Amount)
	return j
}

// Reverted reverses the booking after a reorg. A part that a refund has taken is a loss, which suspense holds.
func (d Deposit) Reverted() Journal {
	j := Journal{Key: count("undep", d.Key, d.N), Event: EventDepositGone, Payment: d.Payment}
	j.move(d.To, CryptoDeposit(d.Network, d.Asset), d.Amount.Sub(d.Gone))
	j.move(Suspense(d.Asset), CryptoDeposit(d.Network, d.Asset), d.Gone)
	return j
}

// Released moves a transfer from suspense to the payment when an operator accepts it.
func (d Deposit) Released() Journal {
	j := Journal{Key: count("rel", d.Key, d.N), Event: EventReleased, Payment: d.Payment}
	j.move(Suspense(d.Asset), Customer(d.Payment, d.Asset), d.Amount)
	return j
}

// Conversion is the exchange of a payer's crypto into fiat at the locked rate: Payout for the receiver and Fee for
// Causeway.
type Conversion struct {
	Payment     string
	N           int // 1, then 2 after a reorg undid the first
	Asset       string
	Crypto      decimal.Decimal
	Currency    money.Currency
	Payout, Fee decimal.Decimal
}

// Converted books the conversion. The fiat leg is payout plus fee exactly.
func (c Conversion) Converted() Journal {
	j := Journal{Key: count("conv", c.Payment, c.N), Event: EventConverted, Payment: c.Payment}
	j.move(Customer(c.Payment, c.Asset), Position(c.Asset), c.Crypto)
	j.move(Position(string(c.Currency)), Payable(c.Payment, c.Currency), c.Payout)
	j.move(Position(string(c.Currency)), Fees(c.Currency), c.Fee)
	return j
}

// Unconverted reverses it at the same locked rate.
func (c Conversion) Unconverted() Journal {
	return c.Converted().reversed(count("unconv", c.Payment, c.N), EventUnconverted)
}

// Payout is money for a receiver over a rail. N counts the reservations of this reference.
type Payout struct {
	Payment   string
	Reference string // of the payout: names the attempt
	N         int
	Rail      string
	Currency  money.Currency
	Amount    decimal.Decimal
	Residue   decimal.Decimal // also owed to the receiver, and too small for the rail
}

func (p Payout) payable() Account  { return Payable(p.Payment, p.Currency) }
func (p Payout) clearing() Account { return PayoutClearing(p.Rail, p.Currency) }

// Held reserves the payout in the transaction that creates its row.
func (p Payout) Held() Journal {
	j := Journal{Key: count("hold", p.Reference, p.N), Event: EventPayoutHeld, Payment: p.Payment}
	j.move(p.payable(), p.clearing(), p.Amount)
	return j
}

// Voided reverses the reservation: the payout failed for good, or was withdrawn before it left.
func (p Payout) Voided() Journal {
	return p.Held().reversed(count("void", p.Reference, p.N), EventPayoutVoided)
}

// Succeeded books the payout and the rail's fee against the float.
func (p Payout) Succeeded(fee decimal.Decimal) Journal {
	j := Journal{Key: "done:" + p.Reference, Event: EventPayoutDone, Payment: p.Payment}
	j.move(p.clearing(), FiatFloat(p.Rail, p.Currency), p.Amount)
	j.move(ProviderFees(p.Currency), FiatFloat(p.Rail, p.Currency), fee)
	j.move(p.payable(), Rounding(p.Currency), p.Residue)
	return j
}

// Returned books money that came back after a success. The fee stays spent unless the rail returns it.
func (p Payout) Returned() Journal {
	j := Journal{Key: "rev:" + p.Reference, Event: EventPayoutBack, Payment: p.Payment}
	j.move(FiatFloat(p.Rail, p.Currency), p.payable(), p.Amount)
	j.move(Rounding(p.Currency), p.payable(), p.Residue)
	return j
}

// Settled moves the debt to the receiver into a debt to the merchant, who has paid the receiver or is itself the one
// that is owed.
func Settled(payment, merchant string, cur money.Currency, amount decimal.Decimal) Journal {
	j := Journal{Key: "self:" + payment, Event: EventSettledByUser, Payment: payment}
	j.move(Payable(payment, cur), Merchant(merchant, cur), amount)
	return j
}

// MerchantPaid books money that a person pays to a merchant out of its balance.
func MerchantPaid(key, merchant, rail string, cur money.Currency, amount decimal.Decimal) Journal {
	j := Journal{Key: MerchantPaidKey(key), Event: EventMerchantPaid}
	j.move(Merchant(merchant, cur), FiatFloat(rail, cur), amount)
	return j
}

// MerchantPaidKey is the key of the journal of a payment to a merchant by hand.
func MerchantPaidKey(key string) string { return "paid:" + key }

// MerchantBack puts the money of a payment by hand that did not arrive into the balance again. paid is its journal.
func MerchantBack(key string, paid Journal) Journal {
	return paid.reversed("unpaid:"+key, EventMerchantBack)
}

// Taking is money of a merchant's balance for a withdrawal. N counts the times that it was taken. A withdrawal owes it
// to the merchant's account as a payment owes its receiver.
type Taking struct {
	Withdrawal string // id
	N          int
	Merchant   string
	Currency   money.Currency
	Amount     decimal.Decimal
}

// Taken books the money out of the balance.
func (t Taking) Taken() Journal {
	j := Journal{Key: count("wtake", t.Withdrawal, t.N), Event: EventWithdrawn, Payment: t.Withdrawal}
	j.move(Merchant(t.Merchant, t.Currency), Payable(t.Withdrawal, t.Currency), t.Amount)
	return j
}

// GivenBack returns the money of a withdrawal that was not paid, or came back.
func (t Taking) GivenBack() Journal {
	return t.Taken().reversed(count("wback", t.Withdrawal, t.N), EventWithdrawnBack)
}

// Payback is a refund on a chain. N counts the times that a final block held its transaction.
type Payback struct {
	Payment string
	Refund  string // id of the refund
	N       int
	Network string
	Asset   string
	Parts   []PaybackPart
	Coin    string          // of the network
	Fee     decimal.Decimal // of the network, in its coin
}

// PaybackPart is money of a refund and the account that owed it.
type PaybackPart struct {
	From   Account // Customer or Suspense
	Amount decimal.Decimal
}

func (p Payback) clearing() Account { return RefundClearing(p.Network, p.Asset) }

// Held takes the money out of what is owed to the payer, in the transaction that creates the refund.
func (p Payback) Held() Journal {
	j := Journal{Key: "rhold:" + p.Refund, Event: EventRefundHeld, Payment: p.Payment}
	for _, part := range p.Parts {
		j.move(part.From, p.clearing(), part.Amount)
	}
	return j
}

// GivenBack returns the money of a failed refund to the accounts that owed it.
func (p Payback) GivenBack() Journal {
	return p.Held().reversed("rback:"+p.Refund, EventRefundBack)
}

// Confirmed books the refund out of the treasury, with the network's fee.
func (p Payback) Confirmed() Journal {
	j := Journal{Key: count("rdone", p.Refund, p.N), Event: EventRefundSent, Payment: p.Payment}
	for _, part := range p.Parts {
		j.move(p.clearing(), CryptoHot(p.Network, p.Asset), part.Amount)
	}
	j.move(Gas(p.Coin), CryptoHot(p.Network, p.Coin), p.Fee)
	return j
}

// Reversed reverses the confirmation after a reorg.
func (p Payback) Reversed() Journal {
	return p.Confirmed().reversed(count("rundo", p.Refund, p.N), EventRefundUndone)
}

// Lapse is money that is booked as unclaimed, from the accounts that owe it.
type Lapse struct {
	ID      string // of the booking
	Payment string // "" for a stray deposit
	Asset   string
	Parts   []LapsePart
}

// LapsePart is money of a lapse and the account that owed it.
type LapsePart struct {
	From   Account
	Amount decimal.Decimal
}

// Booked moves the money out of the accounts that owe it.
func (l Lapse) Booked() Journal {
	j := Journal{Key: "unclaim:" + l.ID, Event: EventUnclaimed, Payment: l.Payment}
	for _, part := range l.Parts {
		j.move(part.From, Unclaimed(l.Asset), part.Amount)
	}
	return j
}

// Returned moves the money back, so that it is owed as before.
func (l Lapse) Returned() Journal {
	return l.Booked().reversed("reclaim:"+l.ID, EventUnclaimedBack)
}

// Refund is crypto that was returned to the payer outside of this system.
type Refund struct {
	Payment string
	N       int
	Parts   []RefundPart
}

// RefundPart is one asset of a refund and the account that owed it.
type RefundPart struct {
	Network string
	Asset   string
	Amount  decimal.Decimal
	From    Account // Customer or Suspense
}

// Sent books the refund out of the treasury.
func (r Refund) Sent() Journal {
	j := Journal{Key: count("ref", r.Payment, r.N), Event: EventRefunded, Payment: r.Payment}
	for _, p := range r.Parts {
		j.move(p.From, CryptoHot(p.Network, p.Asset), p.Amount)
	}
	return j
}

// Swept books a sweep from deposit addresses to the treasury. amount is the sum that left them, and gas the network's
// fee in its own coin. When that coin itself is swept, amount includes the gas.
func Swept(tx, network, asset string, amount decimal.Decimal, coin string, gas decimal.Decimal) Journal {
	j := Journal{Key: "sweep:" + tx, Event: EventSwept}
	j.move(CryptoHot(network, asset), CryptoDeposit(network, asset), amount)
	j.move(Gas(coin), CryptoHot(network, coin), gas)
	return j
}

// GasBack adds to a sweep the coin that came back to a station, which lowers the cost of gas: the rent of closed token
// accounts on solana.
func (j Journal) GasBack(network, coin string, amount decimal.Decimal) Journal {
	j.move(CryptoHot(network, coin), Gas(coin), amount)
	return j
}

// GasSpent books the network's fee of a transaction that moved nothing between accounts: one that funds the gas of a
// sweep, or a refund that was sent by hand.
func GasSpent(tx, network, coin string, gas decimal.Decimal) Journal {
	j := Journal{Key: "gas:" + tx, Event: EventGasSpent}
	j.move(Gas(coin), CryptoHot(network, coin), gas)
	return j
}

// GasBooked books the network's fee of a transaction that a person sent. It has the key of GasSpent, so that a
// transaction is booked once.
func GasBooked(tx, network, coin string, gas decimal.Decimal) Journal {
	j := GasSpent(tx, network, coin, gas)
	j.Event = EventGasBooked
	return j
}

// CapitalMoved books the product's own crypto that an operator brought to the treasury or a station from elsewhere. A
// negative amount was taken out.
func CapitalMoved(key, network, asset string, amount decimal.Decimal) Journal {
	j := Journal{Key: "capital:" + key, Event: EventCapital}
	j.move(CryptoHot(network, asset), Capital(asset), amount)
	j.move(Capital(asset), CryptoHot(network, asset), amount.Neg())
	return j
}

// TraderSold books crypto that a trader sold: position and treasury decrease.
func TraderSold(key, network, asset string, amount decimal.Decimal) Journal {
	j := Journal{Key: "sold:" + key, Event: EventTraderSold}
	j.move(Position(asset), CryptoHot(network, asset), amount)
	return j
}

// FloatToppedUp books fiat that a trader transferred to a rail.
func FloatToppedUp(key, rail string, cur money.Currency, amount decimal.Decimal) Journal {
	j := Journal{Key: "float:" + key, Event: EventFloatToppedUp}
	j.move(FiatFloat(rail, cur), Position(string(cur)), amount)
	return j
}

// Absorbed moves a transfer that was converted and then lost for good out of the payment, so that the loss is in
// suspense.
func (d Deposit) Absorbed() Journal {
	j := Journal{Key: count("abs", d.Key, d.N), Event: EventAbsorbed, Payment: d.Payment}
	j.move(Customer(d.Payment, d.Asset), Suspense(d.Asset), d.Amount)
	return j
}

// SpreadClosed moves the trading profit in a currency out of the position. A loss is negative.
func SpreadClosed(key string, cur money.Currency, amount decimal.Decimal) Journal {
	j := Journal{Key: "spread:" + key, Event: EventSpreadClosed}
	j.move(Position(string(cur)), Spread(cur), amount)
	j.move(Spread(cur), Position(string(cur)), amount.Neg())
	return j
}
