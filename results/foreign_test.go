package results_test

import (
	"fmt"
	"testing"

	"batch.example/batch/results"
)

func TestWhatEndedAnAgentElsewhereIsAResultHere(t *testing.T) {
	for status, want := range map[string]results.Outcome{
		"ContextWindowExceededError":  results.Limit, // mini-swe-agent's
		"ContextWindowExceeded":       results.Limit,
		"ContentPolicyViolationError": results.Failed,
		"ContentPolicyViolation":      results.Failed,
		"RepeatedFormatError":         results.Format,
		"TimeExceeded":                results.Limit,
	} {
		dir := t.TempDir()
		write(t, `{"a": {"model_name_or_path": "m", "instance_id": "a", "model_patch": ""}}`, dir, "preds.json")
		write(t, fmt.Sprintf(`{"info": {"exit_status": %q}}`, status), dir, "a", "a.traj.json")
		s := open(t, dir)
		if r, ok := s.Finished("a"); !ok || r.Outcome != want || !r.Outcome.Final() {
			t.Errorf("%s: %+v, finished %v", status, r, ok)
		}
		closeStore(t, s)
	}
}
