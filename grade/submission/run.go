package submission

import (
	"slices"

	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// Run has the parts of a run that a submission needs. [Read] reads one from a run directory.
type Run struct {
	Dir       string
	Dataset   string // an alias, an id on the hub, or a path
	Split     string
	Config    any    // from the manifest: every setting, with defaults
	Batch     string // the version that made it
	Prompts   string // origin of the prompts
	Instances []Instance
}

// Instance is one instance of a run: its prediction, its verdict, and the files about both.
type Instance struct {
	ID, Repo    string
	Predictions int    // how many the file has: 1 is right
	Attempt     int    // the prediction's attempt; 0: another tool's
	Model       string // model_name_or_path
	Patch       string // model_patch
	Exact       []byte // the exact submission, if Patch is another text with the same effect
	Said        int    // messages of people that the agent was sent

	Results int  // attempts that ended with a result
	Trace   bool // there is a trajectory

	Verdict     vocab.Verdict // "" where there is none
	Suspicious  []string
	Quarantined bool
	Log         swebench.Log
}

// wanted returns the log files that an instance with verdict v must have.
func wanted(v vocab.Verdict) []string {
	switch v {
	case vocab.VerdictResolved, vocab.VerdictUnresolved:
		return swebench.LogNames()
	case vocab.VerdictTimedOut:
		return []string{swebench.PatchName, swebench.ScriptName, swebench.OutputName, swebench.RunLogName}
	case vocab.VerdictNoApply:
		return []string{swebench.PatchName, swebench.RunLogName}
	}
	return nil
}

func predicted(in Instance) bool { return in.Predictions > 0 }

// submitted reports whether the instance has a patch to show.
func (in Instance) submitted() bool { return in.Predictions > 0 && in.Patch != "" }

func resolved(in Instance) bool { return in.Verdict == vocab.VerdictResolved }

// Resolved returns the number of resolved instances.
func (r *Run) Resolved() int { return len(r.ids(resolved)) }

// Predicted returns the number of instances with a prediction.
func (r *Run) Predicted() int { return len(r.ids(predicted)) }

// ids returns the ids of the instances that pass keep.
func (r *Run) ids(keep func(Instance) bool) []string {
	ids := []string{}
	for _, in := range r.Instances {
		if keep(in) {
			ids = append(ids, in.ID)
		}
	}
	return ids
}

// where calls found if is holds for some instances. They become the first of found's args.
func (r *Run) where(is func(Instance) bool, found func(format string, args ...any), format string, args ...any) {
	if ids := r.ids(is); len(ids) > 0 {
		found(format, append([]any{these(ids)}, args...)...)
	}
}

// own reports whether batch made all predictions, so that its settings describe them.
func (r *Run) own() bool {
	return !slices.ContainsFunc(r.Instances, func(in Instance) bool { return in.Predictions > 0 && in.Attempt == 0 })
}

// models returns the names in the predictions, in order of appearance.
func (r *Run) models() []string {
	var names []string
	seen := map[string]bool{}
	for _, in := range r.Instances {
		if in.Predictions > 0 && !seen[in.Model] {
			seen[in.Model] = true
			names = append(names, in.Model)
		}
	}
	return names
}
