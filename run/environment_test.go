package run

import (
	"testing"

	"batch.example/batch/agent/config"
)

func TestWhichSettingsAllowAKnownHistory(t *testing.T) {
	for spec, want := range map[string]bool{
		"environment.cwd=/testbed":                           true,
		"environment.env.HOME=/x":                            true,
		"environment.env.GIT_DIR=/x":                         false,
		"environment.forward_env=[\"GIT_DIR\"]":              false,
		"environment.run_args=[\"--env\", \"GIT_DIR=/x\"]":   false,
		"environment.run_args=[\"--user\", \"nobody\"]":      false,
		"run.env_startup_command=git checkout {{base}}":      false,
		"environment.keep_git_history=true":                  false,
		"environment.run_args=[\"--memory\", \"1g\"]":        true,
		"environment.run_args=[\"--network\", \"bridge\"]":   true,
		"environment.run_args=[\"--cap-add\", \"SYS_TIME\"]": true,
	} {
		cfg, err := config.Load([]string{spec}, config.Options{})
		if err != nil {
			t.Fatal(spec, err)
		}
		if got := Environment(cfg, nil, func(string) string { return "" }).ShareScrubs; got != want {
			t.Errorf("%s: got %t, want %v", spec, got, want)
		}
	}
}

func TestThePlatformOfRunArgsIsUsedForContainers(t *testing.T) {
	cfg, err := config.Load([]string{`environment.run_args=["--platform","linux/arm64"]`}, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := Environment(cfg, nil, func(string) string { return "" }).Container.Platform; got != "linux/arm64" {
		t.Errorf("got %q, want %q", got, "linux/arm64")
	}
}
