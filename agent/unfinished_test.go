package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func TestFormatErrorsBeforeAResumeCount(t *testing.T) {
	m := &script{replies: []*llm.Response{say("nothing")}}
	end, err := newLoop(t, nil).Run(t.Context(), Turn{
		Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("t")}}, FormatErrors: 1, Model: m, Env: &env{},
		Unfinished: &Unfinished{Reply: say("nothing either")},
	})
	if err != nil || end.Status != vocab.StatusRepeatedFormatError || len(m.asked) != 1 {
		t.Errorf("got %+v, %v, asked %d times; want status %v, 1 request, no error",
			end, err, len(m.asked), vocab.StatusRepeatedFormatError)
	}
}

// When less of an output is kept than there was, a template could not produce
// again what the model saw.
func TestAResumeShowsTheModelTheSameObservation(t *testing.T) {
	m := &script{replies: []*llm.Response{ask("2", submit)}}
	_, err := newLoop(t, nil).Run(t.Context(), Turn{
		Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("t")}}, Model: m, Env: &env{outputs: submitting("p")},
		Unfinished: &Unfinished{Reply: ask("1", "ls"), Outputs: []vocab.Output{{Bytes: []byte("less"), Total: 4, Shown: "all that there was"}}},
	})
	if err != nil || len(m.asked) != 1 || m.asked[0][2].Text() != "all that there was" {
		t.Errorf("asked with %+v, %v; want 1 request, text %q, no error", m.asked, err, "all that there was")
	}
}

// An action that had begun before an interruption was approved then. Whether its result is known
// decides whether it is executed, under its id, or the model reads that nothing is known.
func TestAnActionThatHadBegunIsNotApprovedAgain(t *testing.T) {
	unknown := func(string) error { return &Interrupt{Name: vocab.StatusUserInterruption} }
	for name, c := range map[string]struct {
		begun    func(command string) error // nil: there is none
		say      string
		ran      []string
		approved []string
		read     []string // by the model
	}{
		"its result is known":            {func(string) error { return nil }, "", []string{"b", "c"}, []string{"c"}, []string{"A", "B", "C"}},
		"its result is known, and words": {func(string) error { return nil }, "words", []string{"b"}, nil, []string{"A", "B", "action was not executed", "words"}},
		"it is not known":                {unknown, "", nil, nil, []string{"A", cutOff, "action was not executed"}},
		"it is not known, and words":     {unknown, "words", nil, nil, []string{"A", cutOff, "action was not executed", "words"}},
		"no caller asks, and words":      {nil, "words", nil, nil, []string{"A", cutOff, "action was not executed", "words"}},
		"no caller asks":                 {nil, "", []string{"b", "c"}, []string{"b", "c"}, []string{"A", "B", "C"}},
	} {
		e := &env{outputs: submitting("p")}
		e.outputs["b"], e.outputs["c"] = printed("B"), printed("C")
		m := &script{replies: []*llm.Response{ask("4", submit)}}
		var approved []string
		turn := Turn{
			Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("t")}}, Model: m, Env: e, Say: c.say,
			Unfinished: &Unfinished{
				Reply:   say("", call("1", `{"command":"a"}`), call("2", `{"command":"b"}`), call("3", `{"command":"c"}`)),
				Outputs: []vocab.Output{printed("A")}, Begun: true,
			},
			Hooks: Hooks{Approve: func(_ context.Context, _ string, c Call) error {
				if c.Command != submit {
					approved = append(approved, c.Command)
				}
				return nil
			}},
		}
		if c.begun != nil {
			turn.Begun = func(_ context.Context, _ string, a Call) error {
				if a.Command != "b" {
					t.Errorf("%s: asked whether the result of %q is known", name, a.Command)
				}
				return c.begun(a.Command)
			}
		}
		if end, err := newLoop(t, nil).Run(t.Context(), turn); err != nil || end.Status != vocab.StatusSubmitted {
			t.Fatalf("%s: got %+v, %v; want status %v", name, end, err, vocab.StatusSubmitted)
		}
		if d := cmp.Diff(append(c.ran, submit), e.ran); d != "" {
			t.Errorf("%s: commands run (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(c.approved, approved); d != "" {
			t.Errorf("%s: approved (-want +got):\n%s", name, d)
		}
		var read []string
		for _, m := range m.asked[0][2:] {
			read = append(read, strings.Split(m.Text(), llm.Between)...)
		}
		if len(read) != len(c.read) {
			t.Fatalf("%s: the model reads %q, want %q", name, read, c.read)
		}
		for i, want := range c.read {
			if !strings.Contains(read[i], want) {
				t.Errorf("%s: the model reads %q, want %q", name, read[i], want)
			}
		}
	}
}
