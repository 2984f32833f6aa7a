package evaluate_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"testing"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/docker"
	"batch.example/batch/grade"
	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/engine/memory"
)

// enough is a time limit for what ends by itself, however busy the machine is.
const enough = 3 * time.Minute

// box is a sandbox as an evaluation sees it.
type box struct{ *sandbox.Sandbox }

// bench is a host with the demo's rows.
type bench struct {
	host *sandbox.Host
	rows map[string]dataset.Instance
}

// newBench returns a bench for the victim, on an engine that runs plain processes. It skips the
// test if this machine or user cannot run them.
func newBench(t testing.TB) *bench {
	t.Helper()
	b, err := openBench(t, memory.At(t.TempDir()), nil)
	if err != nil {
		enginetest.Lacks(t, "%v", err)
	}
	files, err := fs.Sub(demo.Files(), "tasks/"+victim+"/repo")
	if err != nil {
		t.Fatal(err)
	}
	in := b.rows[victim]
	in.Image = enginetest.Testbed(t, files, "patch", "python3")
	b.rows[victim] = in
	return b
}

// newDockerBench is for a test of limits, or with programs that a machine may lack. It skips the
// test without an engine that has the demo's images; BATCH_DOCKER=require makes that a failure.
func newDockerBench(t testing.TB, set func(*sandbox.Config)) *bench {
	t.Helper()
	home, _ := os.UserHomeDir()
	b, err := openBench(t, docker.FromEnv(os.Getenv, home).Open, set)
	if err != nil && os.Getenv("BATCH_DOCKER") == "require" {
		t.Fatalf("BATCH_DOCKER=require: %v", err)
	}
	if err != nil {
		t.Skipf("no Docker: %v", err)
	}
	return b
}

func openBench(t testing.TB, connect engine.Connect, set func(*sandbox.Config)) (*bench, error) {
	t.Helper()
	ds, err := dataset.Open(t.Context(), dataset.Source{Name: "demo", Demo: demo.Files()})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{rows: map[string]dataset.Instance{}}
	for _, in := range ds.Instances {
		b.rows[in.ID] = in
	}
	c := sandbox.Config{
		Engines: sandbox.One(connect), State: t.TempDir(), Timeout: enough,
		Container: engine.Spec{WorkDir: "/testbed", Unattended: 5 * time.Minute},
	}
	if set != nil {
		set(&c)
	}
	b.host, err = sandbox.Start(t.Context(), c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := b.host.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b, nil
}

func (b *bench) open(t testing.TB, in dataset.Instance) box {
	t.Helper()
	s, err := b.host.Open(t.Context(), sandbox.Opening{Instance: in, Attempt: 1, Pristine: true, Report: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return box{s}
}

func jobFor(in dataset.Instance, patch string) evaluate.Job {
	return evaluate.Job{
		InstanceID: in.ID, BaseCommit: in.BaseCommit, Script: in.EvalScript,
		TestFiles: evalscript.TestFiles(in.TestPatch), Patch: []byte(patch), Timeout: enough,
	}
}

func parserOf(in dataset.Instance) grade.Parse {
	return func(log string) (logparse.Statuses, []string, error) {
		return logparse.Parse(in.LogParser, log, logparse.Row{InstanceID: in.ID, Repo: in.Repo, Version: in.Version}, logparse.V5)
	}
}

func judge(t testing.TB, in dataset.Instance, l grade.Log) grade.Judgement {
	t.Helper()
	j, err := grade.Judge(l, parserOf(in), grade.Tests{FailToPass: in.FailToPass, PassToPass: in.PassToPass}, in.EvalType, logparse.V5)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// evaluate runs one job in a fresh container and closes that.
func (b *bench) evaluate(t testing.TB, in dataset.Instance, j evaluate.Job) *evaluate.Evidence {
	t.Helper()
	e, err := evaluate.Run(t.Context(), b.open(t, in), j)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestGoldResolvesTheDemoAndADummyDoesNot(t *testing.T) {
	t.Parallel()
	b := newDockerBench(t, nil)
	const dummy = "diff --git a/NOTE b/NOTE\nnew file mode 100644\n--- /dev/null\n+++ b/NOTE\n@@ -0,0 +1 @@\n+note\n"
	for _, id := range []string{"demo__factor-4", "demo__monate-3", "demo__winini-2"} { // a long patch, one that is not UTF-8, and one with CRLF
		t.Run(id, func(t *testing.T) {
			in := b.rows[id]
			e := b.evaluate(t, in, jobFor(in, in.Patch))
			j := judge(t, in, e.Log)
			if !e.Applied || !j.Resolved || len(j.Suspicious) > 0 {
				status, _ := json.Marshal(j)
				t.Errorf("gold does not resolve: %s\n%s\n%s", status, e.Log.Text, e.RunLog)
			}
			if e.Log.ExitCode == nil || *e.Log.ExitCode != 0 {
				t.Errorf("exit code %v, want 0", e.Log.ExitCode)
			}
			e = b.evaluate(t, in, jobFor(in, dummy))
			if j := judge(t, in, e.Log); j.Resolved || !j.Found {
				t.Errorf("a patch that fixes nothing: resolved %v, found %v (%s)", j.Resolved, j.Found, j.Why)
			}
		})
	}
}
