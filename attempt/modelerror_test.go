package attempt_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// A call that failed, and is shown to the model, is settled before the next one: what it may
// have cost counts, and what was reserved for it is free. A resumed attempt has the message.
func TestAFailedCallThatTheModelIsShownIsSettled(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		lost float64
	}{
		"perhaps paid": {fault.Newf(fault.Transient, "no answer"), 0.5},
		"unpaid":       {&llm.Unpaid{Err: fault.Newf(fault.Transient, "no answer")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlaying(t, []scripted.Reply{bash("do 1"), bash("submit")}, func(c *agent.Config) { c.ModelErrors = 2 })
			p.budget = runner.NewBudget(10, 0, 0.5)
			reply := func(command string) (*llm.Response, error) {
				return &llm.Response{
					Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("", bash(command).ToolCalls...)}, Cost: 0.5, Priced: true,
				}, nil
			}
			calls := 0
			p.model = func() llm.Model {
				return models(func() (*llm.Response, error) {
					calls++
					switch calls {
					case 1:
						return reply("do 1")
					case 2, 3:
						return nil, c.err
					default:
						return reply("submit")
					}
				})
			}
			whole := t.TempDir()
			r := p.solve(whole)
			if r.Record.Status != vocab.StatusSubmitted || r.Record.Steps != 2 || r.Record.Cost != 1 || calls != 4 {
				t.Fatalf("got %+v after %d calls, want 2 steps of 4 calls", r.Record, calls)
			}
			if want := 1 + 2*c.lost; p.budget.Spent() != want {
				t.Errorf("spent %v, want %v", p.budget.Spent(), want)
			}
			if lost := recorded[journal.LostData](t, whole, journal.TypeLost); len(lost) != 0 && c.lost == 0 || c.lost > 0 && (len(lost) != 2 || lost[0].Step != 2) {
				t.Errorf("recorded %+v as lost, want %v twice at step 2", lost, c.lost)
			}
			want := messages(t, whole)
			if text := strings.Join(want, "\n"); strings.Count(text, "The last call of the model failed: no answer") != 2 {
				t.Errorf("the messages are %s, want the failure twice", text)
			}
			// Cut after the last request, which was made with both messages.
			lines := p.lines(whole)
			cut := 0
			for i, l := range slices.Backward(lines) {
				if bytes.Contains(l, []byte(`"type":"request"`)) {
					cut = i
					break
				}
			}
			calls = 3
			dir := p.crashed(lines[:cut+1], true)
			p.solve(dir)
			if d := cmp.Diff(want, messages(t, dir)); d != "" || calls != 4 {
				t.Errorf("after %d calls, the messages of the resumed attempt (-want +got):\n%s", calls, d)
			}
		})
	}
}
