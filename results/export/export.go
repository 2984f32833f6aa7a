package export

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/vocab"
)

// Options say what is exported.
type Options struct {
	Resolved  bool         // only attempts that resolved their instance
	MaxSteps  int          // only attempts with at most so many model calls; 0: any number
	Reasoning bool         // also the reasoning that providers keep apart
	Mask      *mask.Masker // hides secrets in everything but patches
	Tools     []Tool       // tools that batch offers to models
}

// Reason says why an attempt is left out.
type Reason string

// The reasons for leaving an attempt out.
const (
	Running        Reason = "running"
	NoResult       Reason = "without a result"
	Infrastructure Reason = "failed for infrastructure reasons"
	NotResolved    Reason = "not resolved"
	NoVerdict      Reason = "without a verdict"
	TooLong        Reason = "with too many steps"
	NoTrajectory   Reason = "without a reply of a model"
	Damaged        Reason = "with a damaged trajectory"
)

// Reasons are all reasons, in the order in which they are checked.
func Reasons() []Reason {
	return []Reason{Running, Infrastructure, NoResult, NotResolved, NoVerdict, TooLong, NoTrajectory, Damaged}
}

// Summary counts what was exported.
type Summary struct {
	Attempts int            `json:"attempts"`
	Steps    int            `json:"steps"`
	Left     map[Reason]int `json:"left_out"`
	Unheard  int            `json:"all_refused"`               // attempts with only refused replies: they have no line in chat JSON Lines
	Exposed  []string       `json:"secret_in_patch,omitempty"` // instances with a secret in their patch, which is exact; sorted
}

// Output is a file or a folder to write. It calls fill with a function that adds an attempt.
// If fill returns nil, it puts the file or folder into its place; otherwise it leaves no
// trace.
type Output func(fill func(add func(*attempt) error) error) error

// Write writes the attempt that counts of each instance of the runs into all outputs, run by
// run, by instance id. It holds one attempt at a time in memory.
func Write(runs []Run, o Options, outputs ...Output) (Summary, error) {
	s := Summary{Left: map[Reason]int{}}
	err := fillAll(outputs, nil, func(add func(*attempt) error) error { return s.each(runs, o, add) })
	slices.Sort(s.Exposed)
	s.Exposed = slices.Compact(s.Exposed)
	return s, err
}

// fillAll opens the outputs, one within the other, and fills them together.
func fillAll(outputs []Output, open []func(*attempt) error, fill func(add func(*attempt) error) error) error {
	if len(outputs) == 0 {
		return fill(func(a *attempt) error {
			for _, add := range open {
				if err := add(a); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return outputs[0](func(add func(*attempt) error) error {
		return fillAll(outputs[1:], append(open, add), fill)
	})
}

// each adds the attempts to export, and counts the others.
func (s *Summary) each(runs []Run, o Options, add func(*attempt) error) error {
	for _, run := range runs {
		last := results.Latest(run.Snapshot.Records)
		for _, id := range run.Snapshot.Asked() {
			r := results.LatestOf(last, id)
			if why := o.leavesOut(r); why != "" {
				s.Left[why]++
				continue
			}
			a, why, err := o.read(run, r)
			if err != nil {
				return fmt.Errorf("exporting %s of %s: %w", id, run.Name, err)
			}
			if why != "" {
				s.Left[why]++
				continue
			}
			if err := add(a); err != nil {
				return err
			}
			s.Attempts, s.Steps = s.Attempts+1, s.Steps+len(a.view.Steps)
			if a.unheard() {
				s.Unheard++
			}
			if len(o.Mask.Names(a.view.Patch.Text)) > 0 {
				s.Exposed = append(s.Exposed, id)
			}
		}
	}
	return nil
}

// leavesOut returns the reason in an attempt's record not to export it; empty if there is
// none.
func (o Options) leavesOut(r results.Record) Reason {
	switch {
	case r.Status == vocab.StatusRunning:
		return Running
	case r.Outcome == vocab.OutcomeInfrastructure:
		return Infrastructure
	case !r.Outcome.Final():
		return NoResult
	case o.Resolved && r.Resolved == nil:
		return NoVerdict
	case o.Resolved && !*r.Resolved:
		return NotResolved
	case o.MaxSteps > 0 && r.Steps > o.MaxSteps:
		return TooLong
	}
	return ""
}

// read reads an attempt, or returns why it is not exported.
func (o Options) read(run Run, r results.Record) (*attempt, Reason, error) {
	if vocab.CheckID(r.InstanceID) != nil {
		return nil, NoTrajectory, nil // another tool's, with an id that cannot name a folder
	}
	a, err := o.load(run, r)
	switch kind := fault.KindOf(err); {
	case err != nil && (kind == fault.Usage || kind == fault.Instance):
		return nil, Damaged, nil
	case err != nil:
		return nil, "", err
	case a == nil:
		return nil, NoTrajectory, nil
	case o.MaxSteps > 0 && len(a.view.Steps) > o.MaxSteps:
		return nil, TooLong, nil
	}
	return a, "", nil
}

// Run is a run directory to export from.
type Run struct {
	Name     string // its folder's name, in a sweep SWEEP/CELL; unique in a list that [Open] made
	Snapshot *results.Snapshot
}

// Open reads run directories and the cells of sweeps that have begun. It takes no lock. Any
// other directory is a Usage fault.
func Open(dirs []string) ([]Run, error) {
	var runs []Run
	for _, dir := range dirs {
		list, err := sweeps.Runs(dir)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			snap, err := results.Read(one)
			if err != nil {
				return nil, err
			}
			name := baseOf(dir)
			if one != dir {
				name = filepath.Join(name, filepath.Base(one))
			}
			runs = add(runs, name, snap)
		}
	}
	return runs, nil
}

// add adds a run under an unused name.
func add(runs []Run, name string, snap *results.Snapshot) []Run {
	free := name
	for n := 2; slices.ContainsFunc(runs, func(r Run) bool { return r.Name == free }); n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	return append(runs, Run{free, snap})
}

// baseOf returns the name of a folder, also of the current one.
func baseOf(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}
