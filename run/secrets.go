package run

import (
	"net/url"
	"os"
	"slices"
	"strings"

	"batch.example/batch/dataset/hub"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/run/engines"
)

// sent lists variables with secrets that batch itself sends to servers, without the
// providers' variables.
var sent = []string{
	"HF_TOKEN", "HF_ENDPOINT", "DOCKER_HOST", "HTTP_PROXY", "HTTPS_PROXY",
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
}

func isSent(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(sent, name) || slices.ContainsFunc(catalogue.Providers(), func(p catalogue.Provider) bool {
		return p.Key != "" && (name == p.Key || name == p.Key+"S") || p.Base != "" && name == p.Base
	})
}

// HideKnown makes the mask hide all secrets that the process was started with: its variables (see
// package mask), the hub's token and the user's docker logins.
func (p Process) HideKnown(environ []string) {
	p.Mask.Add(mask.InEnvironment(environ, isSent)...)
	for _, provider := range catalogue.Providers() {
		keys, variable := provider.Keys(p.Getenv)
		for _, key := range keys {
			p.Mask.Add(mask.Of(variable, key)...)
		}
	}
	p.Mask.Add(mask.Secret{Name: "HF_TOKEN", Value: hub.FromEnv(p.Getenv, p.Home).Token})
	p.Mask.Add(telemetrySecrets(p.Getenv)...)
	if path := engines.Logins(p.Getenv, p.Home); path != "" {
		data, _ := os.ReadFile(path) // a file that cannot be read gives batch no logins either
		p.Mask.Add(mask.InDockerConfig(data)...)
	}
	p.Mask.Add(mask.InDockerConfig([]byte(p.Getenv("DOCKER_AUTH_CONFIG")))...)
}

// headerVariables have the headers of every request to a collector, such as its key.
var headerVariables = []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"}

// telemetrySecrets returns the secrets in a collector's headers: a list of NAME=VALUE
// separated by commas, percent-encoded or not.
func telemetrySecrets(getenv func(string) string) (secrets []mask.Secret) {
	for _, variable := range headerVariables {
		for header := range strings.SplitSeq(getenv(variable), ",") {
			name, value, _ := strings.Cut(header, "=")
			if decoded, err := url.PathUnescape(value); err == nil {
				value = decoded
			}
			for _, s := range mask.PassedOn(strings.TrimSpace(name), strings.TrimSpace(value)) {
				secrets = append(secrets, mask.Secret{Name: variable, Value: s.Value})
			}
		}
	}
	return secrets
}
