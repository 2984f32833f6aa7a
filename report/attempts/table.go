package attempts

import (
	"maps"
	"slices"

	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
)

// Table evaluates the attempts of one entry. `batch attempts --json` writes it.
type Table struct {
	Entry     string   `json:"entry"`
	Model     string   `json:"model"`
	Attempts  int      `json:"attempts"`
	Paths     []string `json:"paths"`     // of the attempts, in order
	Instances int      `json:"instances"` // for which any attempt was requested
	Counted   int      `json:"counted"`   // instances with at least one verdict

	// LeftOut counts the attempts at an instance that do not count, by reason.
	LeftOut map[scores.Reason]int `json:"left_out"`

	Mean Estimate `json:"mean"` // resolved rate of one attempt: pass@1
	Rows []Row    `json:"rows"` // k = 1 up to Attempts

	Flaky []Flaky `json:"flaky"` // by instance id

	Notes []string `json:"notes,omitempty"` // damaged or missing parts of an attempt
}

// Row is the result for one number of attempts.
type Row struct {
	K         int      `json:"k"`
	Instances int      `json:"instances"`  // with at least k attempts that count
	TooFew    int      `json:"too_few"`    // with at least one attempt that counts, but fewer than k
	PassAtK   Estimate `json:"pass_at_k"`  // at least one of k is resolved
	PassHatK  Estimate `json:"pass_hat_k"` // all of k are resolved
	// Cost is the mean cost of k attempts at one of these instances in US dollars; null if no cost
	// is known.
	Cost      *float64 `json:"cost"`
	CostKnown int      `json:"cost_known"` // instances of which Cost is the mean
}

// Flaky is an instance that some attempts resolve and others do not.
type Flaky struct {
	ID       string `json:"instance_id"`
	Resolved int    `json:"resolved"`
	Attempts int    `json:"attempts"` // that count
}

// tally counts the attempts at one instance.
type tally struct {
	id, repo string
	n, c     int       // attempts that count, and resolved attempts
	costs    []float64 // of all attempts with a known cost
}

// tallies returns the instances for which any attempt was requested, sorted, and counts the
// attempts that do not count.
func tallies(list []scores.Run) ([]tally, map[scores.Reason]int) {
	ids, left := map[string]bool{}, map[scores.Reason]int{}
	for _, a := range list {
		for id := range a.Scores {
			ids[id] = true
		}
	}
	var all []tally
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		t := tally{id: id}
		for _, a := range list {
			s := a.At(id)
			if t.repo == "" {
				t.repo = s.Repo
			}
			if s.Cost != nil {
				t.costs = append(t.costs, *s.Cost)
			}
			switch {
			case s.Resolved == nil:
				left[s.Left]++
			case *s.Resolved:
				t.n, t.c = t.n+1, t.c+1
			default:
				t.n++
			}
		}
		all = append(all, t)
	}
	return all, left
}

// New returns the table of an entry.
func New(e scores.Side) Table {
	all, left := tallies(e.Runs)
	t := Table{
		Entry: e.Name, Model: e.Model, Attempts: len(e.Runs), Instances: len(all), LeftOut: left,
		Paths: []string{}, Rows: []Row{}, Flaky: []Flaky{},
	}
	for _, a := range e.Runs {
		t.Paths = append(t.Paths, a.Path)
		for _, note := range a.Notes {
			t.Notes = append(t.Notes, a.Path+": "+note)
		}
	}
	for _, in := range all {
		if in.n > 0 {
			t.Counted++
		}
		if in.c > 0 && in.c < in.n {
			t.Flaky = append(t.Flaky, Flaky{in.id, in.c, in.n})
		}
	}
	for k := 1; k <= len(e.Runs); k++ {
		t.Rows = append(t.Rows, newRow(all, k, t.Counted))
	}
	if len(t.Rows) > 0 {
		t.Mean = t.Rows[0].PassAtK
	}
	return t
}

func newRow(all []tally, k, counted int) Row {
	var some, every, costs []float64
	var repositories []string
	for _, in := range all {
		if in.n < k {
			continue
		}
		some = append(some, stats.PassAtK(in.n, in.c, k))
		every = append(every, stats.PassHatK(in.n, in.c, k))
		repositories = append(repositories, in.repo)
		if one := stats.Mean(in.costs); one != nil {
			costs = append(costs, *one*float64(k))
		}
	}
	return Row{
		K: k, Instances: len(some), TooFew: counted - len(some),
		PassAtK: newEstimate(some, repositories), PassHatK: newEstimate(every, repositories), Cost: stats.Mean(costs), CostKnown: len(costs),
	}
}
