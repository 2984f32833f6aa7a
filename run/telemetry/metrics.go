package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Bucket boundaries that the conventions recommend.
var (
	tokenBuckets    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	durationBuckets = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
)

type instruments struct {
	tokens   genaiconv.ClientTokenUsage
	duration genaiconv.ClientOperationDuration
	attempts metric.Int64Counter
	cost     metric.Float64Counter
}

// newInstruments returns the instruments of provider. With a nil provider they record
// nothing.
func newInstruments(provider *sdk.MeterProvider, version string) (i *instruments, err error) {
	meter := noop.NewMeterProvider().Meter(scope)
	if provider != nil {
		meter = provider.Meter(scope, metric.WithInstrumentationVersion(version), metric.WithSchemaURL(semconv.SchemaURL))
	}
	i = &instruments{}
	if i.tokens, err = genaiconv.NewClientTokenUsage(meter, metric.WithExplicitBucketBoundaries(tokenBuckets...)); err != nil {
		return nil, err
	}
	if i.duration, err = genaiconv.NewClientOperationDuration(meter, metric.WithExplicitBucketBoundaries(durationBuckets...)); err != nil {
		return nil, err
	}
	if i.attempts, err = meter.Int64Counter("batch.attempts", metric.WithUnit("{attempt}"), metric.WithDescription("Attempts at instances that ended.")); err != nil {
		return nil, err
	}
	i.cost, err = meter.Float64Counter("batch.cost", metric.WithUnit("USD"), metric.WithDescription("US dollars that model calls cost."))
	return i, err
}

// call records a model call. Usage is nil if it failed.
func (i *instruments) call(took time.Duration, cost float64, usage *vocab.Usage, attrs []attribute.KeyValue) {
	ctx := context.Background()
	with := func(more ...attribute.KeyValue) attribute.Set {
		return attribute.NewSet(append(more, attrs...)...)
	}
	i.duration.RecordSet(ctx, took.Seconds(), with())
	if usage == nil {
		return
	}
	i.tokens.RecordSet(ctx, usage.Input, with(semconv.GenAITokenTypeInput))
	i.tokens.RecordSet(ctx, usage.Output, with(semconv.GenAITokenTypeKey.String(string(genaiconv.TokenTypeOutput))))
	i.cost.Add(ctx, cost, metric.WithAttributeSet(with()))
}

func (i *instruments) ended(r results.Record) {
	i.attempts.Add(context.Background(), 1, metric.WithAttributes(outcomeKey.String(string(r.Outcome)), statusKey.String(string(r.Status))))
}
