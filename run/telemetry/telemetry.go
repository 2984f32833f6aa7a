package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	apitrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/run/telemetry/otlp"
)

// scope names the instrumentation, and service the program, unless OTEL_SERVICE_NAME is set.
const (
	scope   = "batch.example/batch/run/telemetry"
	service = "batch"
)

// flushLimit is how long [Telemetry.Close] waits.
const flushLimit = 3 * time.Second

// About has the facts about a run that are known before it begins.
type About struct {
	Model   string // as the provider names it, without the provider
	Service string // the provider as batch names it, such as openai or gemini
	Version string // of this program
	Mask    *mask.Masker
	Log     *slog.Logger // of the run, for failures to send; nil discards
}

// Telemetry sends the events of a run. It is safe for concurrent use.
type Telemetry struct {
	about   About
	content bool
	parent  context.Context
	tracer  apitrace.Tracer
	metrics *instruments
	common  []attribute.KeyValue // of all calls

	spans    *trace.TracerProvider // nil if no traces are sent
	exporter *otlptrace.Exporter
	meters   *metric.MeterProvider // nil if no metrics are sent
}

// Start returns a Telemetry that sends from now on. It connects to nothing yet. The errors
// of OpenTelemetry's SDK, in the whole process, go to the log. Nil Settings return a nil
// Telemetry, which is off. The caller must Close it.
func (s *Config) Start(ctx context.Context, about About) (*Telemetry, error) {
	if s == nil {
		return nil, nil
	}
	if about.Log == nil {
		about.Log = slog.New(slog.DiscardHandler)
	}
	report(about.Log, about.Mask)
	t := &Telemetry{about: about, content: s.content, parent: s.parent, tracer: noop.Tracer{}}
	t.common = []attribute.KeyValue{semconv.GenAIProviderNameKey.String(providerName(about.Service)), semconv.GenAIRequestModel(about.Model)}
	about.Log.Info("telemetry is sent", "traces", s.traces, "metrics", s.metrics, "content", s.content)
	if err := t.open(ctx, s); err != nil {
		t.Close()
		return nil, fault.New(fault.Usage, "preparing to send telemetry", err).WithHint("check the OTEL_* variables, or set OTEL_SDK_DISABLED=true")
	}
	return t, nil
}

func (t *Telemetry) open(ctx context.Context, s *Config) error {
	res, err := resource.New(ctx, // later ones win
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(t.about.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return err
	}
	to := otlp.Options{Getenv: s.getenv, Log: t.about.Log, UserAgent: service + "/" + t.about.Version}
	if s.traces {
		if t.exporter, err = otlp.Traces(ctx, to); err != nil {
			return err
		}
		t.spans = trace.NewTracerProvider(trace.WithResource(res), trace.WithBatcher(t.exporter))
		t.tracer = t.spans.Tracer(scope, apitrace.WithInstrumentationVersion(t.about.Version), apitrace.WithSchemaURL(semconv.SchemaURL))
	}
	if s.metrics {
		exporter, err := otlp.Metrics(to)
		if err != nil {
			return err
		}
		t.meters = metric.NewMeterProvider(metric.WithResource(res), metric.WithReader(metric.NewPeriodicReader(exporter)))
	}
	t.metrics, err = newInstruments(t.meters, t.about.Version)
	return err
}

// report logs the SDK's first error. While a collector cannot be reached, all others are
// the same.
func report(log *slog.Logger, hide *mask.Masker) {
	var reported atomic.Bool
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if err != nil && reported.CompareAndSwap(false, true) {
			log.Warn("some telemetry could not be sent; further errors are not logged", "err", mask.Clip(hide.Text(err.Error()), maxError))
		}
	}))
	otel.SetLogger(logr.FromSlogHandler(warnings{log.Handler()})) // otherwise it writes to standard error
}

// warnings leaves out the SDK's messages when nothing is wrong.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

// Close sends what is left, for a few seconds at most, and ends all goroutines. It may be
// called twice.
func (t *Telemetry) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	var all sync.WaitGroup
	if t.spans != nil {
		all.Go(func() { t.closeSpans(ctx) })
	}
	if t.meters != nil {
		all.Go(func() { handle("metrics", t.meters.Shutdown(ctx)) })
	}
	all.Wait()
	t.spans, t.meters = nil, nil
}

// closeSpans stops the SDK's exporter when the time is over. Otherwise the SDK would continue
// for as long as an export may take.
func (t *Telemetry) closeSpans(ctx context.Context) {
	stopped := make(chan struct{})
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-stopped:
		case <-ctx.Done():
			handle("traces", ctx.Err())
			_ = t.exporter.Shutdown(ctx)
		}
	}()
	err := t.spans.Shutdown(context.Background())
	close(stopped)
	<-watching
	handle("traces", err)
}

func handle(what string, err error) {
	if err != nil {
		otel.Handle(fmt.Errorf("sending the last %s: %w", what, err))
	}
}

// providerName returns a provider's name in the conventions, or batch's own name if they
// have none.
func providerName(service string) string {
	if name, ok := providerNames[service]; ok {
		return name
	}
	return service
}

var providerNames = map[string]string{
	"azure": "azure.ai.openai", "bedrock": "aws.bedrock", "gemini": "gcp.gemini", "mistral": "mistral_ai",
	"vertex_ai": "gcp.vertex_ai", "xai": "x_ai", "moonshot": "moonshot_ai", "watsonx": "ibm.watsonx.ai",
}
