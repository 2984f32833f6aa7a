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
