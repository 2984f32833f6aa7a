package evaluate

import (
	"context"
	"io/fs"
	"time"

	"batch.example/batch/vocab"
)

// Box is a fresh container of an instance's image. Nothing has run in it before.
type Box interface {
	// Write writes a file with exactly these bytes as the user who runs the tests, and
	// creates missing directories. The name is absolute.
	Write(ctx context.Context, name string, mode fs.FileMode, data []byte) error
	// Run runs a script in bash, with an empty stdin and with stdout and stderr in one pipe. The
	// output says whether the script failed, timed out, or was killed by the kernel. An error means
	// that the container, the engine or ctx prevented an output.
	Run(ctx context.Context, c Command) (vocab.Output, error)
}

// Command is a command of a [Box].
type Command struct {
	Script  string
	Dir     string        // absolute; empty: the image's directory
	Timeout time.Duration // kills all processes of the script; 0: none
	Limit   int64         // bytes of output to keep; 0: the box's own limit
}
