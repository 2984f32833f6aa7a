package submission

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/grade/evalscript"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/printable"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// mostFileBytes is the size from which on GitHub refuses a file.
const mostFileBytes = 100_000_000

// Target is the destination of a submission.
type Target struct {
	Board Board // the zero value: the leaderboard does not have the dataset
	Split string
}

// CheckLeaderboard checks a run, its metadata and the name of the folder to create against the
// rules of the leaderboard.
func CheckLeaderboard(r *Run, t Target, m Metadata, dir string) Findings {
	var f Findings
	f.Violations = m.missing()
	if t.Board.Name == "multimodal" {
		f.note("an entry of Multimodal has metadata.yaml and README.md only: evaluate the predictions with sb-cli (--sb-cli FILE), and give its run id and your e-mail address in the pull request")
		return f
	}
	f.board(r, t)
	f.duplicates(r)
	r.where(func(in Instance) bool { return in.Predictions == 0 }, f.violation, "predictions: %s without one; run `batch run` again with the same flags")
	f.oneModel(r)
	// An instance with a result must not be attempted again. An attempt that ended by an
	// infrastructure failure does not count.
	r.where(func(in Instance) bool { return in.Results > 1 }, f.violation, "pass@1: attempted again after a result: %s; submit a run in which each instance has one")
	f.knowledge(r)
	r.where(func(in Instance) bool { return predicted(in) && !in.Verdict.Counts() }, f.violation, "grades: %s without a verdict; run `batch grade %s`", printable.ShellWord(r.Dir))
	f.logs(r)
	r.where(func(in Instance) bool { return predicted(in) && !in.Trace }, f.violation, "trajs: %s without a trajectory")
	f.remarks(r, t, m)
	f.folder(dir)
	return f
}

// CheckSBCLI checks a run against the rules of sb-cli.
func CheckSBCLI(r *Run, t Target) Findings {
	var f Findings
	if t.Board.Subset == "" {
		f.violation("dataset: sb-cli evaluates swe-bench_lite, swe-bench_verified and swe-bench-m, and this is %s; where the instances are of one, name it with --board", r.Dataset)
	} else if t.Split != "test" && (t.Split != "dev" || t.Board.Name == "verified") {
		f.violation("split: sb-cli has no split %q of %s", t.Split, t.Board.Subset)
	}
	f.duplicates(r)
	f.oneModel(r)
	missing := r.ids(func(in Instance) bool { return in.Predictions == 0 })
	switch {
	case len(missing) == len(r.Instances):
		f.violation("predictions: the run has none")
	case len(missing) > 0:
		f.note("%s without a prediction: not in the file", these(missing))
	}
	f.foreign(r, t)
	if n := t.Board.Instances; n > 0 && t.Split == t.Board.Split && len(r.Instances) < n {
		f.note("the run has %d of the %d instances of %s: sb-cli takes the others for not submitted", len(r.Instances), n, t.Board.Subset)
	}
	return f
}

// board compares the run with its whole list.
func (f *Findings) board(r *Run, t Target) {
	b := t.Board
	if b.Name == "" {
		f.note("the leaderboard has %s, and this is %s: the folder has the same form, and its place is up to you; where the instances are of one, name it with --board",
			strings.Join(BoardNames(), ", "), r.Dataset)
		return
	}
	f.foreign(r, t)
	if t.Split != b.Split {
		f.violation("split: %s takes split %s, and the run has %s", b.Name, b.Split, t.Split)
	} else if len(r.Instances) < b.Instances {
		f.violation("predictions: the run has %d of the %d instances of %s; run the others", len(r.Instances), b.Instances, b.Title)
	}
	if b.Research {
		f.note("since 2025-11-18, %s takes submissions only with a publication (arXiv or a technical report) and an author of an academic institution or an established research lab", b.Title)
	}
}

// foreign reports instances that cannot be in the list, since SWE-bench does not have their
// repository. A list without a fixed size may have any repository.
func (f *Findings) foreign(r *Run, t Target) {
	if t.Board.Instances == 0 {
		return
	}
	r.where(func(in Instance) bool { return !evalscript.Known(in.Repo) }, f.violation, "instances: %s cannot be of %s: no dataset of SWE-bench has the repository", t.Board.Title)
}

func (f *Findings) duplicates(r *Run) {
	r.where(func(in Instance) bool { return in.Predictions > 1 }, f.violation, "predictions: more than one for %s; leave one in preds.json")
}

func (f *Findings) oneModel(r *Run) {
	if names := r.models(); len(names) > 1 {
		f.violation("predictions: %d values of model_name_or_path (%s); a submission has one", len(names), some(names))
	} else if len(names) == 1 && names[0] == "" {
		f.violation("predictions: model_name_or_path is missing")
	}
}

// forbidden are the columns of a row that an agent must not see.
var forbidden = []string{"hints_text", "FAIL_TO_PASS", "PASS_TO_PASS", "test_patch"}

// knowledge looks for settings that show the agent forbidden columns.
func (f *Findings) knowledge(r *Run) {
	for _, s := range settings("", r.Config) {
		for _, column := range forbidden {
			if strings.Contains(s.value, column) {
				f.violation("knowledge: %s uses %s, which an agent may not know", s.key, column)
			}
		}
	}
	for _, name := range r.models() {
		if name == "oracle" || name == "gold" {
			f.violation("knowledge: the predictions of %q are the dataset's own patches", name)
		}
	}
}

// logs requires the files of grading, and that they belong to this prediction and this verdict.
func (f *Findings) logs(r *Run) {
	missing := map[string][]string{}
	for _, in := range r.Instances {
		for _, name := range wanted(in.Verdict) {
			if _, ok := in.Log.Sizes[name]; !ok {
				missing[name] = append(missing[name], in.ID)
			}
		}
		for _, name := range swebench.LogNames() {
			if n := in.Log.Sizes[name]; n > mostFileBytes {
				f.violation("logs: %s of %s has %d MB; GitHub refuses files over 100 MB", name, in.ID, n/1_000_000)
			}
		}
	}
	for _, name := range swebench.LogNames() {
		if ids := missing[name]; len(ids) > 0 {
			f.violation("logs: %s is missing for %s; grade them again", name, these(ids))
		}
	}
	r.where(Instance.otherPatch, f.violation, "logs: patch.diff is not the predicted patch of %s; grade them again")
	r.where(Instance.otherVerdict, f.violation, "logs: report.json has another verdict than grades.jsonl for %s; grade them again")
}

func (in Instance) otherPatch() bool {
	if _, ok := in.Log.Sizes[swebench.PatchName]; !ok || !in.submitted() {
		return false
	}
	return !bytes.Equal(in.Log.Patch, []byte(in.Patch)) && (in.Exact == nil || !bytes.Equal(in.Log.Patch, in.Exact))
}

func (in Instance) otherVerdict() bool {
	if _, ok := in.Log.Sizes[swebench.ReportName]; !ok || !in.Verdict.Counts() {
		return false
	}
	return in.Log.Resolved == nil || *in.Log.Resolved != (in.Verdict == vocab.VerdictResolved)
}

// remarks adds the notes about a run that may be submitted.
func (f *Findings) remarks(r *Run, t Target, m Metadata) {
	if network := r.network(); network != "none" {
		f.note("network of the agent: %s; the point about look-ups stays open in README.md: say there how solutions were kept out of reach", network)
	}
	r.where(func(in Instance) bool { return in.Said > 0 }, f.note, "helped by a person, with the verb say of batch ctl: %s; say so in README.md, or submit a run without help")
	r.where(func(in Instance) bool { return len(in.Suspicious) > 0 }, f.note, "suspicious: %s; `batch status` says why")
	r.where(func(in Instance) bool { return in.Quarantined }, f.note, "in quarantine here, and counted by the leaderboard: %s")
	if m.Logo == "" {
		f.note("the repository of entries wants a logo file in the folder: --logo FILE")
	}
	if m.Repo == "" && t.Board.Name != "" {
		f.note("since the middle of 2026, all_preds.jsonl, logs and trajs belong in a public repository of your own: name it with --artifacts, or its place stays the leaderboard's bucket")
	}
}

// network returns the network of the agent's containers.
func (r *Run) network() string {
	if !r.own() {
		return "not known"
	}
	for _, s := range settings("", r.Config) {
		if s.key == "environment.network" && s.value != "" {
			return s.value
		}
	}
	return "not known"
}

type setting struct{ key, value string }

// settings returns all texts in a configuration with their keys, sorted by key.
func settings(key string, v any) []setting {
	var all []setting
	switch v := v.(type) {
	case string:
		return []setting{{key, v}}
	case []any:
		for i, e := range v {
			all = append(all, settings(fmt.Sprintf("%s[%d]", key, i), e)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, settings(strings.TrimPrefix(key+"."+name, "."), v[name])...)
		}
	}
	return all
}

var folderName = lazy.Regexp(`^\d{8}_.`)

// folder adds the naming rule for an entry's folder if dir does not follow it.
func (f *Findings) folder(dir string) {
	if name := filepath.Base(dir); !folderName().MatchString(name) {
		f.note("the repository of entries names folders YYYYMMDD_NAME: rename %s for the pull request", name)
	}
}
