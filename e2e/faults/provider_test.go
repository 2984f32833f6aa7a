package faults

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
)

// misbehaviours are the faults of a model server.
var misbehaviours = []struct {
	name   string
	answer stub.Answer
}{
	{"429", stub.Answer{Status: 429, Error: stub.ErrorBody{Message: "slow down"}, Header: map[string]string{"Retry-After": "0"}}},
	{"500", stub.Refusal(500, "", "oops")},
	{"garbage", stub.Answer{Fault: stub.Garbage}},
	{"half an answer", stub.Answer{Fault: stub.Half}},
	{"a hang-up", stub.Answer{Fault: stub.Hangup}},
	{"silence", stub.Answer{Fault: stub.Silence}},
}

// impatient is how long a run waits for an answer here, in seconds. If a loaded
// machine makes a good answer late, that counts as one more fault.
const impatient = "model.model_kwargs.timeout=5"

func TestACallIsRepeatedAfterEachServerFault(t *testing.T) {
	tier.Rest(t, "llm/*.go", "llm/endpoint", "attempt/*.go", "attempt/session")
	e2e.NeedDocker(t)
	t.Parallel()
	want := undisturbed(t)
	r := newCrashRun(t, 2)
	r.args = []string{"-c", impatient}
	var requests atomic.Int64
	r.wrong = func(string, int) (stub.Answer, bool) {
		n := int(requests.Add(1))
		if n%2 == 1 || n/2 > len(misbehaviours) {
			return stub.Answer{}, false
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
	quota := stub.Refusal(429, "", "the quota of today is used up")
	quota.Header = map[string]string{"Retry-After": "7200"}
	for _, tc := range []struct {
		name    string
		answers [3]stub.Answer
		code    int
		status  string
	}{
		{"500, garbage and half an answer", [3]stub.Answer{stub.Refusal(500, "", "oops"), {Fault: stub.Garbage}, {Fault: stub.Half}}, e2e.ExitIncomplete, "TransientFault"},
		{"a hang-up, silence and 500", [3]stub.Answer{{Fault: stub.Hangup}, {Fault: stub.Silence}, stub.Refusal(500, "", "oops")}, e2e.ExitIncomplete, "TransientFault"},
		{"429 for two hours", [3]stub.Answer{quota, quota, quota}, e2e.ExitFailed, "the provider asks for a pause of 2h"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newCrashRun(t, 2)
			settings := []string{"-c", impatient, "-c", "model.model_kwargs.num_retries=1"}
			r.args = append(settings, "--retry", "transient=0")
			var well atomic.Bool
			r.wrong = func(id string, n int) (stub.Answer, bool) {
				i := slices.Index(crashIDs, id)
				if i < 0 || n < 2 || well.Load() {
					return stub.Answer{}, false
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
