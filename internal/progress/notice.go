package progress

import (
	"fmt"
	"time"

	"batch.example/batch/vocab"
)

// Notice returns the line that stays on the screen for e: news for a person besides the run's numbers. Empty
// means none.
func Notice(e vocab.Event) string {
	switch e.Type {
	case vocab.EventMessage:
		return about(e.Name(), e.Text)
	case vocab.EventCallRetry:
		return about(e.Name(), fmt.Sprintf("%s; next try %s (%d of %d)", reason(e), in(e.Wait), e.Try, e.Tries))
	case vocab.EventInstanceRetry:
		return about(e.Name(), fmt.Sprintf("%s; next attempt %s", withError(e), in(e.Wait)))
	case vocab.EventInstanceEnd:
		if e.Error != "" {
			return about(e.Name(), withError(e))
		}
	case vocab.EventGraded:
		if !e.Verdict.Counts() {
			return about(e.Name(), "not graded: "+string(e.Verdict)+": "+e.Error)
		}
	case vocab.EventRunEnd:
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

func reason(e vocab.Event) string {
	if e.RateLimited {
		return "rate limited by the provider"
	}
	return e.Error
}

func withError(e vocab.Event) string {
	if e.Error == "" {
		return label(e)
	}
	return label(e) + ": " + e.Error
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
