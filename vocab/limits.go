package vocab

import "time"

// Limits are the limits of an attempt; 0 is no limit.
type Limits struct {
	Steps int           // model calls
	Cost  float64       // US dollars
	Time  time.Duration // of work, without waits for rate limits
}

// LimitKind is one of the limits, for those who change it while the attempt runs.
type LimitKind struct {
	Name  string  // of the value, in commands
	Arg   string  // of the limit, on a command line
	Unit  string  // what the value counts
	Whole bool    // the value has no fraction
	Most  float64 // the largest value
	Set   func(l *Limits, value float64)
}

// LimitKinds are all limits.
var LimitKinds = []LimitKind{
	{"steps", "step", "model calls", true, 1e12, func(l *Limits, v float64) { l.Steps = int(v) }},
	{"cost", "cost", "US dollars", false, 1e12, func(l *Limits, v float64) { l.Cost = v }},
	// More is longer than a time.Duration.
	{"seconds", "time", "seconds", false, 9e9, func(l *Limits, v float64) { l.Time = time.Duration(v * float64(time.Second)) }},
}
