package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"batch.example/batch/runner"}
{"Action":"run","Package":"batch.example/batch/runner","Test":"TestDrain"}
{"Action":"output","Package":"batch.example/batch/runner","Test":"TestDrain","Output":"=== RUN   TestDrain\n"}
{"Action":"output","Package":"batch.example/batch/runner","Test":"TestDrain","Output":"    drain_test.go:9: seed 17; BATCH_SEED=17 repeats it\n"}
{"Action":"output","Package":"batch.example/batch/runner","Test":"TestDrain/two (2)","Output":"    drain_test.go:12: got 1, want 2\n"}
{"Action":"fail","Package":"batch.example/batch/runner","Test":"TestDrain/two (2)","Elapsed":1.25}
{"Action":"fail","Package":"batch.example/batch/runner","Test":"TestDrain","Elapsed":1.5}
{"Action":"output","Package":"batch.example/batch/runner","Test":"TestWidth","Output":"    width_test.go:3: late\n"}
{"Action":"fail","Package":"batch.example/batch/runner","Test":"TestWidth","Elapsed":1}
{"Action":"fail","Package":"batch.example/batch/runner","Elapsed":2}
not an event
{"Action":"build-output","ImportPath":"batch.example/batch/vocab","Output":"vocab/id.go:3: undefined: x\n"}
{"Action":"build-fail","ImportPath":"batch.example/batch/vocab"}
{"Action":"build-output","ImportPath":"batch.example/batch/grade [batch.example/batch/grade.test]","Output":"grade_test.go:3: undefined: y\n"}
{"Action":"build-fail","ImportPath":"batch.example/batch/grade [batch.example/batch/grade.test]"}
{"Action":"run","Package":"batch.example/batch/attempt/chat","Test":"TestHangs"}
{"Action":"run","Package":"batch.example/batch/attempt/chat","Test":"TestHangs/here"}
{"Action":"output","Package":"batch.example/batch/attempt/chat","Test":"TestHangs/here","Output":"panic: test timed out after 40m0s\n"}
{"Action":"pass","Package":"batch.example/batch/attempt/chat","Test":"TestEnds"}
{"Action":"fail","Package":"batch.example/batch/attempt/chat","Elapsed":2400}
{"Action":"fail","Package":"batch.example/batch/internal/readme","Test":"TestIt/line_7","Elapsed":2}
{"Action":"fail","Package":"batch.example/batch/internal/readme","Elapsed":2}
{"Action":"pass","Package":"batch.example/batch/fault","Test":"TestKinds"}
{"Action":"run","Package":"batch.example/batch/fault","Test":"TestStopped"}
`

const slow = `{"Action":"fail","Package":"batch.example/batch/agent","Test":"TestMemory","Elapsed":3}
{"Action":"fail","Package":"batch.example/batch/agent","Elapsed":3}
{"Action":"output","Package":"batch.example/batch/agent","Test":"TestLong","Output":"    long_test.go:9: left to make test-all, until it changes: agent\n"}
{"Action":"skip","Package":"batch.example/batch/agent","Test":"TestLong"}
{"Action":"output","Package":"batch.example/batch/agent","Test":"TestCuts","Output":"    cuts_test.go:9: sampled 3 of 60\n"}
{"Action":"pass","Package":"batch.example/batch/agent","Test":"TestCuts"}
`

const again = `{"Action":"run","Package":"batch.example/batch/runner","Test":"TestWidth"}
{"Action":"pass","Package":"batch.example/batch/runner","Test":"TestWidth","Elapsed":0.1}
`

const cpu = `0.5 0.25 1.0 agent
1.0 2.0 9.0 docker
0.25 0 1 agent
`

func TestTheScreenOfAFailedRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"raced.json": events + again, "plain.json": slow, "cpu": cpu} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	if err := summarize(&b, dir, true, []string{"kube", "e2e/scale"}); err == nil || err.Error() != "6 failed" {
		t.Errorf("got %v, want an error: 6 failed", err)
	}
	const want = `
DONE 9 tests, 1 skipped, 4 failures
== 4 s of a processor for the tests of 2 packages; most for docker 3, agent 1
== sampled: agent TestCuts 3 of 60
== left to make test-all: 1 tests in 1 packages, and all tests of kube, e2e/scale
== 6 failed

-- ./agent TestMemory (3.0 s)
   alone: scripts/test ./agent -short -run '^TestMemory$'

-- ./attempt/chat TestHangs/here (did not end)
   panic: test timed out after 40m0s
   alone: scripts/test ./attempt/chat -race -short -run '^TestHangs$/^here$'

-- ./grade (0.0 s)
   grade_test.go:3: undefined: y
   alone: scripts/test ./grade -race -short

-- ./internal/readme TestIt/line_7 (2.0 s)
   alone: scripts/test ./internal/readme -race -short -run '^TestIt$'

-- ./runner TestDrain/two (2) (1.2 s)
       drain_test.go:12: got 1, want 2
   alone: BATCH_SEED=17 scripts/test ./runner -race -short -run '^TestDrain$/^two \(2\)$'

-- ./vocab (0.0 s)
   vocab/id.go:3: undefined: x
   alone: scripts/test ./vocab -race -short
`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}
