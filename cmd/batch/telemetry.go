package main

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"batch.example/batch/internal/mask"
	"batch.example/batch/run"
	"batch.example/batch/run/rundir"
	"batch.example/batch/run/telemetry"
)

// headerVariables hold what is sent to a collector with every request, such as its key.
var headerVariables = []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"}

// telemetrySecrets returns the secrets in a collector's headers, which are written
// NAME=VALUE and separated by commas, percent-encoded or not.
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

// startTelemetry makes r send telemetry if the environment asks for it. Errors of sending go
// to the directory's log alone. stop must be called when the work is done.
func (s *invocation) startTelemetry(ctx context.Context, r *run.Run) (stop func(), err error) {
	if s.telemetry == nil {
		return func() {}, nil
	}
	log, closeLog, err := rundir.OpenLog(s.Output, s.mask, nil)
	if err != nil {
		return nil, err
	}
	m := r.Model
	t, err := s.telemetry.Start(ctx, telemetry.About{
		Model: cmp.Or(m.Name, m.Provider), Service: m.Provider, Version: run.Version(), Mask: s.mask, Log: log,
	})
	if err != nil {
		closeLog()
		return nil, err
	}
	r.Listen = t.Listen
	return func() {
		t.Close()
		closeLog()
	}, nil
}
