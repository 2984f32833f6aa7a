package solver

import (
	"context"
	"encoding/json"

	"batch.example/batch/agent"
	"batch.example/batch/results"
)

// recorder writes an agent's events to the journal, settles what calls cost,
// and tells the instance's own log.
type recorder struct{ *attempt }

// Record implements agent.Recorder. A request is durable before it is sent, an
// action before it runs, each with all that came before it. Replies and outputs
// outlive this process at once, and are durable with what comes next.
func (r *recorder) Record(_ context.Context, e agent.Event) error {
	switch e.Type {
	case agent.EventMessages:
		return r.append(results.TypeMessages, results.MessagesData{Messages: rawMessages(e.Messages)})
	case agent.EventRequest:
		return r.durable(results.TypeRequest, results.RequestData{Step: e.Step, Digest: e.Digest, Reserved: r.call.Reserved()})
	case agent.EventReply:
		return r.reply(e)
	case agent.EventAction:
		r.log.Info("command", "step", e.Step, "command", e.Command)
		return r.durable(results.TypeAction, results.ActionData{Step: e.Step, Command: e.Command})
	case agent.EventOutput:
		return r.output(e)
	case agent.EventInterrupt:
		r.log.Info("interrupt", "step", e.Step, "name", e.Interrupt)
		return r.append(results.TypeInterrupt, results.InterruptData{Step: e.Step, Name: e.Interrupt})
	default:
		return nil
	}
}

func (r *recorder) reply(e agent.Event) error {
	res := e.Response
	r.call.Settle(res.Cost)
	r.log.Info("reply", "step", e.Step, "cost", res.Cost, "latency", e.Latency, "finish_reason", res.FinishReason)
	data := results.ReplyData{
		Step: e.Step, Cost: res.Cost, Usage: results.Usage(res.Usage), Model: res.Model,
		Seconds: e.Latency.Seconds(), Waited: res.Waited.Seconds(),
		Message: rawMessage(res.Message), FinishReason: res.FinishReason, Priced: res.Priced,
	}
	if json.Valid(res.Raw) {
		data.Response = res.Raw
	}
	return r.flushed(results.TypeReply, data)
}

func (r *recorder) output(e agent.Event) error {
	o := e.Output
	r.log.Info("output", "step", e.Step, "returncode", o.ExitCode, "bytes", o.Total, "timed_out", o.TimedOut, "dur", o.Duration)
	return r.flushed(results.TypeOutput, results.OutputData{
		Step: e.Step, Output: o.Bytes, Total: o.Total, ExitCode: o.ExitCode,
		TimedOut: o.TimedOut, Timeout: o.Timeout.Seconds(), Seconds: o.Duration.Seconds(),
		Exact: agent.Submits(*o),
	})
}

func (r *recorder) append(typ string, data any) error {
	return r.journal.Append(typ, data)
}

func (r *recorder) flushed(typ string, data any) error {
	if err := r.append(typ, data); err != nil {
		return err
	}
	return r.journal.Flush()
}

func (r *recorder) durable(typ string, data any) error {
	if err := r.append(typ, data); err != nil {
		return err
	}
	start := r.Now()
	defer func() { r.saving += r.Now().Sub(start) }()
	return r.journal.Sync()
}
