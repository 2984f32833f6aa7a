package official

import (
	"slices"

	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/python"
	"batch.example/batch/vocab"
)

// Entry is what the final report says about one prediction.
type Entry struct {
	InstanceID string
	Empty      bool // there is no patch, so that nothing was run
	Reported   bool // it has a report.json
	Resolved   bool
	// Failure is what its test_output.txt and run_instance.log say, joined by "\n". It is
	// not looked at where the prediction is resolved.
	Failure grade.Failure
	Doubt   string // why the verdict may be wrong, as in [grade.Judgement]
}

// EntryOf is the entry of a prediction with a verdict. The final report blames what the
// verdict blames. Only a prediction that was judged by its tests is completed; one whose
// evaluation ended otherwise is an error, as in the harness. Infrastructure failures are
// those by the verdict: what logs say does not make one, since tests can print it. Failure
// gives its reason, and what is ambiguous.
func EntryOf(id string, v vocab.Verdict, failure grade.Failure, doubt string) Entry {
	e := Entry{InstanceID: id, Empty: v == vocab.VerdictEmpty, Resolved: v == vocab.VerdictResolved, Failure: failure, Doubt: doubt}
	e.Reported = e.Resolved || v == vocab.VerdictUnresolved
	environment := failure.Tier == grade.Environment
	switch {
	case v == vocab.VerdictInfrastructure && !environment:
		e.Failure = grade.Failure{Tier: grade.Environment, Reason: "infrastructure"}
	case v != vocab.VerdictInfrastructure && environment:
		e.Failure = grade.Failure{}
	}
	return e
}

// Final is the final report of a run: <model>.<run_id>.json.
type Final struct {
	Model string // of the first prediction
	RunID string
	Rules logparse.Rules
	// Instances are the ids of all instances asked for.
	Instances []string
	// Predictions may be more than those of Instances, as the harness's may.
	Predictions []Entry
	// Leftovers are what the run left on the engine, or nil where none was used.
	Leftovers *Leftovers
	// Quarantined are ids that were taken out of Instances and Predictions before. The
	// members about them follow those of the harness; without any there are no such members.
	Quarantined []string
}

// Leftovers are containers and images that remain on the engine, by name.
type Leftovers struct {
	Containers, Images []string
}

// Name returns the name of the file. The error is that of [ModelDir].
func (f Final) Name() (string, error) {
	model, err := ModelDir(f.Model)
	return model + "." + f.RunID + ".json", err
}

// JSON returns the text of the file, which ends with a newline.
func (f Final) JSON() ([]byte, error) {
	text, err := python.Dumps(f.members(), indent)
	return append(text, '\n'), err
}

// outcomes are the ids of a final report by how they ended.
type outcomes struct {
	completed, incomplete, empty, submitted, resolved, unresolved, infra, ambiguous, failed []string
	reasons, doubts                                                                         map[string]string
}

func (f Final) outcomes() outcomes {
	predicted := map[string]Entry{}
	o := outcomes{reasons: map[string]string{}, doubts: map[string]string{}}
	for _, e := range f.Predictions {
		predicted[e.InstanceID] = e
		o.submitted = append(o.submitted, e.InstanceID)
	}
	for _, id := range f.Instances {
		e, known := predicted[id]
		switch {
		case !known:
			o.incomplete = append(o.incomplete, id)
		case e.Empty:
			o.empty = append(o.empty, id)
		default:
			o.tested(e)
		}
	}
	for _, list := range []*[]string{
		&o.completed, &o.incomplete, &o.empty, &o.submitted, &o.resolved, &o.unresolved, &o.infra, &o.ambiguous, &o.failed,
	} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		if *list == nil {
			*list = []string{}
		}
	}
	return o
}

// tested sorts in a prediction with a patch.
func (o *outcomes) tested(e Entry) {
	if e.Doubt != "" {
		o.doubts[e.InstanceID] = e.Doubt
	}
	switch {
	case !e.Reported:
		o.failed = append(o.failed, e.InstanceID)
	case e.Resolved:
		o.completed = append(o.completed, e.InstanceID)
		o.resolved = append(o.resolved, e.InstanceID)
		return
	default:
		o.completed = append(o.completed, e.InstanceID)
		o.unresolved = append(o.unresolved, e.InstanceID)
	}
	switch e.Failure.Tier {
	case grade.Environment:
		o.infra = append(o.infra, e.InstanceID)
	case grade.Ambiguous:
		o.ambiguous = append(o.ambiguous, e.InstanceID)
	default:
		return
	}
	o.reasons[e.InstanceID] = e.Failure.Reason
}

func (f Final) members() object {
	o := f.outcomes()
	v5 := f.Rules == logparse.V5
	m := object{
		{"total_instances", len(f.Instances)},
		{"submitted_instances", len(o.submitted)},
		{"completed_instances", len(o.completed)},
		{"resolved_instances", len(o.resolved)},
		{"unresolved_instances", len(o.unresolved)},
	}
	if v5 {
		m = append(m, member{"infra_failure_instances", len(o.infra)}, member{"ambiguous_failure_instances", len(o.ambiguous)})
	}
	m = append(
		m, member{"empty_patch_instances", len(o.empty)}, member{"error_instances", len(o.failed)},
		member{"completed_ids", o.completed}, member{"incomplete_ids", o.incomplete}, member{"empty_patch_ids", o.empty},
		member{"submitted_ids", o.submitted}, member{"resolved_ids", o.resolved}, member{"unresolved_ids", o.unresolved},
	)
	if v5 {
		m = append(m, member{"infra_failure_ids", o.infra}, member{"ambiguous_failure_ids", o.ambiguous}, member{"failure_reasons", o.reasons})
	}
	m = append(m, member{"error_ids", o.failed}, member{"schema_version", 2})
	return append(m, f.additions(o.doubts)...)
}

// additions are the members that follow those of every final report.
func (f Final) additions(doubts map[string]string) object {
	var m object
	if f.Leftovers != nil {
		m = append(
			m, member{"unstopped_instances", len(f.Leftovers.Containers)},
			member{"unstopped_containers", sorted(f.Leftovers.Containers)}, member{"unremoved_images", sorted(f.Leftovers.Images)},
		)
	}
	if len(doubts) > 0 {
		m = append(m, member{"doubts", doubts})
	}
	if len(f.Quarantined) > 0 {
		m = append(m, member{"quarantined_instances", len(f.Quarantined)}, member{"quarantined_ids", sorted(f.Quarantined)})
	}
	return m
}

// sorted is a sorted copy that is never nil.
func sorted(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return list
}
