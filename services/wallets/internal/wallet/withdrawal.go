package wallet

import "math/big"

// WithdrawalBooked is the event of a journal that brings the books of a withdrawal to its state.
const WithdrawalBooked CustodyEvent = "withdrawal_booked"

// The accounts of withdrawals.
const (
	AccountWithdrawals    CustodyAccount = "withdrawals"     // credit: left the balance, and waits for its transaction
	AccountWithdrawalFees CustodyAccount = "withdrawal_fees" // credit: charges of withdrawals that arrived
	AccountStation        CustodyAccount = "refund_station"  // credit: what the station has paid
)

// Withdrawal is a withdrawal as its books see it. Held, Earned and Waiting are booked already: what left the balance,
// what was earned, and what waits for the transaction.
type Withdrawal struct {
	Ended, Failed         bool // it arrived; nothing of it will
	Amount, Charge        *big.Int
	Held, Earned, Waiting *big.Int
}

// Book is the journal that brings the books to the state of the withdrawal. Each step compares the booked amounts with
// those of the state, so that a lost or doubled step cannot add up. The journal of its transaction has moved the amount
// to the station; only the simulated chain has none.
func (w Withdrawal) Book() []CustodyEntry {
	all := new(big.Int).Add(w.Amount, w.Charge)
	hold, earn, wait := all, new(big.Int), all
	switch {
	case w.Failed:
		hold, wait = new(big.Int), new(big.Int)
	case w.Ended:
		earn, wait = w.Charge, new(big.Int)
	}
	held := new(big.Int).Sub(hold, w.Held)
	earned := new(big.Int).Sub(earn, w.Earned)
	paid := new(big.Int).Add(w.Waiting, held)
	paid.Sub(paid, earned).Sub(paid, wait)
	entries := append(move(AccountMerchant, AccountWithdrawals, held), move(AccountWithdrawals, AccountWithdrawalFees, earned)...)
	return append(entries, move(AccountWithdrawals, AccountStation, paid)...)
}

// move is the two lines that move an amount from one account of debts to another; a negative amount moves back.
func move(from, to CustodyAccount, amount *big.Int) []CustodyEntry {
	zero := new(big.Int)
	switch amount.Sign() {
	case 0:
		return nil
	case -1:
		from, to, amount = to, from, new(big.Int).Neg(amount)
	}
	return []CustodyEntry{{from, amount, zero}, {to, zero, amount}}
}
