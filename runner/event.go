package runner

import "batch.example/batch/results"

// EventType says what happened to an instance.
type EventType string

// The life of an instance as events; retries repeat from EventStart.
const (
	EventStart EventType = "start"
	EventPhase EventType = "phase" // Progress changed
	EventRetry EventType = "retry" // Record failed by our fault and is tried again
	EventEnd   EventType = "end"   // Record is the last one of this run
)

// Event is told to [Config.OnEvent]. Record is set by EventRetry and EventEnd.
type Event struct {
	Type     EventType
	Instance string
	Try      int
	Progress Progress
	Record   *results.Record
}
