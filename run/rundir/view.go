package rundir

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"batch.example/batch/vocab"
)

// View shows a job while it works. It is safe for concurrent use.
type View struct {
	show func(vocab.Event)
	cell string // of a sweep; empty: the run is not in one
}

// NewView returns a View that calls show with each event, from many goroutines at once. Nil shows
// nothing.
func NewView(show func(vocab.Event)) View { return View{show: show} }

// Event shows an event.
func (v View) Event(e vocab.Event) {
	if v.show == nil {
		return
	}
	if v.cell != "" && e.Instance != "" {
		e.Cell = v.cell
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	v.show(e)
}

// Say shows a line.
func (v View) Say(text string) {
	if v.cell != "" {
		text = v.cell + ": " + text
	}
	v.Event(vocab.Event{Type: vocab.EventMessage, Text: text})
}

// Cell returns the view of one cell of a sweep, by its name.
func (v View) Cell(name string) View {
	v.cell = name
	return v
}

// PatchProgress returns the progress of work on patches: done of all have a result that counts,
// and the work on the others has ended without one.
func PatchProgress(done, all int) vocab.Event {
	outcomes := map[string]int{}
	for outcome, n := range map[vocab.Outcome]int{vocab.OutcomeSubmitted: done, vocab.OutcomeInfrastructure: all - done} {
		if n > 0 {
			outcomes[string(outcome)] = n
		}
	}
	return vocab.Event{Done: done, Total: all, Outcomes: outcomes}
}

// LogHandler returns a handler that passes warnings and errors to show, as messages with the instance they
// name. Errors are urgent.
func LogHandler(show func(vocab.Event)) slog.Handler { return logHandler{show: show} }

type logHandler struct {
	show  func(vocab.Event)
	attrs []slog.Attr
}

// Enabled implements slog.Handler.
func (h logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(slices.Clip(h.attrs), attrs...)
	return h
}

// WithGroup implements slog.Handler. It ignores groups, which a person does not need.
func (h logHandler) WithGroup(string) slog.Handler { return h }

// Handle implements slog.Handler.
func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	e := vocab.Event{Time: r.Time, Type: vocab.EventMessage, Urgent: r.Level >= slog.LevelError}
	var cause string
	var details []string
	add := func(a slog.Attr) bool {
		text := a.Value.Resolve().String()
		switch a.Key {
		case "instance", "job":
			e.Instance = text
		case "err":
			cause = ": " + text
		case "stack":
		default:
			details = append(details, a.Key+" "+text)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	e.Text = r.Message
	if len(details) > 0 {
		e.Text += " (" + strings.Join(details, ", ") + ")"
	}
	e.Text += cause
	h.show(e)
	return nil
}
