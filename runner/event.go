package runner

// EventType says what happened to a job.
type EventType string

// The life of a job as events; retries repeat from EventStart.
const (
	EventStart EventType = "start"
	EventPhase EventType = "phase" // Progress changed
	EventRetry EventType = "retry" // it ended so that it is tried again
	EventEnd   EventType = "end"   // Ending is the last one of this run
)

// Event is told to [Config.OnEvent]. Ending is set by EventRetry and EventEnd.
type Event struct {
	Type     EventType
	Job      string // its name
	Attempt  int
	Progress Progress
	Ending   Ending
}
