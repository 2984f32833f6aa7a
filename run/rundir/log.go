package rundir

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"batch.example/batch/vocab"
)

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
