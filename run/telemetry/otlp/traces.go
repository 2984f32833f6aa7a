package otlp

import (
	"context"
	"encoding/base64"
	"encoding/hex"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Traces returns an exporter of spans. It connects to nothing yet.
func Traces(ctx context.Context, o Options) (*otlptrace.Exporter, error) {
	s, err := o.settings("TRACES")
	if err != nil {
		return nil, err
	}
	return otlptrace.New(ctx, traces{newClient(s)})
}

type traces struct{ *client }

// UploadTraces implements otlptrace.Client. It changes the spans.
func (t traces) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	if t.json {
		setIDsForJSON(spans)
	}
	// The fields of an ExportTraceServiceRequest are the same, but its package imports gRPC.
	return t.upload(ctx, &tracepb.TracesData{ResourceSpans: spans})
}

// setIDsForJSON makes protojson write ids in hexadecimal, as OTLP wants, though it writes bytes in
// base64.
func setIDsForJSON(resources []*tracepb.ResourceSpans) {
	for _, resource := range resources {
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				s.TraceId, s.SpanId, s.ParentSpanId = forJSON(s.TraceId), forJSON(s.SpanId), forJSON(s.ParentSpanId)
				for _, l := range s.Links {
					l.TraceId, l.SpanId = forJSON(l.TraceId), forJSON(l.SpanId)
				}
			}
		}
	}
}

// forJSON returns the bytes that are id's hexadecimal digits in base64. An id has 8 or 16 bytes,
// so that its digits are whole groups of base64.
func forJSON(id []byte) []byte {
	data, _ := base64.StdEncoding.DecodeString(hex.EncodeToString(id))
	return data
}
