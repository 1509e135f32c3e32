package payment

// Verdict is the verdict on the senders of the valid transfers: a hit if one of them is a hit, clear if all are clear,
// and unscreened while one of them has no verdict. It ignores dust that counts for nothing, because anybody can send
// it, and unmined transfers that may not count.
func (pol Policy) Verdict(p Payment, rows []Deposit) Screening {
	c := change{pol: pol, p: p, rows: rows}
	verdict, begun := Unscreened, c.begun(anyTime)
	for _, d := range rows {
		switch {
		case d.Reverted || c.idle(d) || c.dust(d) && !c.pays(d, begun):
			continue
		case d.Screening == Hit:
			return Hit
		case d.Screening != Clear:
			verdict = undecided
		case verdict != undecided:
			verdict = Clear
		}
	}
	if verdict == undecided {
		return Unscreened
	}
	return verdict
}

// undecided is used inside Verdict only.
const undecided Screening = "undecided"

// Senders are the addresses that sent the converted money.
func Senders(rows []Deposit) []string {
	var out []string
	for _, d := range rows {
		if d.Counted.IsPositive() {
			out = append(out, d.Senders...)
		}
	}
	return out
}

// Cleared reports that the payment need not wait for its senders: they are clear, or an operator overruled a hit.
func (s Screening) Cleared() bool { return s == Clear || s == Overruled }

// Marked returns the rows with the marks of the facts.
func Marked(rows []Deposit, facts []Fact) []Deposit {
	out := append([]Deposit(nil), rows...)
	at := make(map[string]int, len(out))
	for i, d := range out {
		at[d.Key] = i
	}
	for _, f := range facts {
		m, ok := f.(Mark)
		if i, known := at[m.Key]; ok && known {
			out[i].Booked, out[i].BookedAmount, out[i].BookedBlock = m.Booked, m.BookedAmount, m.BookedBlock
			out[i].Bookings, out[i].Counted, out[i].Refunded = m.Bookings, m.Counted, m.Refunded
		}
	}
	return out
}
