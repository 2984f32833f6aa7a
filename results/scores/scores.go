// Package scores reads how models scored, instance by instance, for comparisons: from run
// directories, from sweeps, and from other tools' files.
//
// An instance has no score if it failed for infrastructure reasons, has no verdict or is
// quarantined. It is left out, with the reason.
package scores

import (
	"strings"

	"batch.example/batch/results"
	"batch.example/batch/swebench"
)

// Side is one side of a comparison: a model with a configuration, and its runs over the
// instances.
type Side struct {
	Name  string // as tables show it
	Model string // model_name_or_path; empty if unknown
	Runs  []Run
}

// Run is one run of a side over the instances.
type Run struct {
	Path     string
	Scores   map[string]Score  // by instance id, of all instances asked for
	Snapshot *results.Snapshot // nil: Path is not a run directory
	Notes    []string          // descriptions of damaged and missing data
}

// Score is the result of one attempt at one instance. Unknown values are nil.
type Score struct {
	ID       string
	Repo     string // owner/name; empty if unknown
	Resolved *bool  // nil: left out of all rates, for the reason Left
	Left     Reason
	Steps    *int     // model calls
	Cost     *float64 // US dollars of answered calls
	Held     float64  // possible cost of other calls in US dollars, if Cost is known
	Unpriced int      // answered calls of unknown price, which are not in Cost
	Seconds  *float64 // of the attempt, without waiting for a worker
	Patch    *string  // digest of the predicted patch; empty if it is
}

// Reason says why an instance has no score.
type Reason string

// The reasons for leaving an instance out.
const (
	Infrastructure Reason = "infrastructure"             // the engine, network, provider, image or machine failed, in the run or in grading
	NoResult       Reason = Reason(swebench.NoResult)    // it has not run, or not to its end
	NotGraded      Reason = Reason(swebench.NotGraded)   // it has a result, and no verdict that counts
	Quarantined    Reason = Reason(swebench.Quarantined) // quarantine.txt lists it
	Missing        Reason = "missing"                    // the run was not asked for it
)

// Reasons are all reasons, in the order in which tables show them.
func Reasons() []Reason {
	return []Reason{Infrastructure, NoResult, NotGraded, Quarantined, Missing}
}

// At returns the score of an instance; an unknown instance is Missing.
func (a Run) At(id string) Score {
	if s, ok := a.Scores[id]; ok {
		return s
	}
	return Score{ID: id, Left: Missing}
}

// RepoOf returns the repository in an id of SWE-bench's form, OWNER__NAME-NUMBER:
// "owner/name". It is empty if the id has another form.
func RepoOf(id string) string {
	owner, rest, ok := strings.Cut(id, "__")
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 {
		return ""
	}
	return owner + "/" + rest[:i]
}
