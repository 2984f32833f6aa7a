package report

import (
	"fmt"
	"strings"

	"batch.example/batch/results"
)

// Bill has the cost of a run directory in US dollars. Every page and table takes its amounts from it.
type Bill struct {
	Cost               float64 // answered calls of the attempts that count
	Ever               float64 // answered calls of all attempts ever made
	results.Unanswered         // of all attempts ever made
}

// BillOf returns the bill of a directory.
func BillOf(snap *results.Snapshot) Bill {
	last := results.Latest(snap.Records)
	var counted []results.Record
	for _, id := range snap.Asked() {
		counted = append(counted, results.LatestOf(last, id))
	}
	return newBill(snap.Records, counted, snap.Spent)
}

// newBill takes what the journals have spent, held amounts included. They do not have the attempts of
// other tools.
func newBill(all, counted []results.Record, spent float64) Bill {
	b := Bill{Ever: spent, Unanswered: results.UnansweredOf(all)}
	b.Ever -= b.Held
	for _, r := range all {
		if r.Attempt == 0 {
			b.Ever += r.Cost
		}
	}
	for _, r := range counted {
		b.Cost += r.Cost
	}
	return b
}

// Beyond says what Cost does not have: other attempts, and calls of unknown cost. It is empty if
// that is nothing.
func (b Bill) Beyond() string {
	if b.more() {
		return Dollars(b.Ever) + " with all attempts ever made in this directory" + upTo(b.Ever, b.Unanswered)
	}
	return strings.TrimLeft(upTo(b.Cost, b.Unanswered), "; ")
}

// more reports whether other attempts cost something too.
func (b Bill) more() bool { return b.Ever > b.Cost+0.00005 }

// String returns the cost with what is beyond it.
func (b Bill) String() string {
	if b.more() {
		return fmt.Sprintf("%s (%s)", Dollars(b.Cost), b.Beyond())
	}
	return Dollars(b.Cost) + upTo(b.Cost, b.Unanswered)
}
