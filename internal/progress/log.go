package progress

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"batch.example/batch/internal/printable"
	"batch.example/batch/vocab"
)

// LogHandler returns a handler that passes warnings and errors to show, as messages with the instance they
// name. Errors are urgent.
func LogHandler(show func(Event)) slog.Handler { return logHandler{show: show} }

type logHandler struct {
	show  func(Event)
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
	e := Event{Time: r.Time, Type: Message, Urgent: r.Level >= slog.LevelError}
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

const maxPending = 1 << 20 // bytes of lines waiting for a slow terminal

// logBuffer holds lines until they are painted above the block. If the terminal falls far behind, lines are
// dropped and counted.
type logBuffer struct {
	lines   []string
	size    int
	dropped int
}

func (b *logBuffer) add(line string) {
	if b.size > maxPending {
		b.dropped++
		return
	}
	line = strings.TrimRight(printable.Line(line), " ")
	b.lines = append(b.lines, line)
	b.size += len(line)
}

// take returns the lines and empties the buffer.
func (b *logBuffer) take() []string {
	lines := b.lines
	if b.dropped > 0 {
		lines = append(lines, fmt.Sprintf("(%s not shown)", printable.Count(b.dropped, "line", "lines")))
	}
	b.lines, b.size, b.dropped = nil, 0, 0
	return lines
}

// Notice returns the line that stays on the screen for e: news for a person besides the run's numbers. Empty
// means none.
func Notice(e Event) string {
	switch e.Type {
	case Message:
		return about(e.name(), e.Text)
	case CallRetry:
		return about(e.name(), fmt.Sprintf("%s; next try %s (%d of %d)", reason(e), in(e.Wait), e.Try, e.Tries))
	case InstanceRetry:
		return about(e.name(), fmt.Sprintf("%s; next attempt %s", withError(e), in(e.Wait)))
	case InstanceEnd:
		if e.Error != "" {
			return about(e.name(), withError(e))
		}
	case Graded:
		if !vocab.Verdict(e.Verdict).Counts() {
			return about(e.name(), "not graded: "+e.Verdict+": "+e.Error)
		}
	case RunEnd:
		return e.Error
	}
	return ""
}

func about(instance, text string) string {
	if instance == "" {
		return text
	}
	return instance + ": " + text
}

func reason(e Event) string {
	if e.RateLimited {
		return "rate limited by the provider"
	}
	return e.Error
}

func withError(e Event) string {
	if e.Error == "" {
		return e.label()
	}
	return e.label() + ": " + e.Error
}

// in returns the time until an event, for a person.
func in(wait time.Duration) string {
	switch {
	case wait <= 0:
		return "now"
	case wait < 10*time.Second:
		return fmt.Sprintf("in %.1f s", max(0.1, wait.Seconds()))
	case wait < time.Minute:
		return fmt.Sprintf("in %.0f s", wait.Seconds())
	}
	return "in " + span(wait.Round(time.Second))
}
