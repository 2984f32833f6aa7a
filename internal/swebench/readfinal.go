package swebench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/internal/regular"
)

// outcome is the verdict on the instances that some members of a report list.
type outcome struct {
	verdict Verdict
	members []string
}

// finalMembers are the members of final reports, the harness's and sb-cli's. They apply in this
// order: a later one overrides an earlier one. An error is not resolved, as in the harness's own
// figure. infra_failure_ids change nothing there: "these ids stay in unresolved_ids/error_ids, so
// the denominator is unchanged" (swebench/harness/reporting.py). They come from the text of logs,
// where tests can print anything.
var finalMembers = []outcome{
	{Verdict{Left: NoResult}, []string{"incomplete_ids"}},
	{Verdict{Left: NotGraded}, []string{"submitted_ids", "pending_ids"}},
	{Verdict{}, []string{"completed_ids", "unresolved_ids", "empty_patch_ids"}},
	{Verdict{Error: true}, []string{"failed_ids", "error_ids"}},
	{Verdict{Left: NotGraded}, []string{noVerdict}},
	{Verdict{Resolved: true}, []string{"resolved_ids"}},
	{Verdict{Left: Quarantined}, []string{"quarantined_ids"}},
}

// resultsMembers are the members of the older report; results.json of a submission to the
// leaderboard has some of them.
var resultsMembers = []outcome{
	{Verdict{}, []string{"generated", "with_logs", "applied", "none", "no_generation", "no_apply", "test_timeout"}},
	{Verdict{Error: true}, []string{"no_logs", "install_fail", "reset_failed", "test_errored"}},
	{Verdict{Resolved: true}, []string{"resolved"}},
}

// idLists are the lists of ids in a final report, by member.
type idLists struct {
	path  string
	lists map[string][]string
	order []outcome
}

// parseFinal reads an official final report of any version. ok is false if text is JSON of
// another kind.
func parseFinal(path string, text []byte) (r idLists, ok bool, err error) {
	var members map[string]json.RawMessage
	if decode(path, "", text, &members) != nil {
		return idLists{}, false, nil
	}
	r = idLists{path: path, lists: map[string][]string{}, order: finalMembers}
	if _, final := members["resolved_ids"]; !final {
		r.order = resultsMembers
		if list := members["resolved"]; len(list) == 0 || list[0] != '[' {
			return idLists{}, false, nil
		}
	}
	for _, o := range r.order {
		for _, member := range o.members {
			text, given := members[member]
			if !given {
				continue
			}
			list := []string{}
			if err := decode(path, member, text, &list); err != nil {
				return idLists{}, true, err
			}
			r.lists[member] = list
		}
	}
	return r, true, r.check()
}

// check refuses ids that are listed as resolved and also with another outcome.
func (r idLists) check() error {
	one := "resolved"
	if r.lists["resolved_ids"] != nil {
		one = "resolved_ids"
	}
	resolved := setOf(r.lists[one])
	for _, other := range []string{"unresolved_ids", "empty_patch_ids", "error_ids", "incomplete_ids", "none", "no_generation", "no_apply"} {
		for _, id := range r.lists[other] {
			if resolved[id] {
				return malformed(r.path, other, fmt.Errorf("%q is in %s too", id, one))
			}
		}
	}
	return nil
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// ParseFinal reads text, the content of the file at path, as a final report of any version: the
// harness's, sb-cli's, or results.json of a submission. final is false if text is not such a
// report. instances are the ids of the dataset. They are needed for a report that lists only
// resolved instances: all others are unresolved. Such a report is refused if instances is nil.
func ParseFinal(path string, text []byte, instances []string) (v Verdicts, final bool, err error) {
	r, final, err := parseFinal(path, text)
	if !final || err != nil {
		return nil, final, err
	}
	v, err = r.all(instances)
	return v, true, err
}

func (r idLists) all(instances []string) (Verdicts, error) {
	v := r.verdicts()
	if !r.whole() {
		if instances == nil {
			return nil, fault.Newf(fault.Usage, "reading %s: it lists only the instances that were resolved", r.path).
				WithHint("say with --instances FILE which instances the dataset has, one id per line")
		}
		v.complement(instances, r.path)
	}
	return v, nil
}

// whole reports whether the report also lists unresolved instances.
func (r idLists) whole() bool {
	return slices.ContainsFunc([]string{"submitted_ids", "completed_ids", "unresolved_ids", "generated"}, func(member string) bool {
		return r.lists[member] != nil
	})
}

// verdicts returns the report's verdicts on the instances that it lists.
func (r idLists) verdicts() Verdicts {
	all := Verdicts{}
	for _, o := range r.order {
		o.verdict.File = r.path
		for _, member := range o.members {
			for _, id := range r.lists[member] {
				all[id] = o.verdict
			}
		}
	}
	if logs := r.lists["with_logs"]; logs != nil { // of a patch without a test log, only that is known
		in := setOf(logs)
		for _, id := range r.lists["generated"] {
			if v := all[id]; !in[id] && !v.Resolved {
				v.Error = true
				all[id] = v
			}
		}
	}
	return all
}

// Beside reads the reports in a folder with predictions: final reports of the harness or of sb-cli
// or, if there are none, the tree of logs. Files with the names in except are not reports.
func Beside(dir string, except ...string) (Verdicts, error) {
	all := Verdicts{}
	for _, folder := range []string{dir, filepath.Join(dir, "sb-cli-reports")} {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, reading(err)
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || filepath.Ext(e.Name()) != ".json" || e.Name() == PredsName || slices.Contains(except, e.Name()) {
				continue
			}
			if err := all.addFile(filepath.Join(folder, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	if tree := filepath.Join(dir, LogRoot); len(all) == 0 && exists(tree) {
		return mergedTree(tree)
	}
	return all, nil
}

// addFile adds the verdicts of a final report. Other JSON files are ignored.
func (v Verdicts) addFile(path string) error {
	text, err := regular.ReadFile(path)
	if err != nil {
		return reading(err)
	}
	r, ok, err := parseFinal(path, text)
	if err != nil || !ok {
		return err
	}
	return v.add(r.verdicts())
}
