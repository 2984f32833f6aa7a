package otlp

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// Metrics returns an exporter of counters and histograms, the instruments that batch has. It
// connects to nothing yet.
func Metrics(o Options) (metric.Exporter, error) {
	s, err := o.settings("METRICS")
	if err != nil {
		return nil, err
	}
	m := &metrics{client: newClient(s), temporality: metric.DefaultTemporalitySelector, aggregation: metric.DefaultAggregationSelector}
	o.use(prefix+"METRICS_TEMPORALITY_PREFERENCE", m.setTemporality)
	o.use(prefix+"METRICS_DEFAULT_HISTOGRAM_AGGREGATION", m.setAggregation)
	return m, nil
}

type metrics struct {
	*client
	temporality metric.TemporalitySelector
	aggregation metric.AggregationSelector
}

func (m *metrics) setTemporality(value string) error {
	selector, ok := map[string]metric.TemporalitySelector{
		"cumulative": metric.CumulativeTemporalitySelector, "delta": metric.DeltaTemporalitySelector, "lowmemory": metric.LowMemoryTemporalitySelector,
	}[strings.ToLower(value)]
	if !ok {
		return fmt.Errorf("%q: expected cumulative, delta or lowmemory", value)
	}
	m.temporality = selector
	return nil
}

func (m *metrics) setAggregation(value string) error {
	switch strings.ToLower(value) {
	case "explicit_bucket_histogram":
		m.aggregation = metric.DefaultAggregationSelector
	case "base2_exponential_bucket_histogram":
		m.aggregation = exponential
	default:
		return fmt.Errorf("%q: expected explicit_bucket_histogram or base2_exponential_bucket_histogram", value)
	}
	return nil
}

// exponential has the sizes that OpenTelemetry's specification recommends.
func exponential(kind metric.InstrumentKind) metric.Aggregation {
	if kind == metric.InstrumentKindHistogram {
		return metric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
	}
	return metric.DefaultAggregationSelector(kind)
}

// Temporality implements metric.Exporter.
func (m *metrics) Temporality(kind metric.InstrumentKind) metricdata.Temporality {
	return m.temporality(kind)
}

// Aggregation implements metric.Exporter.
func (m *metrics) Aggregation(kind metric.InstrumentKind) metric.Aggregation {
	return m.aggregation(kind)
}

// Export implements metric.Exporter.
func (m *metrics) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	resource, err := encodeMetrics(data)
	if err != nil {
		return err
	}
	// The fields of an ExportMetricsServiceRequest are the same, but its package imports gRPC.
	return m.upload(ctx, &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{resource}})
}

// ForceFlush implements metric.Exporter. Export has sent everything.
func (m *metrics) ForceFlush(ctx context.Context) error { return ctx.Err() }

// Shutdown implements metric.Exporter.
func (m *metrics) Shutdown(ctx context.Context) error { return m.Stop(ctx) }
