package telemetry

import (
	"testing"

	"go.opentelemetry.io/otel/trace"

	"batch.example/batch/fault"
)

func TestNothingIsSentUnlessTheEnvironmentAsksForIt(t *testing.T) {
	const here = "http://localhost:4318"
	type env map[string]string
	for name, c := range map[string]struct {
		env             env
		traces, metrics bool
		refused         bool
	}{
		"an empty environment":           {env: env{}},
		"only what does not ask":         {env: env{"OTEL_SERVICE_NAME": "x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", CaptureVariable: "true", "TRACEPARENT": "x"}},
		"an endpoint":                    {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": here}, traces: true, metrics: true},
		"an endpoint for traces":         {env: env{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": here}, traces: true},
		"an endpoint for metrics":        {env: env{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": here}, metrics: true},
		"an exporter of traces":          {env: env{"OTEL_TRACES_EXPORTER": "otlp"}, traces: true},
		"an exporter of metrics":         {env: env{"OTEL_METRICS_EXPORTER": "otlp"}, metrics: true},
		"an endpoint, but not traces":    {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": here, "OTEL_TRACES_EXPORTER": "none"}, metrics: true},
		"an endpoint for neither":        {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": here, "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}},
		"disabled":                       {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": here, "OTEL_SDK_DISABLED": "TRUE"}},
		"disabled with gRPC":             {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": here, "OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}},
		"not disabled":                   {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": here, "OTEL_SDK_DISABLED": "1"}, traces: true, metrics: true},
		"JSON":                           {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": here, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, traces: true, metrics: true},
		"gRPC":                           {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": here, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, refused: true},
		"gRPC for one":                   {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": here, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, refused: true},
		"gRPC, but HTTP for both":        {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": here, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, traces: true, metrics: true},
		"another exporter":               {env: env{"OTEL_METRICS_EXPORTER": "prometheus"}, refused: true},
		"another exporter next to OTLP":  {env: env{"OTEL_TRACES_EXPORTER": "otlp,console"}, refused: true},
		"an endpoint without the scheme": {env: env{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := FromEnv(func(name string) string { return c.env[name] })
			if refused := fault.KindOf(err) == fault.Usage && fault.HintOf(err) != ""; refused != c.refused || err != nil && !refused {
				t.Fatalf("got error %v (%s), want a Usage fault with a hint: %v", err, fault.HintOf(err), c.refused)
			}
			if s == nil {
				s = &Config{}
			}
			if s.traces != c.traces || s.metrics != c.metrics {
				t.Errorf("traces %v, metrics %v; want %v, %v", s.traces, s.metrics, c.traces, c.metrics)
			}
		})
	}
}

func TestTheTraceOfTheEnvironmentIsTheParent(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	env := map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "TRACEPARENT": "00-" + id + "-b7ad6b7169203331-01"}
	s, err := FromEnv(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	if got := trace.SpanContextFromContext(s.parent).TraceID().String(); got != id {
		t.Errorf("the parent's trace is %s, want %s", got, id)
	}
}
