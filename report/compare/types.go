package compare

import (
	"cmp"
	"strconv"

	"batch.example/batch/report"
	"batch.example/batch/report/stats"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
)

// Comparison compares entries. `batch compare --json` writes it. With one pair, the members of the
// pair are also members of the comparison.
type Comparison struct {
	*Pair // the only one; nil if there are more

	Level float64 `json:"level"` // of all intervals
	Draws int     `json:"draws"` // of the bootstrap
	Seed  uint64  `json:"seed"`  // of the bootstrap

	Entries []Side   `json:"entries"`
	Common  int      `json:"common"`   // instances with a score in every entry
	Best    string   `json:"best"`     // has the highest rate on the common instances; empty if there are none
	TiedSet []string `json:"tied_set"` // the entries that cannot be distinguished from Best, including Best
	Pairs   []Pair   `json:"pairs"`
	Notes   []string `json:"notes,omitempty"`
	Gates   []Ruling `json:"gates,omitempty"`
}

// Side is one side, over the instances for which all entries have a score.
type Side struct {
	Name     string         `json:"name"`
	Model    string         `json:"model,omitempty"`
	Paths    []string       `json:"paths"` // of the attempts
	Attempts int            `json:"attempts"`
	Scored   int            `json:"scored"`   // instances with a score here
	Rate     float64        `json:"rate"`     // over the common instances
	Interval stats.Interval `json:"interval"` // of Rate
	Cost     *float64       `json:"cost"`     // mean over the common instances with a known cost; null: no cost is known
	Steps    *float64       `json:"steps"`    // likewise
	Seconds  *float64       `json:"seconds"`  // likewise
	Known    Known          `json:"known"`
	Flaky    []Flaky        `json:"flaky"`
	Notes    []string       `json:"notes,omitempty"` // what is damaged or missing
	Mixed    *results.Mixed `json:"mixed,omitempty"` // nil: the results are of one model with the same settings
}

// Known counts the common instances that a side's means are computed from.
type Known struct {
	Cost    int `json:"cost"`
	Steps   int `json:"steps"`
	Seconds int `json:"seconds"`
}

// Flaky is an instance that some attempts of an entry resolved and others did not.
type Flaky struct {
	ID       string `json:"instance_id"`
	Resolved int    `json:"resolved"` // attempts
	Scored   int    `json:"scored"`   // attempts
}

// Pair compares two entries. Rates and differences are between -1 and 1.
type Pair struct {
	A string `json:"a"`
	B string `json:"b"`

	N       int     `json:"n"` // instances with a score on both sides
	Both    float64 `json:"both"`
	OnlyA   float64 `json:"only_a"`
	OnlyB   float64 `json:"only_b"`
	Neither float64 `json:"neither"`

	RateA      float64        `json:"rate_a"`
	RateB      float64        `json:"rate_b"`
	IntervalA  stats.Interval `json:"interval_a"` // of RateA
	IntervalB  stats.Interval `json:"interval_b"`
	Difference float64        `json:"difference"` // RateB - RateA
	Low        float64        `json:"ci_low"`
	High       float64        `json:"ci_high"`
	Method     stats.Method   `json:"method"` // of the test of the difference and of all intervals of rates

	HigherA int      `json:"higher_a"` // instances on which A's mean is higher
	HigherB int      `json:"higher_b"`
	P       float64  `json:"p"`                // two-sided, for no difference, by the test that gives the interval; replaces mcnemar_p of an earlier test
	LeastP  float64  `json:"least_p"`          // the lowest p value that so few repositories, or instances, can give
	Holm    *float64 `json:"holm_p,omitempty"` // P, adjusted for all pairs of entries; only with more than two entries
	// WestfallYoung is P, adjusted by this method; only if so few repositories, or instances, could
	// show nothing after Holm's. Then it decides.
	WestfallYoung *float64 `json:"westfall_young_p,omitempty"`
	Tied          bool     `json:"tied"` // the two cannot be distinguished at this n: WestfallYoung, else Holm, else P, is above 1 - level

	LeftOut LeftOut `json:"left_out"`

	Cost    *Measure `json:"cost"` // US dollars; null: no instance has it on both sides
	Steps   *Measure `json:"steps"`
	Seconds *Measure `json:"seconds"`

	Power      Power                 `json:"power"`
	Discordant []Discordant          `json:"discordant"` // by instance id
	Settings   []manifest.Difference `json:"settings"`   // that affect results; "was" is A's value, "now" is B's

	Judged []Judged `json:"judged,omitempty"` // differences in how the verdicts of the two sides were made

	compared []stats.Pair
	ids      []string // of compared
}

// LeftOut counts the instances that are in neither rate, by the reason of each side. An instance
// with a reason on both sides is counted for both.
type LeftOut struct {
	Instances int                   `json:"instances"`
	A         map[scores.Reason]int `json:"a"`
	B         map[scores.Reason]int `json:"b"`

	// Attempts counts attempts without a score at compared instances, which have other attempts
	// with a score.
	Attempts int `json:"attempts"`
}

// Measure compares the cost, the steps or the time of the compared instances with known values on
// both sides. With several attempts, the value of an instance is their mean. An interval is null if
// there are too few instances.
type Measure struct {
	N                int             `json:"n"`
	MeanA            float64         `json:"mean_a"`
	MeanB            float64         `json:"mean_b"`
	Difference       float64         `json:"difference"` // of the means
	Interval         *stats.Interval `json:"interval"`
	Median           float64         `json:"median_difference"` // of the differences by instance
	MedianInterval   *stats.Interval `json:"median_interval"`
	Relative         *float64        `json:"relative"` // Difference as a share of MeanA; null if MeanA is 0
	RelativeInterval *stats.Interval `json:"relative_interval"`
}

// Power says what this number of instances can show, with a power of 0.8 at the level of the
// intervals, by the same test and without Holm's correction.
type Power struct {
	Needed   *int     `json:"instances_needed"`    // instances of these repositories that would show the observed difference; null: no number would
	Smallest *float64 `json:"smallest_difference"` // smallest difference that these instances would show; null: not even 1
}

// Discordant is an instance on which the two sides differ.
type Discordant struct {
	ID   string  `json:"instance_id"`
	Repo string  `json:"repo,omitempty"`
	A    float64 `json:"a"` // resolved, as the mean of the attempts
	B    float64 `json:"b"`
	OfA  Effort  `json:"of_a"`
	OfB  Effort  `json:"of_b"`
}

// Effort sums up a side's attempts at an instance that have a score.
type Effort struct {
	Steps   *float64 `json:"steps"`   // mean; null: not known
	Cost    *float64 `json:"cost"`    // likewise, in US dollars
	Patches []string `json:"patches"` // digests of the predictions, each once; an empty one is of an empty patch
}

// cells returns the steps, the cost and the digest of the patch, shortened, for a table.
func (e Effort) cells() (steps, cost, patch string) {
	const short = 8
	steps, cost, patch = "-", "-", "-"
	if e.Steps != nil {
		steps = strconv.FormatFloat(*e.Steps, 'f', -1, 64)
	}
	if e.Cost != nil {
		cost = report.Dollars(*e.Cost)
	}
	switch {
	case len(e.Patches) > 1:
		patch = strconv.Itoa(len(e.Patches)) + " patches"
	case len(e.Patches) == 1:
		patch = cmp.Or(e.Patches[0][:min(short, len(e.Patches[0]))], "empty")
	}
	return steps, cost, patch
}

// listHead and listRow are the table of the instances on which the two of a pair differ.
func listHead(a, b string) []string {
	return []string{"resolved", a, b, "steps " + a, "steps " + b, "cost " + a, "cost " + b, "patch " + a, "patch " + b}
}

func (d Discordant) listRow(id string) []string {
	stepsA, costA, patchA := d.OfA.cells()
	stepsB, costB, patchB := d.OfB.cells()
	return []string{id, share(d.A), share(d.B), stepsA, stepsB, costA, costB, patchA, patchB}
}
