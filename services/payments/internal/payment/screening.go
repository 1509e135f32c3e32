package payment

// Verdict is what is known of the senders of the transfers that stand: a hit if one of them is a hit, clear if all are clear,
// and nothing while one of them is not decided. Dust that counts for nothing says nothing, because anybody can send it; nor does
// an unmined transfer that may not count.
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

// undecided is a mark of Verdict's own.
const undecided Screening = "undecided"

// Senders are the addresses that sent what was converted.
func Senders(rows []Deposit) []string {
	var out []string
	for _, d := range rows {
		if d.Counted.IsPositive() {
			out = append(out, d.Senders...)
		}
	}
	return out
}

// Cleared reports that the senders are no reason to wait: they are clear, or a person has said to go on.
func (s Screening) Cleared() bool { return s == Clear || s == Overruled }

// Marked gives the rows with the marks that some facts write on them.
func Marked(rows []Deposit, facts []Fact) []Deposit {
	out := append([]Deposit(nil), rows...)
	at := make(map[string]int, len(out))
	for i, d := range out {
		at[d.Key] = i
	}
	for _, f := range facts {
		m, ok := f.(Mark)
		if i, known := at[m.Key]; ok && known {
			out[i].Booked, out[i].BookedAmount, out[i].Bookings, out[i].Counted = m.Booked, m.BookedAmount, m.Bookings, m.Counted
		}
	}
	return out
}
