package manifest_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

func TestEveryDifferenceOfSettingsMatters(t *testing.T) {
	now := manifest.Settings{Model: "m", Row: "1", Config: map[string]any{"run": map[string]any{"mask_patterns": "x"}, "agent": map[string]any{"step_limit": 1}}}
	was := manifest.Settings{Model: "n", Row: "2", Config: map[string]any{"agent": map[string]any{"step_limit": 2}}}
	want := []manifest.Difference{
		{Name: "agent.step_limit", Now: "1", Was: "2", Matters: true},
		{Name: "model", Now: `"m"`, Was: `"n"`, Matters: true},
		{Name: "row", Now: `"1"`, Was: `"2"`, Matters: true},
	}
	if d := cmp.Diff(want, now.Differences(was)); d != "" {
		t.Errorf("differences (-want +got):\n%s", d)
	}
}

// A directory from before agent.images can be resumed; one with another value cannot.
func TestImagesThatWereNotSetAreNoDifference(t *testing.T) {
	of := func(agent map[string]any) manifest.Settings {
		return manifest.Settings{Config: map[string]any{"agent": agent}}
	}
	on, off, old := of(map[string]any{"images": true}), of(map[string]any{"images": false}), of(map[string]any{"step_limit": 0})
	for _, now := range []manifest.Settings{on, off} {
		if d := now.Differences(old); len(d) > 0 {
			t.Errorf("beside a directory without the key: %v", d)
		}
	}
	if d := on.Differences(off); len(d) != 1 || !d[0].Matters || d[0].String() != "agent.images: true, was false" {
		t.Errorf("on, was off: %v", d)
	}
}

func TestADifferenceCoversTheKeysBelowIt(t *testing.T) {
	d := manifest.Difference{Name: "agent.step_limit"}
	for name, want := range map[string]bool{
		"agent.step_limit": true, "agent": true, "all": true,
		"agent.step": false, "age": false, "agent.step_limit.x": false, "": false, "step_limit": false,
	} {
		if d.Covers(name) != want {
			t.Errorf("%q covers %s: got %v, want %v", name, d.Name, !want, want)
		}
	}
}

// Only this test keeps the list of names in step with the manifest's fields.
func TestEveryDifferenceHasAName(t *testing.T) {
	full := &manifest.Manifest{
		Batch: "b", Go: "g", Git: &manifest.Git{Commit: "c", Branch: "b", Dirty: true}, Model: "m", ModelIDs: []string{"m"}, Versions: []string{"v"},
		Price: &vocab.Price{}, Seed: 1, Salvage: true, Factor: 2, Config: map[string]any{"agent": map[string]any{"step_limit": 1}}, Prompts: "p",
		Request: &manifest.Request{Subset: "s"},
		Dataset: manifest.Dataset{Name: "n", Split: "s", Revision: "r", Digest: "d", Selection: "s", Count: 1},
		Host:    manifest.Host{Name: "n", OS: "o", Arch: "a", CPUs: 1}, Images: map[string]manifest.Image{"a": {Ref: "x"}},
	}
	fields := reflect.ValueOf(full).Elem()
	for i := range fields.NumField() {
		switch name := fields.Type().Field(i).Name; name {
		case "Format", "Created", "Command", "Argv", "Dir", "Request", "Runs", "Mixed": // not compared
		default:
			if fields.Field(i).IsZero() {
				t.Errorf("field %s is not set, so that its difference is not seen", name)
			}
		}
	}
	keys := []string{"agent.step_limit"}
	differences := append(full.Differences(&manifest.Manifest{}), manifest.Settings{Row: "1"}.Differences(manifest.Settings{})...)
	for _, d := range differences {
		if d.Name != "config" && !manifest.IsName(d.Name, keys) { // config itself: there is none in an empty manifest
			t.Errorf("%s is not a name", d.Name)
		}
	}
	for name, want := range map[string]bool{
		"agent": true, "agent.step_limit.x": true, "images.x": true, "dataset.x": true, "all": true,
		"agent.x": false, "agen": false, "": false, "model.x": false,
	} {
		if manifest.IsName(name, keys) != want {
			t.Errorf("%q is a name: got %v, want %v", name, !want, want)
		}
	}
}

func TestEqualValuesInOtherFormsAreNotDifferences(t *testing.T) {
	value := func(v any) *manifest.Manifest { return &manifest.Manifest{Config: map[string]any{"v": v}} }
	for _, c := range []struct {
		now, was any
		want     string // of the difference; empty if there is none
	}{
		{1, 1.0, ""},
		{-3, -3.0, ""},
		{1.5, 1.5, ""},
		{1.5, 1, "v: 1.5, was 1"},
		{1.25, 1.5, "v: 1.25, was 1.5"},
		{int64(1<<53 + 1), int64(1 << 53), "v: 9007199254740993, was 9007199254740992"},
		{int64(-1<<53 - 1), int64(-1 << 53), "v: -9007199254740993, was -9007199254740992"},
		{strings.Repeat("x", 58), "y", `v: "` + strings.Repeat("x", 58) + `", was "y"`},
		{strings.Repeat("x", 59), "y", `v: "` + strings.Repeat("x", 59) + `... (61 bytes), was "y"`},
		{"a" + strings.Repeat("é", 40), "y", `v: "a` + strings.Repeat("é", 29) + `... (83 bytes), was "y"`},
		{nil, "y", `v: null, was "y"`},
		{[]int{}, map[string]any{}, "v: [], was {}"},
	} {
		var got []string
		for _, d := range value(c.now).Differences(value(c.was)) {
			got = append(got, d.String())
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%v and %v: %s, want %s", c.now, c.was, got, c.want)
		}
	}
}
