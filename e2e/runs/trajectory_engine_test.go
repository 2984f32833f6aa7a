package runs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// The recorded runs' repository, as far as their commands need it.
const recordedRepository = `mkdir -p tests && printf '%s\n' '#!/usr/bin/env python3' '' '' 'def division(a: float, b: float) -> float' '    return a/b' '' '' 'if __name__ == "__main__":' '    print(division(123, 15))' '' > tests/missing_colon.py && echo __pycache__ >> .gitignore && chmod +x tests/missing_colon.py && git add -A && git -c user.name=a -c user.email=a@b commit -qm tests`

// recordedMessage is a message as its text.
type recordedMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Recorded runs of another agent are played in a container: the same commands run, and
// the run ends with the same submission.
func TestRecordedTrajectoriesAreReplayedInAContainer(t *testing.T) {
	tier.Rest(t, "llm/scripted", "results/trajectory", "agent/*.go")
	folder, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "data", "trajectories"))
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := filepath.Glob(filepath.Join(folder, "*.traj.json"))
	if err != nil || len(recorded) == 0 {
		t.Skip("no recorded trajectories beside the project")
	}
	e2e.NeedDocker(t)
	for _, path := range recorded {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			var want []recordedMessage
			e2e.ReadJSON(t, path, &want)
			dir := t.TempDir()
			e2e.OwnRows(t, dir)
			out, err := e2e.Batch(t, dir, "run", "--subset", "rows.jsonl", "--slice", ":1", "-m", "scripted/"+path, "-o", "out", "-q",
				"-c", "model.model_class=litellm_textbased", "-c", "run.env_startup_command="+recordedRepository).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if r := e2e.Record(t, dir); r.Status != vocab.StatusSubmitted || r.Steps != len(replies(want)) || r.Differences != 0 {
				t.Errorf("%s after %d steps, want %s after %d", r.Status, r.Steps, vocab.StatusSubmitted, len(replies(want)))
			}
			var traj struct{ Messages []json.RawMessage }
			paths, _ := filepath.Glob(filepath.Join(dir, "out", "*", "*.traj.json"))
			if len(paths) != 1 {
				t.Fatalf("%d trajectories, want 1", len(paths))
			}
			e2e.ReadJSON(t, paths[0], &traj)
			var got []recordedMessage
			for _, raw := range traj.Messages {
				var m recordedMessage
				if err := json.Unmarshal(raw, &m); err != nil {
					t.Fatal(err)
				}
				got = append(got, m)
			}
			if g, w := replies(got), replies(want); !reflect.DeepEqual(g, w) {
				t.Errorf("replies %q, want %q", g, w)
			}
			checkRan(t, dir, replies(want))
			submitted, err := os.ReadFile(strings.TrimSuffix(paths[0], ".traj.json") + ".patch")
			if last := want[len(want)-1].Content; err != nil || strings.TrimSpace(string(submitted)) != strings.TrimSpace(last) {
				t.Errorf("submitted %q, %v; want %q", submitted, err, last)
			}
		})
	}
}

// replies are the texts of the model.
func replies(messages []recordedMessage) (texts []string) {
	for _, m := range messages {
		if m.Role == "assistant" {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

var recordedCommand = regexp.MustCompile("(?s)```mswea_bash_command\n(.*?)\n```")

// checkRan fails unless the commands of the replies ran, each once and in this order.
func checkRan(t *testing.T, dir string, replies []string) {
	t.Helper()
	var want []string
	for _, text := range replies {
		for _, found := range recordedCommand.FindAllStringSubmatch(text, -1) {
			want = append(want, found[1])
		}
	}
	if got := commandsRun(t, dir); !reflect.DeepEqual(got, want) {
		t.Errorf("ran %q, want %q", got, want)
	}
}

// commandsRun are the commands of the only instance, as its journal has them.
func commandsRun(t *testing.T, dir string) (commands []string) {
	t.Helper()
	for _, r := range e2e.OnlyJournal(t, dir) {
		if r.Type != journal.TypeAction {
			continue
		}
		var a journal.ActionData
		if err := json.Unmarshal(r.Data, &a); err != nil {
			t.Fatal(err)
		}
		commands = append(commands, a.Command)
	}
	return commands
}
