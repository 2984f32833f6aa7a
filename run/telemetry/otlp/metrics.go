package otlp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
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

func encodeMetrics(data *metricdata.ResourceMetrics) (*metricspb.ResourceMetrics, error) {
	out := &metricspb.ResourceMetrics{Resource: &resourcepb.Resource{Attributes: attributes(data.Resource.Set())}, SchemaUrl: data.Resource.SchemaURL()}
	for _, from := range data.ScopeMetrics {
		scope := &metricspb.ScopeMetrics{
			Scope:     &common.InstrumentationScope{Name: from.Scope.Name, Version: from.Scope.Version, Attributes: attributes(&from.Scope.Attributes)},
			SchemaUrl: from.Scope.SchemaURL,
		}
		for _, m := range from.Metrics {
			metric, err := encodeMetric(m)
			if err != nil {
				return nil, err
			}
			scope.Metrics = append(scope.Metrics, metric)
		}
		out.ScopeMetrics = append(out.ScopeMetrics, scope)
	}
	return out, nil
}

func encodeMetric(from metricdata.Metrics) (*metricspb.Metric, error) {
	m := &metricspb.Metric{Name: from.Name, Description: from.Description, Unit: from.Unit}
	switch data := from.Data.(type) {
	case metricdata.Sum[int64]:
		m.Data = sum(data, func(p *metricspb.NumberDataPoint, n int64) { p.Value = &metricspb.NumberDataPoint_AsInt{AsInt: n} })
	case metricdata.Sum[float64]:
		m.Data = sum(data, func(p *metricspb.NumberDataPoint, n float64) {
			p.Value = &metricspb.NumberDataPoint_AsDouble{AsDouble: n}
		})
	case metricdata.Histogram[int64]:
		m.Data = histogram(data)
	case metricdata.Histogram[float64]:
		m.Data = histogram(data)
	case metricdata.ExponentialHistogram[int64]:
		m.Data = exponentialHistogram(data)
	case metricdata.ExponentialHistogram[float64]:
		m.Data = exponentialHistogram(data)
	default:
		return nil, fmt.Errorf("metric %s: %T is not supported", from.Name, data)
	}
	return m, nil
}

type number interface{ int64 | float64 }

func sum[N number](data metricdata.Sum[N], set func(*metricspb.NumberDataPoint, N)) *metricspb.Metric_Sum {
	out := &metricspb.Sum{AggregationTemporality: temporality(data.Temporality), IsMonotonic: data.IsMonotonic}
	for _, p := range data.DataPoints {
		point := &metricspb.NumberDataPoint{Attributes: attributes(&p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time)}
		set(point, p.Value)
		out.DataPoints = append(out.DataPoints, point)
	}
	return &metricspb.Metric_Sum{Sum: out}
}

func histogram[N number](data metricdata.Histogram[N]) *metricspb.Metric_Histogram {
	out := &metricspb.Histogram{AggregationTemporality: temporality(data.Temporality)}
	for _, p := range data.DataPoints {
		out.DataPoints = append(out.DataPoints, &metricspb.HistogramDataPoint{
			Attributes: attributes(&p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
			Count: p.Count, Sum: new(float64(p.Sum)), Min: extreme(p.Min), Max: extreme(p.Max),
			BucketCounts: p.BucketCounts, ExplicitBounds: p.Bounds,
		})
	}
	return &metricspb.Metric_Histogram{Histogram: out}
}

func exponentialHistogram[N number](data metricdata.ExponentialHistogram[N]) *metricspb.Metric_ExponentialHistogram {
	out := &metricspb.ExponentialHistogram{AggregationTemporality: temporality(data.Temporality)}
	for _, p := range data.DataPoints {
		out.DataPoints = append(out.DataPoints, &metricspb.ExponentialHistogramDataPoint{
			Attributes: attributes(&p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
			Count: p.Count, Sum: new(float64(p.Sum)), Min: extreme(p.Min), Max: extreme(p.Max),
			Scale: p.Scale, ZeroCount: p.ZeroCount, ZeroThreshold: p.ZeroThreshold, Positive: buckets(p.PositiveBucket), Negative: buckets(p.NegativeBucket),
		})
	}
	return &metricspb.Metric_ExponentialHistogram{ExponentialHistogram: out}
}

func buckets(b metricdata.ExponentialBucket) *metricspb.ExponentialHistogramDataPoint_Buckets {
	return &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: b.Offset, BucketCounts: b.Counts}
}

func extreme[N number](e metricdata.Extrema[N]) *float64 {
	if n, ok := e.Value(); ok {
		return new(float64(n))
	}
	return nil
}

func temporality(t metricdata.Temporality) metricspb.AggregationTemporality {
	if t == metricdata.DeltaTemporality {
		return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	}
	return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
}

func nanoseconds(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// attributes writes all values as text: those of batch's metrics and resource are text.
func attributes(set *attribute.Set) (out []*common.KeyValue) {
	for _, a := range set.ToSlice() {
		out = append(out, &common.KeyValue{Key: string(a.Key), Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: a.Value.String()}}})
	}
	return out
}
