package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/dataset/hub"
	"batch.example/batch/docker"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm/catalogue"
)

// used are the variables, besides those of the providers, whose secrets batch itself
// sends to a server.
var used = []string{
	"HF_TOKEN", "HF_ENDPOINT", "DOCKER_HOST", "HTTP_PROXY", "HTTPS_PROXY",
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
}

func isUsed(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(used, name) || slices.ContainsFunc(catalogue.Providers(), func(p catalogue.Provider) bool {
		return p.Key != "" && (name == p.Key || name == p.Key+"S") || p.Base != "" && name == p.Base
	})
}

// hideKnown hides all secrets that the process was started with: its variables (see package mask), the hub's token and the user's
// docker logins.
func (a *app) hideKnown(environ []string) {
	a.mask.Add(mask.InEnvironment(environ, isUsed)...)
	for _, p := range catalogue.Providers() {
		keys, variable := p.Keys(a.getenv)
		for _, key := range keys {
			a.mask.Add(mask.Of(variable, key)...)
		}
	}
	a.mask.Add(mask.Secret{Name: "HF_TOKEN", Value: hub.FromEnv(a.getenv, a.home).Token})
	a.mask.Add(telemetrySecrets(a.getenv)...)
	if dir := docker.FromEnv(a.getenv, a.home).ConfigDir; dir != "" {
		data, _ := os.ReadFile(filepath.Join(dir, "config.json")) // a file that cannot be read gives batch no logins either
		a.mask.Add(mask.InDockerConfig(data)...)
	}
	a.mask.Add(mask.InDockerConfig([]byte(a.getenv("DOCKER_AUTH_CONFIG")))...)
}
