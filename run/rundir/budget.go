package rundir

import (
	"batch.example/batch/results/sweeps"
	"batch.example/batch/runner"
)

// Limit is a limit on the total cost of a job's calls.
type Limit struct {
	USD    float64  // 0: no limit
	Sweep  string   // folder of a sweep; its cells share the limit, also in other processes; empty: none
	Cells  []string // the cells of the Sweep in which this process works, by folder
	Beside float64  // US dollars of the limit that other cells have spent
}

// Costs are the known costs of a job's calls so far, in US dollars.
type Costs struct {
	Spent   float64 // by earlier jobs in the directory
	Highest float64 // of the most expensive call; 0: unknown
	Guess   float64 // assumed for a call until a first cost is known; 0: unknown
}

// Budget returns the budget for a plan. It does not count what other processes spend
// meanwhile.
func (l Limit) Budget(c Costs) *runner.Budget {
	b := runner.NewBudget(l.USD, l.Beside+c.Spent, c.Highest)
	b.Guess(c.Guess)
	return b
}

// Open returns the budget for work. All cells of a sweep share it, in other processes too.
// Done must be called when the work has ended.
func (l Limit) Open(c Costs) (b *runner.Budget, done func() error, err error) {
	if l.Sweep == "" || l.USD <= 0 {
		return l.Budget(c), func() error { return nil }, nil
	}
	share, err := sweeps.OpenShare(l.Sweep, l.Cells, c.Spent)
	if err != nil {
		return nil, nil, err
	}
	l.Beside = 0 // the share counts it
	b = l.Budget(c)
	b.Share(share)
	return b, share.Close, nil
}
