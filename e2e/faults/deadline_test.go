package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/llm/stub"
)

func TestADeadContainerIsReplacedWithoutPayingTwice(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	server := stub.NewServerFunc(t, func(n int, r *stub.Request) stub.Answer {
		if n == 2 {
			e2e.RemoveContainers(t, dir)
		}
		return e2e.WorkAndSubmit(r)
	})
	out, code := e2e.RunOpenAI(t, dir, server.URL, "--subset", "rows.jsonl", "--slice", ":1")
	if code != e2e.ExitOK || len(server.Requests()) != 2 {
		t.Fatalf("exit code %d, %d requests for two steps\n%s", code, len(server.Requests()), out)
	}
	if r := e2e.Record(t, dir); r.Attempt != 1 || r.Resumed != 1 || r.Steps != 2 {
		t.Errorf("got %+v, want attempt 1, resumed 1, steps 2", r)
	}
	for id, patch := range e2e.Predictions(t, filepath.Join(dir, "out")) {
		file, err := os.ReadFile(filepath.Join(dir, "out", id, id+".patch"))
		if err != nil || string(file) != patch || !strings.Contains(patch, "+hello") {
			t.Errorf("%v: got %q, want file %v, %q in the patch, no error", err, patch, patch, "+hello")
		}
	}
}
