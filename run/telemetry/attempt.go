package telemetry

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Names of batch's own attributes; doc.go says what they mean.
const (
	instanceKey      = attribute.Key("batch.instance.id")
	repoKey          = attribute.Key("batch.instance.repo")
	attemptKey       = attribute.Key("batch.attempt")
	resumedKey       = attribute.Key("batch.resumed")
	outcomeKey       = attribute.Key("batch.outcome")
	statusKey        = attribute.Key("batch.exit_status")
	stepsKey         = attribute.Key("batch.steps")
	stepKey          = attribute.Key("batch.step")
	actionKey        = attribute.Key("batch.action")
	costKey          = attribute.Key("batch.cost")
	patchKey         = attribute.Key("batch.patch.bytes")
	probeKey         = attribute.Key("batch.probe")
	retriesKey       = attribute.Key("batch.retry.count")
	retryWaitKey     = attribute.Key("batch.retry.wait")
	rateLimitWaitKey = attribute.Key("batch.rate_limit.wait")
	timedOutKey      = attribute.Key("batch.timed_out")
	oomKey           = attribute.Key("batch.out_of_memory")
	outputBytesKey   = attribute.Key("batch.output.bytes")
)

// maxError is how many bytes of an error are sent.
const maxError = 300

// Listen is a [attempt.Listen]. A nil Telemetry returns nil.
func (t *Telemetry) Listen(in dataset.Instance, number int) attempt.Listener {
	if t == nil {
		return nil
	}
	a := &traced{Telemetry: t}
	a.ctx, a.span = t.tracer.Start(t.parent, "invoke_agent "+service, trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(t.common...),
		trace.WithAttributes(
			semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName(service), semconv.GenAIAgentVersion(t.about.Version),
			instanceKey.String(in.ID), repoKey.String(in.Repo), attemptKey.Int(number),
		))
	return a
}

// traced is the listener of one attempt.
type traced struct {
	*Telemetry
	ctx  context.Context // of span
	span trace.Span

	call, action trace.Span // nil if there is none at the moment
	began        time.Time  // the call
	retries      int
	added        []contentMessage // since the last call, if content is sent
}

// Event implements attempt.Listener.
func (a *traced) Event(e agent.Event) {
	switch e.Type {
	case agent.EventMessages:
		a.keep(e.Messages)
	case agent.EventRewrite:
		a.rewrite(e)
	case agent.EventRequest:
		a.request(e)
	case agent.EventProbe:
		a.request(e)
		a.call.SetAttributes(probeKey.Bool(true))
	case agent.EventRepeat:
		a.repeat(e)
	case agent.EventReply, agent.EventProbed:
		a.reply(e)
	case agent.EventRefused:
		a.cut(e.Time, string(vocab.StatusContextWindowExceeded), a.errorText(e.Err.Error()))
	case agent.EventFailed:
		a.cut(e.Time, errorType(e.Err), a.errorText(e.Err.Error()))
	case agent.EventAction:
		a.start(e)
	case agent.EventOutput:
		a.output(e)
	case agent.EventInterrupt:
		a.cut(e.Time, string(e.Interrupt), "")
		a.span.AddEvent("batch.interrupt", trace.WithTimestamp(e.Time), trace.WithAttributes(statusKey.String(string(e.Interrupt)), stepKey.Int(e.Step)))
	case agent.EventEnd:
		if e.Err != nil {
			a.cut(e.Time, errorType(e.Err), a.errorText(e.Err.Error()))
		}
	}
}

// End implements attempt.Listener.
func (a *traced) End(r results.Record) {
	a.cut(time.Now(), cmp.Or(r.Blame, fault.Unknown.String()), a.errorText(r.Error)) // after a panic
	a.span.SetAttributes(a.usage(r.Usage)...)
	a.span.SetAttributes(
		attemptKey.Int(r.Attempt), resumedKey.Int(r.Resumed), outcomeKey.String(string(r.Outcome)), statusKey.String(string(r.Status)),
		stepsKey.Int(r.Steps), costKey.Float64(r.Cost), patchKey.Int(r.PatchBytes),
	)
	if r.ModelID != "" {
		a.span.SetAttributes(semconv.GenAIResponseModel(r.ModelID))
	}
	if r.Blame != "" {
		fail(a.span, r.Blame, a.errorText(r.Error))
	}
	a.span.End()
	a.metrics.ended(r)
}

func (a *traced) request(e agent.Event) {
	a.began, a.retries = e.Time, 0
	_, a.call = a.tracer.Start(a.ctx, "chat "+a.about.Model, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(e.Time),
		trace.WithAttributes(a.common...), trace.WithAttributes(semconv.GenAIOperationNameChat, stepKey.Int(e.Step)))
	if len(a.added) > 0 && a.call.IsRecording() {
		a.call.SetAttributes(semconv.GenAIInputMessagesKey.String(encode(a.added)))
	}
	a.added = nil
}

func (a *traced) repeat(e agent.Event) {
	if a.call == nil {
		return
	}
	a.retries++
	a.call.AddEvent("batch.retry", trace.WithTimestamp(e.Time), trace.WithAttributes(
		attribute.Int("batch.retry.try", e.Repeat.Try), attribute.Int("batch.retry.tries", e.Repeat.Tries),
		attribute.Float64("batch.retry.wait", e.Repeat.Wait.Seconds()), attribute.Bool("batch.retry.rate_limited", e.Repeat.RateLimited),
		attribute.String("batch.retry.reason", a.errorText(e.Repeat.Reason)),
	))
}

func (a *traced) reply(e agent.Event) {
	if a.call == nil {
		return
	}
	r := e.Response
	named := append([]attribute.KeyValue{semconv.GenAIOperationNameChat}, a.common...)
	if r.Model != "" {
		named = append(named, semconv.GenAIResponseModel(r.Model))
		a.call.SetAttributes(semconv.GenAIResponseModel(r.Model))
	}
	a.metrics.call(e.Time.Sub(a.began), r.Cost, &r.Usage, named)
	a.call.SetAttributes(a.usage(r.Usage)...)
	if r.FinishReason != "" {
		a.call.SetAttributes(semconv.GenAIResponseFinishReasons(r.FinishReason))
	}
	if r.Priced {
		a.call.SetAttributes(costKey.Float64(r.Cost))
	}
	if r.Waited > 0 {
		a.call.SetAttributes(retryWaitKey.Float64(r.Waited.Seconds()), rateLimitWaitKey.Float64(r.RateLimited.Seconds()))
	}
	if a.content && a.call.IsRecording() {
		m := a.message(r.Message)
		m.FinishReason = r.FinishReason
		a.call.SetAttributes(semconv.GenAIOutputMessagesKey.String(encode([]contentMessage{m})))
	}
	a.endCall(e.Time)
}

func (a *traced) endCall(at time.Time) {
	if a.retries > 0 {
		a.call.SetAttributes(retriesKey.Int(a.retries))
	}
	a.call.End(trace.WithTimestamp(at))
	a.call = nil
}

// rewrite notes that a part of the conversation was replaced.
func (a *traced) rewrite(e agent.Event) {
	w := e.Rewritten
	a.span.AddEvent("batch.rewrite", trace.WithTimestamp(e.Time), trace.WithAttributes(
		attribute.String("batch.rewrite.policy", w.Policy), stepKey.Int(e.Step),
		attribute.Int64("batch.rewrite.tokens.before", w.Before), attribute.Int64("batch.rewrite.tokens.after", w.After),
		attribute.Bool("batch.rewrite.refused", w.Refused),
	))
	for _, edit := range w.Edits {
		a.keep(edit.Messages)
	}
}

func (a *traced) start(e agent.Event) {
	_, a.action = a.tracer.Start(a.ctx, "execute_tool "+e.Tool, trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(e.Time),
		trace.WithAttributes(semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(e.Tool), semconv.GenAIToolType("function"),
			stepKey.Int(e.Step), actionKey.Int(e.Action)))
	if e.CallID != "" {
		a.action.SetAttributes(semconv.GenAIToolCallID(e.CallID))
	}
	if a.content && e.Command != "" && a.action.IsRecording() {
		a.action.SetAttributes(semconv.GenAIToolCallArgumentsKey.String(encode(map[string]string{"command": a.text(e.Command)})))
	}
}

func (a *traced) output(e agent.Event) {
	if a.action == nil {
		return
	}
	o := e.Output
	a.action.SetAttributes(semconv.ProcessExitCode(o.ExitCode), timedOutKey.Bool(o.TimedOut), outputBytesKey.Int64(o.Total))
	if o.OOM {
		a.action.SetAttributes(oomKey.Bool(true))
	}
	if o.TimedOut {
		fail(a.action, "timeout", "")
	}
	if a.content && a.action.IsRecording() {
		a.action.SetAttributes(semconv.GenAIToolCallResultKey.String(a.text(o.Text())))
	}
	a.action.End(trace.WithTimestamp(e.Time))
	a.action = nil
}

// cut ends a call or an action that was interrupted.
func (a *traced) cut(at time.Time, kind, text string) {
	if a.call != nil {
		a.metrics.call(at.Sub(a.began), 0, nil, append([]attribute.KeyValue{semconv.GenAIOperationNameChat, semconv.ErrorTypeKey.String(kind)}, a.common...))
		fail(a.call, kind, text)
		a.endCall(at)
	}
	if a.action != nil {
		fail(a.action, kind, text)
		a.action.End(trace.WithTimestamp(at))
		a.action = nil
	}
}

// usage returns the attributes of tokens. It leaves out zeros that most providers report.
func (a *traced) usage(u vocab.Usage) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.GenAIUsageInputTokens(int(u.Input)), semconv.GenAIUsageOutputTokens(int(u.Output))}
	if u.Cached > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheReadInputTokens(int(u.Cached)))
	}
	if u.CacheWrite > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheCreationInputTokens(int(u.CacheWrite)))
	}
	if u.Reasoning > 0 {
		attrs = append(attrs, semconv.GenAIUsageReasoningOutputTokens(int(u.Reasoning)))
	}
	return attrs
}

func fail(s trace.Span, kind, text string) {
	s.SetAttributes(semconv.ErrorTypeKey.String(kind))
	s.SetStatus(codes.Error, text)
}

func errorType(err error) string {
	if fault.Canceled(err) {
		return "canceled"
	}
	return fault.KindOf(err).String()
}

// errorText returns an error's text without its secrets, shortened.
func (t *Telemetry) errorText(text string) string {
	return valid(mask.Clip(t.about.Mask.Text(text), maxError))
}
