package attempt_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
	processes "batch.example/batch/sandbox/engine/memory"
	"batch.example/batch/vocab"
)

// connect returns a host on an engine that runs plain processes. It skips the test if this
// machine or user cannot run them.
func connect(t *testing.T) *sandbox.Host {
	t.Helper()
	h, err := sandbox.Start(t.Context(), sandbox.Config{
		Engines: sandbox.One(processes.At(t.TempDir())), State: t.TempDir(), Timeout: 3 * time.Minute,
		Container: engine.Spec{WorkDir: "/testbed", Unattended: 5 * time.Minute},
	})
	if err != nil {
		enginetest.Lacks(t, "%v", err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func tool(name string, arguments map[string]any) llm.ToolCall {
	text, _ := json.Marshal(arguments)
	return llm.ToolCall{Name: name, Arguments: string(text)}
}

// In a real container, reads run at the same time: each of two waits for the other. The
// editor changes and undoes, and leaves nothing in the repository.
func TestReadsAndTheEditorInAContainer(t *testing.T) {
	h := connect(t)
	ds, err := dataset.Open(t.Context(), dataset.Source{Name: "demo", Demo: demo.Files()})
	if err != nil {
		t.Fatal(err)
	}
	meet := func(mine, other string) llm.ToolCall {
		return tool("look", map[string]any{"command": "touch /tmp/" + mine + "; until [ -e /tmp/" + other + " ]; do sleep 0.05; done; echo met"})
	}
	edit := func(command, path string, more map[string]any) llm.ToolCall {
		args := map[string]any{"command": command, "path": path}
		for name, v := range more {
			args[name] = v
		}
		return tool("editor", args)
	}
	command := func(c string) llm.ToolCall { return tool("bash", map[string]any{"command": c}) }
	replies := [][]llm.ToolCall{
		{
			edit("create", "a/new.txt", map[string]any{"file_text": "one\n"}),
			edit("insert", "a/new.txt", map[string]any{"insert_line": 1, "insert_text": "two"}),
			edit("view", "a/new.txt", nil), edit("view", "a/new.txt", map[string]any{"view_range": []int{2, 2}}),
		},
		{meet("x", "y"), meet("y", "x")},
		{edit("undo", "a/new.txt", nil), command("cat a/new.txt"), edit("undo", "/testbed/a/new.txt", nil), edit("undo", "a/new.txt", nil), command("git status --porcelain")},
		{command("echo " + vocab.Marker)},
	}
	var play []scripted.Reply
	for _, calls := range replies {
		play = append(play, scripted.Reply{ToolCalls: calls})
	}
	loop, err := agent.NewLoop(agent.Config{
		SystemTemplate: "s", InstanceTemplate: "i", ObservationTemplate: "{{output.returncode}} {{output.output}}", Limits: vocab.Limits{Steps: 9},
		Actions: agent.ActionForm{Kind: agent.Tools, Tools: append(lookingTools(), agent.EditorTool())},
	})
	if err != nil {
		t.Fatal(err)
	}
	in := ds.Instances[0]
	files, err := fs.Sub(demo.Files(), "tasks/"+in.ID+"/repo")
	if err != nil {
		t.Fatal(err)
	}
	in.Image = enginetest.Testbed(t, files)
	r, store, err := solveWith(t, attempt.Config{
		Loop: loop, Sandboxes: opens(func(o sandbox.Opening) (attempt.Sandbox, error) { return h.Open(t.Context(), o) }),
	}, in, scripted.Script{in.ID: play}.Model(in.ID, scripted.Config{}), runner.NewBudget(0, 0, 0))
	if err != nil || r.Record.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v", r.Record, err, vocab.StatusSubmitted)
	}
	var saw []string
	for _, m := range saved(t, store, r).Messages {
		var read llm.Message
		if err := json.Unmarshal(m, &read); err != nil {
			t.Fatal(err)
		}
		if read.Role == llm.RoleTool {
			saw = append(saw, strings.TrimSpace(read.Text()))
		}
	}
	want := []string{
		"0 a/new.txt was created.", "0 a/new.txt was changed: the text was inserted after line 1.",
		"0      1\tone\n     2\ttwo", "0      2\ttwo",
		"0 met", "0 met",
		"0 a/new.txt was restored: it is as it was before its last insert.", "0 one",
		"0 /testbed/a/new.txt was removed: it is as it was before its last create.",
		"1 There is nothing to undo in a/new.txt: the editor has no earlier content of it.", "0",
	}
	if got := strings.Join(saw, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the model saw\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
