package main

import (
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
{"Action":"pass","Package":"batch.example/batch/fault","Test":"TestKinds"}
`

const again = `{"Action":"run","Package":"batch.example/batch/runner","Test":"TestWidth"}
{"Action":"pass","Package":"batch.example/batch/runner","Test":"TestWidth","Elapsed":0.1}
`

func TestTheScreenOfAFailedRun(t *testing.T) {
	r := run{}
	for _, text := range []string{events, again} {
		if err := r.read(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	r.print(&b)
	const want = `== 2 failed

-- ./runner TestDrain/two (2) (1.2 s)
       drain_test.go:12: got 1, want 2
   alone: BATCH_SEED=17 scripts/test ./runner -race -run '^TestDrain$/^two \(2\)$'

-- ./vocab (0.0 s)
   vocab/id.go:3: undefined: x
   alone: scripts/test ./vocab -race
`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

func TestAFileThatIsMissingIsNamed(t *testing.T) {
	if err := command(&strings.Builder{}, []string{"nowhere.json"}); err == nil || !strings.Contains(err.Error(), "nowhere.json") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}
