package otlp

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	apimetric "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func id(text string) []byte { return []byte(text) }

func spans() []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
		Name: "a", Kind: tracepb.Span_SPAN_KIND_CLIENT, TraceId: id("\xff0123456789abcde"), SpanId: id("\xfe0123456"), ParentSpanId: id("\xfd0123456"),
		EndTimeUnixNano: 1 << 60, Links: []*tracepb.Span_Link{{TraceId: id("\xfc0123456789abcde"), SpanId: id("\xfb0123456")}},
	}, {Name: "b", SpanId: id("abcdefgh")}}}}}}
}

func TestSpansAreSentAsProtobufOrJSONCompressedOrNot(t *testing.T) {
	for _, compression := range []string{"none", "gzip"} {
		for _, protocol := range []string{"http/protobuf", "http/json"} {
			t.Run(compression+" "+protocol, func(t *testing.T) {
				body := sentSpans(t, map[string]string{"COMPRESSION": compression, "PROTOCOL": protocol})
				if compression == "gzip" {
					body = unzipped(t, body)
				}
				if protocol == "http/json" {
					wantJSON(t, body)
					return
				}
				var got tracepb.TracesData
				if err := proto.Unmarshal(body, &got); err != nil {
					t.Fatal(err)
				}
				if want := (&tracepb.TracesData{ResourceSpans: spans()}); !proto.Equal(want, &got) {
					t.Errorf("got %v, want %v", &got, want)
				}
			})
		}
	}
}

// sentSpans returns the body of a request that the collector takes at the second try.
func sentSpans(t *testing.T, env map[string]string) (body []byte) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []any{503, 200}}
		if err := (traces{testClient(t, a, env)}).UploadTraces(t.Context(), spans()); err != nil {
			t.Fatal(err)
		}
		if len(a.body) != 2 || !bytes.Equal(a.body[0], a.body[1]) {
			t.Fatal("the second try differs from the first")
		}
		body = a.body[1]
	})
	return body
}

func unzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// OTLP's JSON has ids in hexadecimal, numbers of 64 bits as strings, and enumerations as numbers.
func wantJSON(t *testing.T, body []byte) {
	t.Helper()
	const want = `{"resourceSpans":[{"scopeSpans":[{"spans":[` +
		`{"endTimeUnixNano":"1152921504606846976","kind":3,"links":[{"spanId":"fb30313233343536","traceId":"fc303132333435363738396162636465"}],` +
		`"name":"a","parentSpanId":"fd30313233343536","spanId":"fe30313233343536","traceId":"ff303132333435363738396162636465"},` +
		`{"name":"b","spanId":"6162636465666768"}]}]}]}`
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("JSON (-want +got):\n%s", d)
	}
}

// measured returns the metrics that are sent of two measurements by each kind of instrument.
func measured(t *testing.T, env map[string]string) string {
	t.Helper()
	exporter, err := Metrics(options(&bytes.Buffer{}, env))
	if err != nil {
		t.Fatal(err)
	}
	a := &answers{list: []any{200}}
	exporter.(*metrics).http.Transport = a
	provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter)), metric.WithResource(resource.NewSchemaless(attribute.String("service.name", "x"))))
	meter := provider.Meter("scope", apimetric.WithInstrumentationVersion("1"), apimetric.WithSchemaURL("https://schema"))
	calls, err1 := meter.Int64Counter("calls", apimetric.WithUnit("{call}"), apimetric.WithDescription("Calls."))
	cost, err2 := meter.Float64Counter("cost")
	tokens, err3 := meter.Int64Histogram("tokens", apimetric.WithExplicitBucketBoundaries(2, 4))
	seconds, err4 := meter.Float64Histogram("seconds", apimetric.WithExplicitBucketBoundaries(2))
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range int64(2) {
		calls.Add(t.Context(), n+1, apimetric.WithAttributes(attribute.String("k", "v")))
		cost.Add(t.Context(), 0.25)
		tokens.Record(t.Context(), 3*n)
		seconds.Record(t.Context(), 1.5)
		if err := provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := provider.Shutdown(t.Context()); err == nil {
		t.Error("the second shutdown did nothing")
	}
	return points(t, a.body[1])
}

// points writes the metrics of a request, without times, which must be there.
func points(t *testing.T, body []byte) string {
	t.Helper()
	var data metricspb.MetricsData
	if err := proto.Unmarshal(body, &data); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range data.ResourceMetrics {
		for _, s := range r.ScopeMetrics {
			lines = append(lines, fmt.Sprintf("%v %s %s %s", r.Resource.Attributes[0].Value.GetStringValue(), s.Scope.Name, s.Scope.Version, s.SchemaUrl))
			for _, m := range s.Metrics {
				for _, p := range m.GetSum().GetDataPoints() {
					clearTimes(t, &p.StartTimeUnixNano, &p.TimeUnixNano)
				}
				for _, p := range m.GetHistogram().GetDataPoints() {
					clearTimes(t, &p.StartTimeUnixNano, &p.TimeUnixNano)
				}
				for _, p := range m.GetExponentialHistogram().GetDataPoints() {
					clearTimes(t, &p.StartTimeUnixNano, &p.TimeUnixNano)
				}
				text, err := protojson.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, strings.ReplaceAll(string(text), " ", ""))
			}
		}
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + "\n"
}

func clearTimes(t *testing.T, start, end *uint64) {
	t.Helper()
	if *start == 0 || *end < *start {
		t.Errorf("measured from %d to %d", *start, *end)
	}
	*start, *end = 0, 0
}

func TestMetricsAreSentByTemporalityAndKindOfHistogram(t *testing.T) {
	const (
		scope      = "x scope 1 https://schema\n"
		cumulative = `"aggregationTemporality":"AGGREGATION_TEMPORALITY_CUMULATIVE"`
		delta      = `"aggregationTemporality":"AGGREGATION_TEMPORALITY_DELTA"`
	)
	sums := func(calls, cost, temporality string) string {
		return `{"name":"calls","description":"Calls.","unit":"{call}","sum":{"dataPoints":[{"attributes":[{"key":"k","value":{"stringValue":"v"}}],"asInt":"` + calls + `"}],` + temporality + `,"isMonotonic":true}}` + "\n" +
			`{"name":"cost","sum":{"dataPoints":[{"asDouble":` + cost + `}],` + temporality + `,"isMonotonic":true}}` + "\n"
	}
	all := scope + sums("3", "0.5", cumulative) +
		`{"name":"seconds","histogram":{"dataPoints":[{"count":"2","sum":3,"bucketCounts":["2","0"],"explicitBounds":[2],"min":1.5,"max":1.5}],` + cumulative + "}}\n" +
		`{"name":"tokens","histogram":{"dataPoints":[{"count":"2","sum":3,"bucketCounts":["1","1","0"],"explicitBounds":[2,4],"min":0,"max":3}],` + cumulative + "}}\n"
	last := scope + sums("2", "0.25", delta) +
		`{"name":"seconds","histogram":{"dataPoints":[{"count":"1","sum":1.5,"bucketCounts":["1","0"],"explicitBounds":[2],"min":1.5,"max":1.5}],` + delta + "}}\n" +
		`{"name":"tokens","histogram":{"dataPoints":[{"count":"1","sum":3,"bucketCounts":["0","1","0"],"explicitBounds":[2,4],"min":3,"max":3}],` + delta + "}}\n"
	exponential := scope + sums("3", "0.5", cumulative) +
		`{"name":"seconds","exponentialHistogram":{"dataPoints":[{"count":"2","sum":3,"scale":20,"positive":{"offset":613377,"bucketCounts":["2"]},"negative":{},"min":1.5,"max":1.5}],` + cumulative + "}}\n" +
		`{"name":"tokens","exponentialHistogram":{"dataPoints":[{"count":"2","sum":3,"scale":20,"zeroCount":"1","positive":{"offset":1661953,"bucketCounts":["1"]},"negative":{},"min":0,"max":3}],` + cumulative + "}}\n"
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"by default":  {nil, all},
		"cumulative":  {map[string]string{"METRICS_TEMPORALITY_PREFERENCE": "Cumulative"}, all},
		"delta":       {map[string]string{"METRICS_TEMPORALITY_PREFERENCE": "delta"}, last},
		"low memory":  {map[string]string{"METRICS_TEMPORALITY_PREFERENCE": "lowmemory", "METRICS_DEFAULT_HISTOGRAM_AGGREGATION": "explicit_bucket_histogram"}, last},
		"exponential": {map[string]string{"METRICS_DEFAULT_HISTOGRAM_AGGREGATION": "base2_exponential_bucket_histogram"}, exponential},
		"unknown":     {map[string]string{"METRICS_TEMPORALITY_PREFERENCE": "x", "METRICS_DEFAULT_HISTOGRAM_AGGREGATION": "x"}, all},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, measured(t, c.env)); d != "" {
				t.Errorf("metrics (-want +got):\n%s", d)
			}
		})
	}
}
