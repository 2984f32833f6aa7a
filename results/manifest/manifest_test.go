package manifest_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"batch.example/batch/internal/mask"
	"batch.example/batch/results/manifest"
)

// A directory's selection contains the selections of all runs into it.
func TestSelectionsAddUp(t *testing.T) {
	for _, c := range []struct{ was, now, want, selection string }{
		{"a b c", "b", "a b c", "was"},
		{"a b c", "c b a", "a b c", "was"},
		{"b", "a b c", "b a c", "now"},
		{"a b", "b c", "a b c", "was, then now"},
		{"", "a", "a", "now"},
	} {
		d := manifest.Dataset{Selection: "now", Instances: strings.Fields(c.now)}
		d.Add(manifest.Dataset{Selection: "was", Instances: strings.Fields(c.was)})
		if got := strings.Join(d.Instances, " "); got != c.want || d.Selection != c.selection || d.Count != len(d.Instances) {
			t.Errorf("%q and %q: %q (%d), %q; want %q, %q", c.was, c.now, got, d.Count, d.Selection, c.want, c.selection)
		}
	}
}

// A pattern that digits match must not destroy what the program reads again.
func TestPatternsHideOnlyWhatPeopleWrote(t *testing.T) {
	secrets := mask.New(mask.Secret{Name: "KEY", Value: "hush-hush"})
	secrets.AddPatterns(regexp.MustCompile(`[0-9]{6,}`))
	began := time.Date(2026, 11, 28, 1, 2, 3, 123456789, time.UTC)
	written := []string{"-c", "run.env_startup_command=echo 7654321 hush-hush"}
	m := &manifest.Manifest{
		Created: began, Argv: written, Request: &manifest.Request{Configuration: manifest.Configuration{Configs: written}},
		Config: map[string]any{"template": "call 7654321"}, Host: manifest.Host{Name: "hush-hush"},
		Dataset: manifest.Dataset{Digest: "sha256:0123456789", Instances: []string{"a__b-1234567"}},
		Runs:    []manifest.Run{{Started: began, Argv: written}},
	}
	h, err := m.Hidden(secrets)
	if err != nil {
		t.Fatal(err)
	}
	text, err := h.Text()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "7654321") || strings.Contains(string(text), "hush-hush") {
		t.Errorf("a secret is in\n%s", text)
	}
	var got manifest.Manifest
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !got.Created.Equal(began) || !got.Runs[0].Started.Equal(began) || got.Dataset.Digest != m.Dataset.Digest || got.Dataset.Instances[0] != "a__b-1234567" {
		t.Errorf("the program reads %+v", got)
	}
	if m.Argv[1] != written[1] || m.Host.Name != "hush-hush" {
		t.Error("the manifest itself was changed")
	}
}
