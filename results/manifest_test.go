package results_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

func asked() *manifest.Manifest {
	type limits struct {
		Steps int     `json:"step_limit"`
		Cost  float64 `json:"cost_limit"`
	}
	ended := time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	return &manifest.Manifest{
		Batch: "v0.1", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Argv: []string{"batch", "run", "<&>"},
		Model: "openai/x", Seed: 42, Config: map[string]any{"agent": limits{250, 3}, "env": map[string]string{"A.B": "é"}},
		Dataset: manifest.Dataset{Name: "verified", Split: "test", Digest: "sha256:1", Selection: "slice 0:5", Count: 5},
		Images:  map[string]manifest.Image{"a": {Ref: "img:latest", Digest: "sha256:2"}},
		Runs: []manifest.Run{
			{Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Ended: &ended, Argv: []string{"batch", "run"}},
			{Started: time.Date(2026, 1, 3, 3, 4, 5, 0, time.UTC)},
		},
	}
}

func TestManifestRoundTrip(t *testing.T) {
	s := open(t, t.TempDir())
	if _, ok := s.Manifest(); ok {
		t.Error("a new directory has a manifest")
	}
	if err := s.WriteManifest(asked()); err != nil {
		t.Fatal(err)
	}
	got, ok := s.Manifest()
	if !ok || got.Format != manifest.Version || got.Argv[2] != "<&>" {
		t.Fatalf("got %+v %v; want ok true, the current format, argv 2 %q", got, ok, "<&>")
	}
	if d := asked().Differences(got); len(d) > 0 {
		t.Errorf("a manifest differs from its copy: %q", d)
	}
	want := asked()
	want.Format, want.Config, got.Config = manifest.Version, nil, nil // the config was compared above
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("result (-want +got):\n%s", d)
	}
}

func TestDifferences(t *testing.T) {
	with := func(agent map[string]any) any { // the configuration of asked with more keys
		agent["step_limit"], agent["cost_limit"] = 250, 3
		return map[string]any{"agent": agent, "env": map[string]string{"A.B": "é"}}
	}
	cases := map[string]struct {
		change func(*manifest.Manifest)
		want   []string
	}{
		"another selection, seed and host are none": {func(m *manifest.Manifest) {
			m.Dataset.Selection, m.Dataset.Count, m.Seed, m.Host.Name = "all", 500, 1, "h"
		}, nil},
		"another name of one content is none": {func(m *manifest.Manifest) { m.Dataset.Name = "copy.parquet" }, nil},
		"another model":                       {func(m *manifest.Manifest) { m.Model = "y" }, []string{`model: "y", was "openai/x"`}},
		"other data":                          {func(m *manifest.Manifest) { m.Dataset.Digest = "sha256:9" }, []string{`dataset.digest: "sha256:9", was "sha256:1"`}},
		"another dataset without a digest": {func(m *manifest.Manifest) {
			m.Dataset.Digest, m.Dataset.Name = "", "lite"
		}, []string{`dataset.name: "lite", was "verified"`}},
		"settings that reach neither agent nor model are none": {func(m *manifest.Manifest) {
			m.Config = map[string]any{
				"agent": map[string]any{"step_limit": 250, "cost_limit": 3}, "env": map[string]string{"A.B": "é"},
				"run":         map[string]any{"mask_patterns": []string{"x"}},
				"environment": map[string]any{"pull_timeout": 5, "executable": "podman"},
				"model":       map[string]any{"requests_per_minute": 60, "tokens_per_minute": 9000},
			}
		}, nil},
		"another split":         {func(m *manifest.Manifest) { m.Dataset.Split = "dev" }, []string{`dataset.split: "dev", was "test"`}},
		"another price is none": {func(m *manifest.Manifest) { m.Price = &vocab.Price{Rates: vocab.Rates{Input: 1}} }, nil},
		"an empty value of a key that an older version did not have is none": {func(m *manifest.Manifest) {
			m.Config = with(map[string]any{"a": "", "b": 0, "c": false, "d": nil, "e": []any{}, "f": map[string]any{}})
		}, nil},
		"another value of a new key": {func(m *manifest.Manifest) { m.Config = with(map[string]any{"a": "drop"}) }, []string{`agent.a: "drop", was not set`}},
		"an empty value of the user's own": {func(m *manifest.Manifest) {
			m.Config = with(map[string]any{"env": map[string]any{"CI": ""}})
		}, []string{`agent.env.CI: "", was not set`}},
		"a salvage": {func(m *manifest.Manifest) { m.Salvage = true }, []string{"salvage: true, was not set"}},
		"another revision of one content is none": {func(m *manifest.Manifest) { m.Dataset.Revision = "abc" }, nil},
		"a config value and a new one": {func(m *manifest.Manifest) {
			m.Config = map[string]any{"agent": map[string]any{"step_limit": 50.0, "cost_limit": 3, "new": 1}, "env": map[string]any{}}
		}, []string{
			"agent.new: 1, was not set", "agent.step_limit: 50, was 250",
			"env: {}, was not set", `env.A.B: not set, was "é"`,
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := asked()
			c.change(m)
			var got []string
			for _, d := range m.Differences(asked()) {
				if d.Matters {
					got = append(got, d.String())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABrokenManifestIsMovedAside(t *testing.T) {
	for _, text := range []string{"{", `{"format_version": 99}`, ""} {
		dir := t.TempDir()
		write(t, text, dir, "manifest.json")
		s := open(t, dir)
		if _, ok := s.Manifest(); ok {
			t.Errorf("%q reads as a manifest, want it refused", text)
		}
		if err := s.WriteManifest(asked()); err != nil {
			t.Fatal(err)
		}
		if got := read(t, dir, "manifest.json.corrupt-1"); got != text {
			t.Errorf("kept aside: %q, want %v", got, text)
		}
	}
}
