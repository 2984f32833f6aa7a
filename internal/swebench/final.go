package swebench

import (
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/internal/python"
	"batch.example/batch/vocab"
)

// Entry is one prediction's entry in the final report.
type Entry struct {
	InstanceID string
	Empty      bool // there is no patch, so that nothing was run
	Reported   bool // it has a report.json
	NoVerdict  bool // it is in no rate of batch: an infrastructure failure, ungradeable or not graded
	Resolved   bool
	// Failure comes from test_output.txt and run_instance.log, joined by "\n". It is ignored if the
	// prediction is resolved.
	Failure Failure
	Doubt   string // why the verdict may be wrong
}

// EntryOf returns the entry of a prediction with a verdict. As in the harness, a prediction is
// completed only if tests judged it; any other outcome is an error. Only the verdict can make an
// infrastructure failure: logs cannot, since tests can print anything. failure adds the reason, and
// says whether the cause is ambiguous.
func EntryOf(id string, v vocab.Verdict, failure Failure, doubt string) Entry {
	e := Entry{InstanceID: id, Empty: v == vocab.VerdictEmpty, Resolved: v == vocab.VerdictResolved, Failure: failure, Doubt: doubt}
	e.Reported, e.NoVerdict = e.Resolved || v == vocab.VerdictUnresolved, !v.Counts()
	environment := failure.Tier == Environment
	switch {
	case v == vocab.VerdictInfrastructure && !environment:
		e.Failure = Failure{Tier: Environment, Reason: "infrastructure"}
	case v != vocab.VerdictInfrastructure && environment:
		e.Failure = Failure{}
	}
	return e
}

// Final is the final report of a run: <model>.<run_id>.json.
type Final struct {
	Model string // of the first prediction
	RunID string
	V4    bool // with the members of release 4.1.0
	// Instances are the ids of all instances asked for.
	Instances []string
	// Predictions may include instances that are not in Instances, as in the harness.
	Predictions []Entry
	// Engine says that containers ran the tests. The report then states that no container and no
	// image of the run is left.
	Engine bool
	// Quarantined are ids that are left out. If Instances has some of them, members about them
	// follow the harness's members.
	Quarantined []string
}

// Name returns the name of the file. It fails as [ModelDir] does.
func (f Final) Name() (string, error) {
	model, err := ModelDir(f.Model)
	return model + "." + f.RunID + ".json", err
}

// JSON returns the text of the file, which ends with a newline.
func (f Final) JSON() ([]byte, error) {
	text, err := python.Dumps(f.file(), indent)
	return append(text, '\n'), err
}

// finalFile is the file's content. The members have the harness's order; batch's own members come
// last.
type finalFile struct {
	Total         int               `json:"total_instances"`
	Submitted     int               `json:"submitted_instances"`
	Completed     int               `json:"completed_instances"`
	Resolved      int               `json:"resolved_instances"`
	Unresolved    int               `json:"unresolved_instances"`
	Infra         *int              `json:"infra_failure_instances,omitempty"`
	Ambiguous     *int              `json:"ambiguous_failure_instances,omitempty"`
	Empty         int               `json:"empty_patch_instances"`
	Failed        int               `json:"error_instances"`
	CompletedIDs  []string          `json:"completed_ids"`
	IncompleteIDs []string          `json:"incomplete_ids"`
	EmptyIDs      []string          `json:"empty_patch_ids"`
	SubmittedIDs  []string          `json:"submitted_ids"`
	ResolvedIDs   []string          `json:"resolved_ids"`
	UnresolvedIDs []string          `json:"unresolved_ids"`
	InfraIDs      []string          `json:"infra_failure_ids,omitzero"`
	AmbiguousIDs  []string          `json:"ambiguous_failure_ids,omitzero"`
	Reasons       map[string]string `json:"failure_reasons,omitzero"`
	FailedIDs     []string          `json:"error_ids"`
	Schema        int               `json:"schema_version"`

	Unstopped   *int              `json:"unstopped_instances,omitempty"`
	Containers  []string          `json:"unstopped_containers,omitzero"`
	Images      []string          `json:"unremoved_images,omitzero"`
	Doubts      map[string]string `json:"doubts,omitempty"`
	NoVerdict   []string          `json:"no_verdict_ids,omitempty"` // of error_ids and empty_patch_ids: see noVerdict
	Quarantined int               `json:"quarantined_instances,omitempty"`
	OutIDs      []string          `json:"quarantined_ids,omitempty"`
}

// noVerdict is batch's own member for errors and empty patches that are in no rate of the run
// directory. Without it, they would be not resolved to a reader of the report alone.
const noVerdict = "no_verdict_ids"

func (f Final) file() *finalFile {
	file := &finalFile{Schema: 2, Reasons: map[string]string{}, Doubts: map[string]string{}}
	predicted, out := map[string]Entry{}, setOf(f.Quarantined)
	for _, e := range f.Predictions {
		if predicted[e.InstanceID] = e; !out[e.InstanceID] {
			file.SubmittedIDs = append(file.SubmittedIDs, e.InstanceID)
		}
	}
	for _, id := range f.Instances {
		e, known := predicted[id]
		switch {
		case out[id]:
			file.OutIDs = append(file.OutIDs, id)
		case !known:
			file.IncompleteIDs = append(file.IncompleteIDs, id)
		case e.Empty:
			file.EmptyIDs = append(file.EmptyIDs, id)
			if e.NoVerdict {
				file.NoVerdict = append(file.NoVerdict, id)
			}
		default:
			file.tested(e)
		}
	}
	infra, ambiguous := sorted(&file.InfraIDs), sorted(&file.AmbiguousIDs)
	file.Infra, file.Ambiguous = &infra, &ambiguous
	if f.V4 {
		file.Infra, file.Ambiguous, file.InfraIDs, file.AmbiguousIDs, file.Reasons = nil, nil, nil, nil, nil
	}
	file.Submitted, file.Completed, file.Empty = sorted(&file.SubmittedIDs), sorted(&file.CompletedIDs), sorted(&file.EmptyIDs)
	file.Resolved, file.Unresolved, file.Failed = sorted(&file.ResolvedIDs), sorted(&file.UnresolvedIDs), sorted(&file.FailedIDs)
	sorted(&file.IncompleteIDs)
	sorted(&file.NoVerdict)
	if f.Engine {
		file.Unstopped, file.Containers, file.Images = new(int), []string{}, []string{}
	}
	file.Quarantined = sorted(&file.OutIDs)
	file.Total = len(f.Instances) - file.Quarantined
	return file
}

// sorted sorts ids, removes duplicates, and returns how many are left.
func sorted(ids *[]string) int {
	slices.Sort(*ids)
	*ids = orEmpty(slices.Compact(*ids))
	return len(*ids)
}

// tested adds a prediction with a patch.
func (f *finalFile) tested(e Entry) {
	id := e.InstanceID
	if e.Doubt != "" {
		f.Doubts[id] = e.Doubt
	}
	switch {
	case e.Reported && e.Resolved:
		f.CompletedIDs, f.ResolvedIDs = append(f.CompletedIDs, id), append(f.ResolvedIDs, id)
		return
	case e.Reported:
		f.CompletedIDs, f.UnresolvedIDs = append(f.CompletedIDs, id), append(f.UnresolvedIDs, id)
	default:
		f.FailedIDs = append(f.FailedIDs, id)
		if e.NoVerdict {
			f.NoVerdict = append(f.NoVerdict, id)
		}
	}
	switch e.Failure.Tier {
	case Environment:
		f.InfraIDs = append(f.InfraIDs, id)
	case Ambiguous:
		f.AmbiguousIDs = append(f.AmbiguousIDs, id)
	default:
		return
	}
	f.Reasons[id] = e.Failure.Reason
}

// Verdict is the result of one instance in the harness's files.
type Verdict struct {
	Resolved bool
	// Error says that the harness ended with an error. Its files do not tell a patch that does not
	// apply, or tests that time out, from a failure of the machine.
	Error bool
	Left  Left   // if not empty, there is no verdict
	File  string // where this was read
}

// weight orders verdicts on an instance: one of tests replaces an error, as of an earlier run, and
// an error replaces a missing verdict.
func (v Verdict) weight() int {
	switch {
	case v.Left != "":
		return 0
	case v.Error:
		return 1
	}
	return 2
}

// Left says why an instance has no verdict.
type Left string

// The reasons for having no verdict.
const (
	NoResult    Left = "no result"  // there is no prediction
	NotGraded   Left = "not graded" // there is a prediction, and nothing about it
	Quarantined Left = "quarantined"
)

// Verdicts are the results of one run, by instance id.
type Verdicts map[string]Verdict

// add merges the results of a second file. Two different verdicts of tests are a Usage fault.
func (v Verdicts) add(more Verdicts) error {
	for id, now := range more {
		was, known := v[id]
		switch {
		case !known, now.weight() > was.weight():
			v[id] = now
		case now.weight() == 2 && was.weight() == 2 && now.Resolved != was.Resolved:
			return fault.Newf(fault.Usage, "%s and %s disagree about %s", was.File, now.File, id).
				WithHint("name the report that is to count")
		}
	}
	return nil
}

// complement adds the dataset's other instances as unresolved.
func (v Verdicts) complement(instances []string, file string) {
	for _, id := range instances {
		if _, known := v[id]; !known {
			v[id] = Verdict{File: file}
		}
	}
}
