package runner

import "time"

// EventType says what happened to a job.
type EventType string

// The events of a job, in this order. A retry repeats them from EventStart.
const (
	EventStart EventType = "start"
	EventPhase EventType = "phase" // Progress changed
	EventRetry EventType = "retry" // the attempt ended, another one follows
	EventEnd   EventType = "end"   // the last attempt of this run ended
)

// Event is the argument of [Config.OnEvent]. EventRetry and EventEnd set Ending.
type Event struct {
	Type     EventType
	Job      string // its name
	Attempt  int
	Progress Progress
	Ending   Ending
	Wait     time.Duration // of EventRetry: until the next attempt
}
