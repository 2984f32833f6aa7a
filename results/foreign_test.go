package results_test

import (
	"fmt"
	"testing"

	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

func TestStatusesOfOtherToolsAreOutcomes(t *testing.T) {
	for status, want := range map[string]vocab.Outcome{
		"ContextWindowExceededError":  vocab.OutcomeLimit, // the name in mini-swe-agent
		"ContextWindowExceeded":       vocab.OutcomeLimit,
		"ContentPolicyViolationError": vocab.OutcomeFailed,
		"ContentPolicyViolation":      vocab.OutcomeFailed,
		"RepeatedFormatError":         vocab.OutcomeFormat,
		"TimeExceeded":                vocab.OutcomeLimit,
	} {
		dir := t.TempDir()
		write(t, `{"a": {"model_name_or_path": "m", "instance_id": "a", "model_patch": ""}}`, dir, "preds.json")
		write(t, fmt.Sprintf(`{"info": {"exit_status": %q}}`, status), dir, "a", "a.traj.json")
		s := open(t, dir)
		if r, ok := s.Finished("a"); !ok || r.Outcome != want || !r.Outcome.Final() {
			t.Errorf("%s: got %+v, finished %v; want ok true, outcome %v, final true", status, r, ok, want)
		}
		closeStore(t, s)
	}
}

// What another tool paid stays in the bill after batch has replaced its attempt.
func TestAReplacedAttemptOfAnotherToolIsInTheRecords(t *testing.T) {
	dir := t.TempDir()
	write(t, `{"a": {"model_name_or_path": "m", "instance_id": "a", "model_patch": ""}}`, dir, "preds.json")
	write(t, `{"info": {"exit_status": "LimitsExceeded", "model_stats": {"api_calls": 2, "instance_cost": 0.25}}}`, dir, "a", "a.traj.json")
	s := open(t, dir)
	if err := s.Reset([]string{"a"}, false); err != nil {
		t.Fatal(err)
	}
	put(t, s, result("a", "patch"))
	closeStore(t, s)
	snap, err := results.Read(dir)
	if err != nil || len(snap.Records) != 2 {
		t.Fatalf("%v, %+v; want two records", err, snap)
	}
	if r := snap.Records[0]; r.Attempt != 0 || !r.Replaced || r.Status != "LimitsExceeded" || r.Steps != 2 || r.Cost != 0.25 {
		t.Errorf("the replaced attempt is %+v", r)
	}
	if last := results.Latest(snap.Records[:1]); len(last) != 0 {
		t.Errorf("it counts: %+v", last)
	}
	if mixed := results.MixedIn(snap); mixed != nil {
		t.Errorf("its results are %+v", mixed)
	}
}

func TestAPredictionOfAnotherToolHasTheOutcomeOfItsTrajectory(t *testing.T) {
	for name, c := range map[string]struct {
		patch, trajectory string
		status            vocab.Status
		want              vocab.Outcome
		steps             int
	}{
		"a patch, and no trajectory":         {"p", "", "Unknown", vocab.OutcomeSubmitted, 0},
		"neither":                            {"", "", "Unknown", vocab.OutcomeInfrastructure, 0},
		"an empty submission":                {"", `{"info":{"exit_status":"Submitted","model_stats":{"api_calls":3}}}`, "Submitted", vocab.OutcomeEmpty, 3},
		"a patch of a run that failed":       {"p", `{"info":{"exit_status":"Timeout"}}`, "Timeout", vocab.OutcomeSubmitted, 0},
		"a run that failed":                  {"", `{"info":{"exit_status":"Timeout"}}`, "Timeout", vocab.OutcomeInfrastructure, 0},
		"a patch of a run out of its limit":  {"p", `{"info":{"exit_status":"LimitsExceeded"}}`, "LimitsExceeded", vocab.OutcomeLimit, 0},
		"a destroyed environment":            {"", `{"info":{"exit_status":"EnvironmentDestroyed"}}`, "EnvironmentDestroyed", vocab.OutcomeFailed, 0},
		"a head behind the messages":         {"", `{"messages":[{"info":{}}],"info":{"exit_status":"Submitted","model_stats":{"api_calls":3}}}`, "Submitted", vocab.OutcomeEmpty, 3},
		"a head with cut off messages":       {"", `{"info":{"exit_status":"Submitted","model_stats":{"api_calls":3}},"messages":[{"ro`, "Submitted", vocab.OutcomeEmpty, 3},
		"a trajectory that is cut before it": {"", `{"messages":[{"ro`, "Unknown", vocab.OutcomeInfrastructure, 0},
		"one that is a list":                 {"", `["info"]`, "Unknown", vocab.OutcomeInfrastructure, 0},
		"one without a head":                 {"", `{"messages":[]}`, "Unknown", vocab.OutcomeInfrastructure, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, fmt.Sprintf(`{"a": {"model_name_or_path": "m", "instance_id": "a", "model_patch": %q}}`, c.patch), dir, "preds.json")
			if c.trajectory != "" {
				write(t, c.trajectory, dir, "a", "a.traj.json")
			}
			s := open(t, dir)
			r, ok := s.Finished("a")
			if r.Outcome != c.want || ok != c.want.Final() || r.Status != c.status || r.Steps != c.steps || r.Model != "m" || r.PatchBytes != len(c.patch) || r.Attempt != 0 {
				t.Errorf("got %+v, finished %v; want outcome %v, ok %v, status %v, steps %v, model %q, patch bytes %v, attempt 0",
					r, ok, c.want, c.want.Final(), c.status, c.steps, "m", len(c.patch))
			}
			closeStore(t, s)
		})
	}
}
