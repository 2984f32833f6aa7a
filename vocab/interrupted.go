package vocab

import (
	"context"
	"fmt"
)

// ErrInterrupted is the cause of a context that a person has canceled to say something. A
// command under it is killed with all its processes; after any other cancellation a command
// with an id continues, for the run that resumes. It is a [context.Canceled].
var ErrInterrupted = fmt.Errorf("interrupted by a person: %w", context.Canceled)
