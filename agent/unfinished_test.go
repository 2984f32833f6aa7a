package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func TestAnUnfinishedStepIsFinishedWithoutANewRequest(t *testing.T) {
	e := &env{outputs: submitting("patch")}
	e.outputs["b"] = printed("B")
	m, j := &script{replies: []*llm.Response{ask("3", submit)}}, &journal{}
	history := []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say("s")}, {Role: llm.RoleUser, Parts: llm.Say("t")}}
	admitted := 0
	end, err := newLoop(t, func(c *Config) { c.StepLimit = 2 }).Run(t.Context(), Turn{
		Messages: history, Model: m, Env: e, Recorder: j,
		Admit: func() error { admitted++; return nil },
		Unfinished: &Unfinished{
			Reply:   say("", call("1", `{"command":"a"}`), call("2", `{"command":"b"}`)),
			Outputs: []vocab.Output{printed("A")},
		},
	})
	if err != nil || end.Status != vocab.StatusSubmitted || end.Calls != 2 || end.Cost != 2 {
		t.Fatalf("got %+v, %v; want status %v, calls 2, cost 2, no error", end, err, vocab.StatusSubmitted)
	}
	if d := cmp.Diff([]string{"b", submit}, e.ran); d != "" {
		t.Errorf("commands run (-want +got):\n%s", d)
	}
	want := "messages action output messages request reply messages action output interrupt messages end"
	if got := strings.Join(j.types(), " "); got != want || admitted != 1 {
		t.Errorf("recorded %s, admitted %d calls; want %v, admitted 1", got, admitted, want)
	}
	if len(m.asked) != 1 || !strings.Contains(m.asked[0][3].Text(), "A") || !strings.Contains(m.asked[0][4].Text(), "B") {
		t.Errorf("asked with %+v, want 1 request, %q in the text, %q in the text", m.asked, "A", "B")
	}
}

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

// A person has said something since the reply that a run would end with: it continues.
func TestWordsAreSaidAfterAnUnusableReply(t *testing.T) {
	filtered := say("")
	filtered.FinishReason = "content_filter"
	for name, reply := range map[string]*llm.Response{"a format error": say("nothing"), "a filtered reply": filtered} {
		m, j := &script{replies: []*llm.Response{ask("2", submit)}}, &journal{}
		end, err := newLoop(t, nil).Run(t.Context(), Turn{
			Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("t")}}, FormatErrors: 1, Model: m, Env: &env{outputs: submitting("p")},
			Recorder: j, Unfinished: &Unfinished{Reply: reply}, Say: "words",
		})
		if err != nil || end.Status != vocab.StatusSubmitted || end.Calls != 2 || len(m.asked) != 1 {
			t.Fatalf("%s: got %+v, %v after %d requests; want it submitted after 1", name, end, err, len(m.asked))
		}
		if last := m.asked[0][len(m.asked[0])-1]; last.Text() != "words" {
			t.Errorf("%s: the model was asked with %+v, want the words last", name, m.asked[0])
		}
		paid := 0
		for _, m := range end.Messages {
			if _, ok := m.Extra["response"]; ok {
				paid++
			}
		}
		if paid != 2 {
			t.Errorf("%s: %d messages refer to a paid reply, want 2: %+v", name, paid, end.Messages)
		}
	}
}
