package runs

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/cassette"
	"batch.example/batch/llm/stub"
)

// A recorded run gives the same predictions and messages again, with neither a server nor a
// key, including the failures on the way.
func TestARecordedRunIsReplayedWithoutAServer(t *testing.T) {
	tier.Rest(t, "llm/cassette", "run/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	var calls atomic.Int64
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		switch calls.Add(1) {
		case 2:
			return stub.Answer{Fault: stub.Half}
		case 3:
			return stub.Refusal(500, "", "oops, "+e2e.PlantedKey)
		}
		return e2e.WorkAndSubmit(r)
	})
	dir := t.TempDir()
	if out, code := e2e.RunOpenAI(t, dir, server.URL, "--slice", ":2", "-w", "1", "--record"); code != e2e.ExitOK {
		t.Fatalf("exit code %d, want %d\n%s", code, e2e.ExitOK, out)
	}
	asked := calls.Load()
	cmd := e2e.Batch(t, dir, "run", "--subset", "demo", "-m", "openai/stub-1", "-q", "--slice", ":2", "-w", "1",
		"-c", "model.cost_tracking=ignore_errors", "--replay", "out", "-o", "again")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL=", "OPENAI_API_KEY=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if calls.Load() != asked {
		t.Errorf("the server got %d requests of the replay, want none", calls.Load()-asked)
	}
	was, err := os.ReadFile(filepath.Join(dir, "out", "preds.json"))
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile(filepath.Join(dir, "again", "preds.json"))
	if err != nil || !bytes.Equal(was, is) {
		t.Errorf("got %s (%v), want %s", is, err, was)
	}
	recordings, err := filepath.Glob(filepath.Join(dir, "out", "*", cassette.FileName))
	if err != nil || len(recordings) != 2 {
		t.Fatalf("got recordings %q, %v; want 2", recordings, err)
	}
	for _, path := range recordings {
		text, err := exec.Command("zcat", path).Output()
		if err != nil || len(text) == 0 || bytes.Contains(text, []byte(e2e.PlantedKey)) {
			t.Errorf("%s: %v, or the key is in it", path, err)
		}
		id := filepath.Base(filepath.Dir(path))
		if was, is := conversation(t, dir, "out", id), conversation(t, dir, "again", id); !reflect.DeepEqual(was, is) {
			t.Errorf("%s: got the messages\n%v\nwant\n%v", id, is, was)
		}
	}
}

// conversation is the roles and contents of an instance's messages.
func conversation(t *testing.T, dir, output, id string) any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, output, id, id+".traj.json"))
	if err != nil {
		t.Fatal(err)
	}
	var trajectory struct {
		Messages []struct {
			Role, Content string
			Calls         any `json:"tool_calls"`
			ID            any `json:"tool_call_id"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(text, &trajectory); err != nil || len(trajectory.Messages) < 4 {
		t.Fatalf("%s: %v, or too few messages", text, err)
	}
	return trajectory.Messages
}
