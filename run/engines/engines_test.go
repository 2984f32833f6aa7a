package engines

import (
	"strings"
	"testing"

	"batch.example/batch/agent/config"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

func TestEveryClassIsAnAddress(t *testing.T) {
	for _, class := range config.Classes() {
		if _, err := At(class, func(string) string { return "" }, ""); err != nil {
			t.Errorf("environment_class %q: %v", class, err)
		}
	}
}

// Each address reaches its own engine, whatever the environment says. None of them is there.
func TestAnAddressNamesItsEngine(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string {
		return map[string]string{"DOCKER_HOST": "tcp://127.0.0.1:1", "DOCKER_CONTEXT": "elsewhere"}[name]
	}
	for address, want := range map[string]string{
		"":                      "tcp://127.0.0.1:1",
		"docker":                "tcp://127.0.0.1:1",
		"podman":                "tcp://127.0.0.1:1",
		"unix:///nowhere/a":     "unix:///nowhere/a",
		"tcp://127.0.0.1:2":     "tcp://127.0.0.1:2",
		"ssh://127.0.0.1:1":     "ssh://127.0.0.1:1",
		"context:no-such-thing": "context no-such-thing",
	} {
		connect, err := At(address, getenv, home)
		if err != nil {
			t.Errorf("%q: %v", address, err)
			continue
		}
		if _, err := connect(t.Context(), engine.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error that names %s", address, err, want)
		}
	}
}

func TestAnAddressWithoutAnEngineIsRefused(t *testing.T) {
	for _, address := range []string{"dokcer", "http://x", "tcp://", "unix:", "context:", "docker:x", "/run/docker.sock", ":"} {
		_, err := At(address, func(string) string { return "" }, "")
		if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "context:NAME") || !strings.Contains(err.Error(), address) {
			t.Errorf("%q: got %v (%s), want a Usage fault that lists the known forms", address, err, fault.HintOf(err))
		}
	}
}
