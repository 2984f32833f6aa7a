package submission

import (
	"slices"

	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// Run is a run as far as a submission needs it. [Read] makes one of a run directory.
type Run struct {
	Dir       string
	Dataset   string // its name: an alias, an id of the hub, or a path
	Split     string
	Config    any    // as of the manifest: every setting, defaults filled in
	Batch     string // the version that made it
	Prompts   string // whose they are
	Instances []Instance
}

// Instance is one instance of a run: its prediction, its verdict, and the files about both.
type Instance struct {
	ID, Repo    string
	Predictions int    // how many there are: 1 is right
	Attempt     int    // that made it; 0: another tool's
	Model       string // model_name_or_path
	Patch       string // model_patch
	Exact       []byte // the submission byte for byte where Patch is another text of the same effect

	Results int  // attempts that ended with a result
	Trace   bool // there is a trajectory

	Verdict     vocab.Verdict // "" where there is none
	Suspicious  []string
	Quarantined bool
	Log         swebench.Log
}

// wanted returns the log files that an instance of verdict v must have.
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

// Resolved is the number of resolved instances.
func (r *Run) Resolved() int { return len(r.ids(resolved)) }

// Predicted is the number of instances with a prediction.
func (r *Run) Predicted() int { return len(r.ids(predicted)) }

// ids are the ids of the instances that keep returns true for.
func (r *Run) ids(keep func(Instance) bool) []string {
	ids := []string{}
	for _, in := range r.Instances {
		if keep(in) {
			ids = append(ids, in.ID)
		}
	}
	return ids
}

// where calls found if is holds for some instances. They are the first of found's args.
func (r *Run) where(is func(Instance) bool, found func(format string, args ...any), format string, args ...any) {
	if ids := r.ids(is); len(ids) > 0 {
		found(format, append([]any{these(ids)}, args...)...)
	}
}

// own reports whether batch made all predictions, so that its settings say something about them.
func (r *Run) own() bool {
	return !slices.ContainsFunc(r.Instances, func(in Instance) bool { return in.Predictions > 0 && in.Attempt == 0 })
}

// models are the names in the predictions, in order of appearance.
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
