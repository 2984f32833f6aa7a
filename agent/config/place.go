package config

import "fmt"

// place is where a value was set.
type place struct {
	source string // a file, a key=value with its secrets hidden, or which of batch's own
	line   int    // of a file, from 1; 0 in a key=value
}

// String is how a message names the place.
func (p place) String() string {
	if p.line == 0 {
		return p.source
	}
	return fmt.Sprintf("%s:%d", p.source, p.line)
}

// isKeyValue tells that a person set just this value.
func (p place) isKeyValue() bool { return p.line == 0 && p.source != "" }
