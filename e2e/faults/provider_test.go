package faults

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/llm/llmtest"
)

// misbehaviours are the faults of a model server.
var misbehaviours = []struct {
	name   string
	answer llmtest.Answer
}{
	{"429", llmtest.Answer{Status: 429, Error: llmtest.ErrorBody{Message: "slow down"}, Header: map[string]string{"Retry-After": "0"}}},
	{"500", llmtest.Refusal(500, "", "oops")},
	{"garbage", llmtest.Answer{Fault: llmtest.Garbage}},
	{"half an answer", llmtest.Answer{Fault: llmtest.Half}},
	{"a hang-up", llmtest.Answer{Fault: llmtest.Hangup}},
	{"silence", llmtest.Answer{Fault: llmtest.Silence}},
}

// impatient is how long a run waits for an answer here, in seconds. If a loaded
// machine makes a good answer late, that counts as one more fault.
const impatient = "model.model_kwargs.timeout=5"

func TestACallIsRepeatedAfterEachServerFault(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	want := undisturbed(t)
	r := newCrashRun(t, 2)
	r.args = []string{"-c", impatient}
	var requests atomic.Int64
	r.wrong = func(string, int) (llmtest.Answer, bool) {
		n := int(requests.Add(1))
		if n%2 == 1 || n/2 > len(misbehaviours) {
			return llmtest.Answer{}, false
		}
		return misbehaviours[n/2-1].answer, true
	}
	r.finish(want)
	if r.again < len(misbehaviours) {
		t.Errorf("%d requests were made again, want one for each of %d misbehaviours", r.again, len(misbehaviours))
	}
}

func TestAServerThatKeepsFailingLosesNoPaidReply(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	want := undisturbed(t)
	// Refusals that do not say how long would be repeated for limit.Patience.
	quota := llmtest.Refusal(429, "", "the quota of today is used up")
	quota.Header = map[string]string{"Retry-After": "7200"}
	for _, tc := range []struct {
		name    string
		answers [3]llmtest.Answer
		code    int
		status  string
	}{
		{"500, garbage and half an answer", [3]llmtest.Answer{llmtest.Refusal(500, "", "oops"), {Fault: llmtest.Garbage}, {Fault: llmtest.Half}}, e2e.ExitIncomplete, "TransientFault"},
		{"a hang-up, silence and 500", [3]llmtest.Answer{{Fault: llmtest.Hangup}, {Fault: llmtest.Silence}, llmtest.Refusal(500, "", "oops")}, e2e.ExitIncomplete, "TransientFault"},
		{"429 for two hours", [3]llmtest.Answer{quota, quota, quota}, e2e.ExitFailed, "the provider asks for a pause of 2h"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newCrashRun(t, 2)
			settings := []string{"-c", impatient, "-c", "model.model_kwargs.num_retries=1"}
			r.args = append(settings, "--retry", "transient=0")
			var well atomic.Bool
			r.wrong = func(id string, n int) (llmtest.Answer, bool) {
				i := slices.Index(crashIDs, id)
				if i < 0 || n < 2 || well.Load() {
					return llmtest.Answer{}, false
				}
				return tc.answers[i], true
			}
			if code, died := r.liveWith(0); code != tc.code || died || !strings.Contains(r.out, tc.status) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, tc.code, tc.status, r.out)
			}
			well.Store(true)
			r.args = append(settings, "--retry", "transient=9")
			r.lives++ // `batch run`, since `batch resume` would take the first run's --retry
			r.finish(want)
		})
	}
}
