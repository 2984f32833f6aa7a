package selecting

import (
	"batch.example/batch/results/selections"
	"batch.example/batch/runner"
)

// asking is a call of a judge. Before each try, its cost is reserved and its record is
// durable.
type asking struct {
	log      *selections.Log
	asked    selections.Asked
	reserve  func() (*runner.Reservation, error)
	reserved *runner.Reservation // of the current or the last try
	open     bool                // a try is under way
	lost     int                 // tries that may have been charged, and were not answered
}

// begin begins a try.
func (a *asking) begin() (err error) {
	if a.reserved, err = a.reserve(); err != nil {
		return err
	}
	a.asked.Reserved = a.reserved.Reserved()
	if err := a.log.AddAsked(a.asked); err != nil {
		a.reserved.Release()
		return err
	}
	a.open = true
	return nil
}

// failed ends a try, if one is under way.
func (a *asking) failed(unpaid bool) error {
	defer a.reserved.Release()
	if !a.open {
		return nil
	}
	a.open = false
	if unpaid {
		return a.log.AddUnpaid(selections.Unpaid{InstanceID: a.asked.InstanceID})
	}
	a.lost++
	a.reserved.Lose(1)
	return nil
}
