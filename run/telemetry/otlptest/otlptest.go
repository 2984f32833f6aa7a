// Package otlptest is an OpenTelemetry collector for tests: a server of OTLP over HTTP on
// loopback that decodes and keeps what it receives.
//
// Its API is not promised to other programs: see package batch.
package otlptest

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is a running collector. It is safe for concurrent use.
type Collector struct {
	URL string // for OTEL_EXPORTER_OTLP_ENDPOINT

	mu       sync.Mutex
	spans    []*trace.Span
	metrics  []*metrics.Metric // of the last request
	resource map[string]string
	headers  http.Header
	raw      []byte
}

// New returns a collector that is closed with the test. Requests are answered by instead if
// it is not nil and returns true.
func New(t testing.TB, instead func(w http.ResponseWriter, r *http.Request) bool) *Collector {
	c := &Collector{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.headers = r.Header.Clone()
		c.mu.Unlock()
		if instead != nil && instead(w, r) {
			return
		}
		if err := c.receive(r); err != nil {
			t.Errorf("a request to %s: %v", r.URL.Path, err)
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *Collector) receive(r *http.Request) error {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, data...)
	switch r.URL.Path {
	case "/v1/traces":
		var req trace.TracesData // the same fields as the request
		if err := proto.Unmarshal(data, &req); err != nil {
			return err
		}
		for _, rs := range req.ResourceSpans {
			c.resource = Attributes(rs.Resource.Attributes)
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
	case "/v1/metrics":
		var req metrics.MetricsData
		if err := proto.Unmarshal(data, &req); err != nil {
			return err
		}
		c.metrics = nil
		for _, rm := range req.ResourceMetrics {
			for _, sm := range rm.ScopeMetrics {
				c.metrics = append(c.metrics, sm.Metrics...)
			}
		}
	default:
		return fmt.Errorf("path %q is not one of OTLP's", r.URL.Path)
	}
	return nil
}

// Raw returns the bodies of all requests, uncompressed, one after the other.
func (c *Collector) Raw() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.raw)
}

// Header returns a header of the last request.
func (c *Collector) Header(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headers.Get(name)
}

// Resource returns the attributes of the last spans' resource.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resource
}

// Spans returns the spans received so far.
func (c *Collector) Spans() []*trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Metrics returns the metrics of the last request that had any.
func (c *Collector) Metrics() []*metrics.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.metrics)
}

// Tree writes spans as an indented list: each with its kind, its attributes except the
// names in leave, and its events below it. Siblings are in the order in which they began.
func Tree(spans []*trace.Span, leave ...string) string {
	var b strings.Builder
	known := map[string]bool{}
	for _, s := range spans {
		known[string(s.SpanId)] = true
	}
	var write func(parent string, depth int)
	write = func(parent string, depth int) {
		var children []*trace.Span
		for _, s := range spans {
			if string(s.ParentSpanId) == parent || parent == "" && !known[string(s.ParentSpanId)] {
				children = append(children, s)
			}
		}
		slices.SortFunc(children, func(x, y *trace.Span) int { return int(x.StartTimeUnixNano) - int(y.StartTimeUnixNano) })
		for _, s := range children {
			indent := strings.Repeat("  ", depth)
			kind := strings.ToLower(strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_"))
			fmt.Fprintf(&b, "%s%s (%s)%s%s\n", indent, s.Name, kind, status(s), list(s.Attributes, leave))
			for _, e := range s.Events {
				fmt.Fprintf(&b, "%s  * %s%s\n", indent, e.Name, list(e.Attributes, leave))
			}
			write(string(s.SpanId), depth+1)
		}
	}
	write("", 0)
	return b.String()
}

func status(s *trace.Span) string {
	if s.Status.GetCode() != trace.Status_STATUS_CODE_ERROR {
		return ""
	}
	return fmt.Sprintf(" error %q", s.Status.Message)
}

func list(attrs []*common.KeyValue, leave []string) (text string) {
	named := Attributes(attrs)
	var names []string
	for name := range named {
		if !slices.Contains(leave, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		text += " " + name + "=" + named[name]
	}
	return text
}

// Attributes returns attributes by name, with their values as text.
func Attributes(attrs []*common.KeyValue) map[string]string {
	named := map[string]string{}
	for _, a := range attrs {
		named[a.Key] = value(a.Value)
	}
	return named
}

func value(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	case *common.AnyValue_ArrayValue:
		var all []string
		for _, one := range v.ArrayValue.Values {
			all = append(all, value(one))
		}
		return "[" + strings.Join(all, " ") + "]"
	default:
		return fmt.Sprint(v)
	}
}
