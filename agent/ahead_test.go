package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// lookTool is a read-only tool; its command is its argument.
func lookTool() Tool {
	return Tool{
		Tool: llm.Tool{Name: "look"},
		Decode: func(args map[string]any) (Call, []string) {
			at, _ := args["at"].(string)
			return Call{Command: "look " + at, Arguments: args}, nil
		},
		ReadOnly: func(c Call) bool { return c.Command != "look out" },
	}
}

// look and do are calls of lookTool and of bash.
func look(at string) llm.ToolCall {
	return llm.ToolCall{ID: "look " + at, Name: "look", Arguments: fmt.Sprintf(`{"at":%q}`, at)}
}

func do(what string) llm.ToolCall { return call(what, fmt.Sprintf(`{"command":%q}`, what)) }

// reader is an env that reads at the same time. Reads wait until as many as meet are in
// flight.
type reader struct {
	env
	mu      sync.Mutex
	meet    int
	met     chan struct{}
	reading int
	most    int // in flight at once
	reads   []string
	fails   map[string]error
	panics  string
}

func (r *reader) Read(ctx context.Context, command string) (vocab.Output, error) {
	r.mu.Lock()
	r.reading++
	r.most = max(r.most, r.reading)
	r.reads = append(r.reads, command)
	if r.reading == r.meet {
		close(r.met)
	}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.reading--
		r.mu.Unlock()
	}()
	if r.meet > 0 {
		select {
		case <-r.met:
		case <-ctx.Done():
		}
	}
	if command == r.panics {
		panic("a bug of the environment")
	}
	if err := r.fails[command]; err != nil {
		return vocab.Output{}, err
	}
	return seen(command), nil
}

func seen(command string) vocab.Output {
	out := printed("read " + command + "\n")
	out.Total = int64(len(out.Bytes))
	if command == "look slow" {
		out.TimedOut, out.Timeout = true, time.Minute
	}
	return out
}

// Execute also tests that nothing is read meanwhile.
func (r *reader) Execute(ctx context.Context, command string) (vocab.Output, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading > 0 {
		return vocab.Output{}, fault.Newf(fault.Bug, "%q runs while %d are read", command, r.reading)
	}
	out, err := r.env.Execute(ctx, command)
	if err == nil && strings.HasPrefix(command, "look ") {
		out = seen(command)
	}
	return out, err
}

func (j *journal) actions() (list []string) {
	for _, e := range j.events {
		switch e.Type {
		case EventAction:
			list = append(list, fmt.Sprintf("%d.%d %s", e.Step, e.Action, e.Command))
		case EventOutput:
			list = append(list, fmt.Sprintf("%d.%d = %s", e.Step, e.Action, e.Output.Bytes))
		}
	}
	return list
}

func looking(t *testing.T) *Loop {
	t.Helper()
	return newLoop(t, withTools(BashTool(), lookTool()))
}

func TestReadOnlyActionsRunAtTheSameTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e := &reader{env: env{outputs: submitting("p")}, meet: 3, met: make(chan struct{})}
	m, j := &script{replies: []*llm.Response{
		say("", do("a"), look("x"), look("y"), look("z"), do("b"), look("w"), look("out"), do("c")),
		ask("s", submit),
	}}, &journal{}
	end, err := looking(t).Run(ctx, Turn{Model: m, Env: e, Recorder: j})
	if err != nil || end.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v", end, err, vocab.StatusSubmitted)
	}
	if e.most != 3 || len(e.reads) != 3 {
		t.Errorf("%d of the reads %q were in flight at once, want 3 of 3", e.most, e.reads)
	}
	if d := cmp.Diff([]string{"a", "b", "look w", "look out", "c", submit}, e.ran); d != "" { // one alone has a record first
		t.Errorf("commands run one after the other (-want +got):\n%s", d)
	}
	want := []string{
		"1.1 a", "1.1 = ", "1.2 look x", "1.2 = read look x\n", "1.3 look y", "1.3 = read look y\n", "1.4 look z", "1.4 = read look z\n",
		"1.5 b", "1.5 = ", "1.6 look w", "1.6 = read look w\n", "1.7 look out", "1.7 = read look out\n", "1.8 c", "1.8 = ",
	}
	if d := cmp.Diff(want, j.actions()[:len(want)]); d != "" {
		t.Errorf("recorded (-want +got):\n%s", d)
	}
	for i, m := range m.asked[1][3:] {
		if want := []string{"a", "look x", "look y", "look z", "b", "look w", "look out", "c"}[i]; m.ToolCallID() != want {
			t.Errorf("observation %d is of %q, want %q", i, m.ToolCallID(), want)
		}
	}
}

func TestAViewOfTheEditorIsReadOnly(t *testing.T) {
	editor := EditorTool()
	for args, want := range map[string]bool{`{"command":"view","path":"f"}`: true, `{"command":"create","path":"f","file_text":"view"}`: false, `{"command":"undo","path":"f"}`: false} {
		f, err := newForm(ActionForm{Kind: Tools})
		if err != nil {
			t.Fatal(err)
		}
		a, err := f.parseCall(llm.ToolCall{ID: "1", Name: "editor", Arguments: args})
		if err != nil || editor.ReadOnly(a.Call) != want {
			t.Errorf("%s: %v, want read-only %v", args, err, want)
		}
	}
}

func TestReadsWithoutAReaderRunInOrder(t *testing.T) {
	e := &env{outputs: submitting("p")}
	m, j := &script{replies: []*llm.Response{say("", look("x"), look("y")), ask("s", submit)}}, &journal{}
	if _, err := looking(t).Run(t.Context(), Turn{Model: m, Env: e, Recorder: j}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"look x", "look y", submit}, e.ran); d != "" {
		t.Errorf("commands run (-want +got):\n%s", d)
	}
}

func TestAtMostSoManyReadsRunAtTheSameTime(t *testing.T) {
	e := &reader{env: env{outputs: submitting("p")}}
	var calls []llm.ToolCall
	for i := range 3 * maxReads {
		calls = append(calls, look(fmt.Sprint(i)))
	}
	m := &script{replies: []*llm.Response{say("", calls...), ask("s", submit)}}
	end, err := looking(t).Run(t.Context(), Turn{Model: m, Env: e})
	if err != nil || end.Status != vocab.StatusSubmitted || e.most > maxReads || len(e.reads) != len(calls) {
		t.Errorf("got %+v, %v; %d of %d reads at once, want %d at most", end, err, e.most, len(e.reads), maxReads)
	}
}

func TestReadsAreApprovedBeforeTheyStart(t *testing.T) {
	e := &reader{env: env{outputs: submitting("p")}}
	m, j := &script{replies: []*llm.Response{say("", look("x"), look("y"), look("no"), look("z")), ask("s", submit)}}, &journal{}
	var asked []string
	approve := func(_ context.Context, _ string, c Call) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		asked = append(asked, fmt.Sprint(c.Command, " ", len(e.reads)))
		if c.Command == "look no" {
			return Interrupted("not there")
		}
		return nil
	}
	end, err := looking(t).Run(t.Context(), Turn{Model: m, Env: e, Recorder: j, Hooks: Hooks{Approve: approve}})
	if err != nil || end.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v", end, err, vocab.StatusSubmitted)
	}
	if d := cmp.Diff([]string{"look x 0", "look y 0", "look no 0", submit + " 2"}, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
	if len(e.reads) != 2 {
		t.Errorf("read %q, want the two before", e.reads)
	}
	var saw []string
	for _, m := range m.asked[1][3:] {
		saw = append(saw, fmt.Sprintf("%s %s %v", m.Role, m.ToolCallID(), strings.Contains(m.Text(), "not executed")))
	}
	if d := cmp.Diff([]string{"tool look x false", "tool look y false", "tool look no true", "tool look z true", "user  false"}, saw); d != "" {
		t.Errorf("the model saw (-want +got):\n%s", d)
	}
	away := errors.New("the person is away")
	for _, at := range []string{"look x", "look y"} {
		e, j := &reader{}, &journal{}
		_, err = looking(t).Run(t.Context(), Turn{
			Model: &script{replies: []*llm.Response{say("", look("x"), look("y"))}}, Env: e, Recorder: j,
			Hooks: Hooks{Approve: func(_ context.Context, _ string, c Call) error {
				if c.Command == at {
					return away
				}
				return nil
			}},
		})
		if !errors.Is(err, away) {
			t.Errorf("%s: %v, want %v", at, err, away)
		}
	}
}

func TestReadsWaitForTheEnvironment(t *testing.T) {
	e, gone := &reader{}, errors.New("the environment is gone")
	_, err := looking(t).Run(t.Context(), Turn{
		Model: &script{replies: []*llm.Response{say("", look("x"), look("y"))}}, Env: e, Hooks: Hooks{Ready: func(context.Context) error { return gone }},
	})
	if !errors.Is(err, gone) || len(e.reads) > 0 {
		t.Errorf("%v after the reads %q, want %v before them", err, e.reads, gone)
	}
}

func TestAReadThatFailsEndsTheRunInItsTurn(t *testing.T) {
	broken := fault.Newf(fault.Transient, "the engine is away")
	for name, c := range map[string]struct {
		err    error
		status vocab.Status
	}{
		"a fault":      {broken, vocab.StatusTransientFault},
		"no container": {fmt.Errorf("%w: no bash", vocab.ErrDestroyed), vocab.StatusEnvironmentDestroyed},
	} {
		e := &reader{fails: map[string]error{"look y": c.err, "look z": errors.New("later")}}
		m, j := &script{replies: []*llm.Response{say("", look("x"), look("y"), look("z"))}}, &journal{}
		end, err := looking(t).Run(t.Context(), Turn{Model: m, Env: e, Recorder: j})
		if end.Status != c.status || (err != nil) != errors.Is(c.err, broken) {
			t.Errorf("%s: got %+v, %v; want status %v", name, end, err, c.status)
		}
		if d := cmp.Diff([]string{"1.1 look x", "1.1 = read look x\n", "1.2 look y"}, j.actions()); d != "" {
			t.Errorf("%s: recorded (-want +got):\n%s", name, d)
		}
	}
	e := &reader{env: env{outputs: submitting("p")}}
	m, j := &script{replies: []*llm.Response{say("", look("x"), look("slow"), look("z")), ask("s", submit)}}, &journal{}
	if end, err := looking(t).Run(t.Context(), Turn{Model: m, Env: e, Recorder: j}); err != nil || end.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v", end, err, vocab.StatusSubmitted)
	}
	if got := j.actions(); len(got) != 6 || !strings.Contains(m.asked[1][5].Text(), "not executed") {
		t.Errorf("recorded %q, shown %q; want that nothing follows a time-out", got, m.asked[1][5].Text())
	}
}

func TestAPanicOfAReadIsOneOfTheRun(t *testing.T) {
	defer func() {
		if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "a bug of the environment") || !strings.Contains(p, "ahead_test.go") {
			t.Errorf("panic %s, want the panic of the environment with its stack", p)
		}
	}()
	e := &reader{panics: "look y"}
	_, _ = looking(t).Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{say("", look("x"), look("y"))}}, Env: e})
}
