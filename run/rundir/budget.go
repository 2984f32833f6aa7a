package rundir

import (
	"batch.example/batch/results/sweeps"
	"batch.example/batch/runner"
)

// Limit is a limit on what the calls of a job may cost together.
type Limit struct {
	USD    float64  // 0: no limit
	Sweep  string   // folder of a sweep whose cells share the limit, also in other processes; empty: none
	Cells  []string // of the Sweep: the folders in which this process works
	Beside float64  // US dollars of the limit that other cells have spent
}

// Costs are what is known of a job's calls so far, in US dollars.
type Costs struct {
	Spent   float64 // by earlier jobs in the directory
	Highest float64 // of a call; 0: not known
	Guess   float64 // of a call, until the cost of one is known; 0: not known
}

// Budget returns the budget for a plan: what other processes spend meanwhile is not in it.
func (l Limit) Budget(c Costs) *runner.Budget {
	b := runner.NewBudget(l.USD, l.Beside+c.Spent, c.Highest)
	b.Guess(c.Guess)
	return b
}

// Open returns the budget for work: the cells of a sweep share it, also those in which other
// processes work. Done must be called when the work has ended.
func (l Limit) Open(c Costs) (b *runner.Budget, done func() error, err error) {
	if l.Sweep == "" || l.USD <= 0 {
		return l.Budget(c), func() error { return nil }, nil
	}
	share, err := sweeps.OpenShare(l.Sweep, l.Cells, c.Spent)
	if err != nil {
		return nil, nil, err
	}
	l.Beside = 0 // the share has it
	b = l.Budget(c)
	b.Share(share)
	return b, share.Close, nil
}
