package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
)

func TestCleanListsEachContainer(t *testing.T) {
	now := time.Now()
	strays := []engine.Owned{
		{
			ID: strings.Repeat("a", 64), Name: "batch-x__1-2-abcdefgh", Image: "i", Run: "r", Instance: "x__1", Attempt: "2", Host: "vm",
			State: "running", Created: now.Add(-3 * time.Hour), Expires: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
		{ID: strings.Repeat("b", 64), State: "created", Created: now.Add(-5 * time.Minute)},
	}
	var out bytes.Buffer
	a := &app{stdout: &out}
	if err := a.cleanTable(&sandbox.Cleaned{Abandoned: strays, Kept: 3, Shared: true}, stock{}, false, false); err != nil {
		t.Fatal(err)
	}
	const table = `CONTAINER     INSTANCE  ATTEMPT  HOST  STATE    CREATED
aaaaaaaaaaaa  x__1      2        vm    running  3 hours ago
bbbbbbbbbbbb  -         -        -     created  5 minutes ago

2 containers removed, and what they shared and nothing uses now; 3 belong to running runs
`
	if diff := cmp.Diff(table, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	out.Reset()
	strays[0].Created = time.Date(2026, 1, 2, 1, 4, 5, 0, time.UTC)
	if err := a.cleanJSON(strays[:1], "", true); err != nil {
		t.Fatal(err)
	}
	want := `{"container":"` + strays[0].ID + `","name":"batch-x__1-2-abcdefgh","image":"i","run":"r","instance":"x__1","attempt":"2","host":"vm",` +
		`"state":"running","created":"2026-01-02T01:04:05Z","expires":"2026-01-02T03:04:05Z","removed":true}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestCleanSummary(t *testing.T) {
	for _, c := range []struct {
		strays, kept int
		shared, some bool
		dry          bool
		outcomes     int64
		want         string
	}{
		{0, 0, false, false, true, 0, "0 containers to remove"},
		{0, 1, false, false, true, 0, "0 containers to remove; 1 belongs to a running run"},
		{1, 2, false, false, true, 0, "1 container to remove; 2 belong to running runs"},
		{0, 0, false, false, false, 0, "0 containers removed"},
		{1, 1, false, false, false, 0, "1 container removed; 1 belongs to a running run"},
		{1, 1, false, true, false, 0, "1 container removed; 1 belongs to another run"},
		{0, 2, false, true, true, 0, "0 containers to remove; 2 belong to other runs"},
		{2, 0, true, false, false, 0, "2 containers removed, and what they shared and nothing uses now"},
		{0, 0, true, false, false, 80e3, "0 containers removed, and what they shared and nothing uses now; the outcomes of scrubs (80kB) removed"},
		{0, 1, false, false, true, 80e3, "0 containers to remove; the outcomes of scrubs (80kB) to remove; 1 belongs to a running run"},
	} {
		found := &sandbox.Cleaned{
			Abandoned: make([]engine.Owned, c.strays), Kept: c.kept, Shared: c.shared,
			Outcomes: c.outcomes,
		}
		if got := cleanSentence(found, c.some, c.dry); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestCleanDoesNotCallARunThatItCannotSeeRunning(t *testing.T) {
	const unseen = "; 1 belongs to a run that cannot be seen from here and may have ended"
	for kept, want := range map[int]string{1: unseen, 2: "; 1 belongs to a running run" + unseen} {
		if got := cleanSentence(&sandbox.Cleaned{Kept: kept, Unseen: 1}, false, true); got != "0 containers to remove"+want {
			t.Errorf("of %d: %q", kept, got)
		}
	}
}
