package progress

import (
	"fmt"
	"time"

	"batch.example/batch/vocab"
)

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
