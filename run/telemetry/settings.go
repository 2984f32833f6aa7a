package telemetry

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"batch.example/batch/fault"
)

// CaptureVariable is the variable that makes prompts, replies, commands and outputs a part
// of the spans if it is true.
const CaptureVariable = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

// Config says what is sent, and where to (see package otlp). OpenTelemetry's SDK reads the
// rest from the process's environment: the sampler, limits and the resource.
type Config struct {
	getenv                   func(string) string
	traces, metrics, content bool
	parent                   context.Context // of every attempt's span
}

// FromEnv reads the settings from OTEL_* variables. They are nil, and nothing is sent,
// unless an OTLP endpoint or exporter is set. Anything that this package cannot do (gRPC,
// exporters other than otlp) is a Usage fault.
func FromEnv(getenv func(string) string) (*Config, error) {
	if isTrue(getenv("OTEL_SDK_DISABLED")) {
		return nil, nil
	}
	s := &Config{getenv: getenv, content: isTrue(getenv(CaptureVariable)), parent: parent(getenv)}
	var err error
	if s.traces, err = wanted(getenv, "TRACES"); err != nil {
		return nil, err
	}
	if s.metrics, err = wanted(getenv, "METRICS"); err != nil {
		return nil, err
	}
	if !s.traces && !s.metrics {
		return nil, nil
	}
	return s, nil
}

func isTrue(value string) bool { return strings.EqualFold(strings.TrimSpace(value), "true") }

// parent returns a context with the trace that this process is a part of.
func parent(getenv func(string) string) context.Context {
	return propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{
		"traceparent": getenv("TRACEPARENT"), "tracestate": getenv("TRACESTATE"),
	})
}

// wanted reports whether a signal is to be sent.
func wanted(getenv func(string) string, signal string) (bool, error) {
	general, own := "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"
	exporter := "OTEL_" + signal + "_EXPORTER"
	switch names := strings.FieldsFunc(getenv(exporter), func(r rune) bool { return r == ',' || r == ' ' }); {
	case len(names) == 0 && getenv(general) == "" && getenv(own) == "", slices.Equal(names, []string{"none"}):
		return false, nil
	case len(names) > 0 && !slices.Equal(names, []string{"otlp"}):
		return false, refused("%s=%s: expected otlp or none", exporter, getenv(exporter))
	}
	for _, name := range []string{own, general} {
		if err := checkEndpoint(name, getenv(name)); err != nil {
			return false, err
		}
	}
	return true, checkProtocol(getenv, signal)
}

func checkEndpoint(name, value string) error {
	if value == "" {
		return nil
	}
	if u, err := url.Parse(value); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return refused("%s: expected an address such as http://localhost:4318", name)
	}
	return nil
}

func checkProtocol(getenv func(string) string, signal string) error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch value := getenv(name); value {
		case "":
		case "http/protobuf", "http/json":
			return nil
		default:
			return refused("%s=%s: expected http/protobuf or http/json; batch sends no telemetry over gRPC", name, value).
				WithHint("use the collector's HTTP port, which is 4318 by default, or set OTEL_SDK_DISABLED=true to send nothing")
		}
	}
	return nil
}

func refused(format string, args ...any) *fault.Error {
	return fault.Newf(fault.Usage, format, args...).WithHint("set OTEL_SDK_DISABLED=true to send no telemetry")
}
