package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/agent/config"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results/manifest"
)

// appWith is an app with its own environment and home.
func appWith(t *testing.T, env map[string]string) *app {
	t.Helper()
	a := &app{mask: mask.New(), getenv: func(name string) string { return env[name] }, home: t.TempDir()}
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	for path, text := range map[string]string{
		".docker/config.json":      `{"auths":{"r.example":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("me:file login")) + `"}}}`,
		".cache/huggingface/token": "hub token in a file\n",
	} {
		path = filepath.Join(a.home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.process().HideKnown(environ)
	return a
}

func TestSecretsThatBatchSendsAreAlwaysHidden(t *testing.T) {
	a := appWith(t, map[string]string{
		"OPENAI_API_KEY": "provider", "OPENAI_BASE_URL": "https://me:address@h/v1", "https_proxy": "http://me:through@proxy:1",
		"HF_ENDPOINT": "https://me:mirror@h", "DOCKER_AUTH_CONFIG": `{"auths":{"r.example":{"auth":"bWU6dmFyaWFibGU="}}}`,
		"API_KEY": "development", "DATABASE_URL": "postgres://me:postgres@db",
	})
	for _, secret := range []string{"provider", "address", "through", "mirror", "variable", "file login", "hub token in a file"} {
		if got := a.mask.Text("a " + secret + "."); got != "a "+mask.Hidden+"." {
			t.Errorf("%q comes out as %q; want %v", secret, got, "a "+mask.Hidden+".")
		}
	}
	if got := a.mask.Text("development of postgres"); got != "development of postgres" {
		t.Error(got)
	}
}

func TestHFTokenVariableIsUsedBeforeTheFile(t *testing.T) {
	a := appWith(t, map[string]string{"HF_TOKEN": "hub token"})
	if got := a.mask.Text("my hub token."); got != "my "+mask.Hidden+"." {
		t.Error(got)
	}
}

func TestForwardedVariablesAreHiddenByNameOrForm(t *testing.T) {
	a := appWith(t, map[string]string{
		"DB_PASSWORD": "postgres", "SERVICE": "f47ac10b-58cc-4372-a567-0e02b2c3d479", "GREETING": "hello there", "OTHER_TOKEN": "development",
	})
	cfg, err := config.Load([]string{
		`environment.forward_env=["DB_PASSWORD","GREETING","UNSET"]`, `environment.run_args=["-e","SERVICE"]`, "environment.env.A_KEY=in the config",
	}, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.process().Hide(cfg, []string{"corp-[0-9]+"}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"postgresql":                           mask.Hidden + "ql",
		"f47ac10b-58cc-4372-a567-0e02b2c3d479": mask.Hidden,
		"in the config":                        mask.Hidden,
		"corp-17":                              mask.Hidden,
		"hello there, development":             "hello there, development",
	} {
		if got := a.mask.Text(text); got != want {
			t.Errorf("%q comes out as %q; want %v", text, got, want)
		}
	}
}

func TestShowHidesWhatAnyCommandOfTheRunHid(t *testing.T) {
	a := appWith(t, nil)
	a.hideOfRun(&manifest.Manifest{
		Config:  map[string]any{"run": map[string]any{"mask_patterns": []any{"config-[0-9]"}}},
		Request: &manifest.Request{MaskPatterns: []string{"first-[0-9]", "also-[0-9],?"}},
		Runs:    []manifest.Run{{MaskPatterns: []string{"resume-[0-9]"}}, {MaskPatterns: []string{"(", "retry-[0-9]"}}, {}},
	})
	for _, secret := range []string{"first-1", "also-2,", "config-3", "resume-4", "retry-5"} {
		if got := a.mask.Text("a " + secret + "."); got != "a "+mask.Hidden+"." {
			t.Errorf("%q comes out as %q; want %v", secret, got, "a "+mask.Hidden+".")
		}
	}
}
