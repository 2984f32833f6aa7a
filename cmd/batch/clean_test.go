package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker/containers"
)

func TestCleanTellsOfEachContainer(t *testing.T) {
	now := time.Now()
	strays := []containers.Stray{
		{
			ID: strings.Repeat("a", 64), Name: "batch-r-x", Image: "i", Run: "r", Instance: "x__1", Attempt: "2", Host: "vm",
			State: "running", Created: now.Add(-3 * time.Hour), Expires: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
		{ID: strings.Repeat("b", 64), State: "created", Created: now.Add(-5 * time.Minute)},
	}
	var out bytes.Buffer
	a := &app{stdout: &out}
	if err := a.cleanTable(strays, 3, true, false); err != nil {
		t.Fatal(err)
	}
	if err := a.cleanTable(nil, 0, false, true); err != nil {
		t.Fatal(err)
	}
	const table = `CONTAINER     RUN  INSTANCE  ATTEMPT  HOST  STATE    CREATED
aaaaaaaaaaaa  r    x__1      2        vm    running  3 hours ago
bbbbbbbbbbbb  -    -         -        -     created  5 minutes ago

removed 2 containers of dead runs and what they shared; 3 of other runs stay
would remove 0 containers of dead runs; 0 of other runs stay
`
	if diff := cmp.Diff(table, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	out.Reset()
	strays[0].Created = time.Date(2026, 1, 2, 1, 4, 5, 0, time.UTC)
	if err := a.cleanJSON(strays[:1], true); err != nil {
		t.Fatal(err)
	}
	want := `{"container":"` + strays[0].ID + `","name":"batch-r-x","image":"i","run":"r","instance":"x__1","attempt":"2","host":"vm",` +
		`"state":"running","created":"2026-01-02T01:04:05Z","expires":"2026-01-02T03:04:05Z","removed":true}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}
