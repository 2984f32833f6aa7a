package progress

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/vocab"
)

var update = flag.Bool("update", false, "write testdata/display.txt")

// recorded returns the events of a real run of the demo, as written by batch run --json, each with the
// attempts' cost so far.
func recorded(t *testing.T) (list []vocab.Event) {
	t.Helper()
	b, err := os.ReadFile("testdata/demo-events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cost := map[string]float64{}
	for line := range bytes.Lines(b) {
		var e struct {
			vocab.Event
			Instances int
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		e.Total = e.Instances
		if e.Instance != "" {
			cost[e.Instance] = max(cost[e.Instance], e.Cost)
		}
		for _, id := range slices.Sorted(maps.Keys(cost)) {
			e.Spent += cost[id]
		}
		list = append(list, e.Event)
	}
	return list
}

// The display in docs/resuming.md must equal this one.
func TestPictureOfTheDemo(t *testing.T) {
	const file = "testdata/display.txt"
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 80, 24)
		d := NewTerminal(v, v.size, 0, 0)
		events := recorded(t)
		begin, now := events[0].Time, time.Now()
		for _, e := range events {
			at := e.Time.Sub(begin)
			if at > 13650*time.Millisecond {
				break
			}
			time.Sleep(time.Until(now.Add(at)))
			e.Time = time.Time{}
			d.Event(e)
		}
		time.Sleep(soon)
		synctest.Wait()
		got := v.text()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("the display differs; run with -update if this is intended (-want +got):\n%s", d)
		}
		page, err := os.ReadFile("../../docs/resuming.md")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(page, []byte("```text\n"+got+"```\n")) {
			t.Errorf("docs/resuming.md does not have the display\n%s", got)
		}
	})
}
