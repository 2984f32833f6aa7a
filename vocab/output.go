package vocab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Command is a script that batch itself runs in a container, in bash.
type Command struct {
	Script  string
	Dir     string        // empty: the container's directory
	Timeout time.Duration // kills all processes of the script; 0: none
	Limit   int64         // bytes of output to keep; 0: the container's own limit
}

// Output is the result of a command. Its JSON form leaves out the bytes and the
// times, which each file format stores in its own way.
type Output struct {
	// Bytes are stdout and stderr in the order in which they were written, exact.
	// When Total is larger than their length, the middle was left out.
	Bytes    []byte        `json:"-"`
	Total    int64         `json:"total"`               // bytes written before capping
	ExitCode int           `json:"exit_code"`           // -1 when TimedOut
	TimedOut bool          `json:"timed_out,omitempty"` // it and its descendants were killed at Timeout
	Timeout  time.Duration `json:"-"`                   // the limit that applied; 0 means none
	Duration time.Duration `json:"-"`

	// Note tells the model what else happened to the environment; may be empty.
	Note string `json:"note,omitempty"`

	// OOM: ExitCode is 137 and the kernel killed a process of the container during
	// the command because the container ran out of memory.
	OOM bool `json:"oom,omitempty"`

	// Shown is the text that the model saw, if the output was read from a journal that
	// keeps only part of the bytes; otherwise empty.
	Shown string `json:"shown,omitempty"`

	// Restarted: all processes of the container were ended, either by this command or
	// to free the memory that they used. The files are unchanged.
	Restarted bool `json:"-"`

	// Disk is set if the container's files exceed their limit and the storage driver does
	// not enforce it; otherwise it is nil.
	Disk *DiskUse `json:"-"`
}

// textBytes is the number of bytes of an output that Text returns.
const textBytes = 64 << 10

// Text returns the first 64 KiB of the bytes, with U+FFFD for what is not UTF-8. A picture is only named.
func (o *Output) Text() string {
	if picture := o.Picture(); picture != nil {
		return fmt.Sprintf("a picture of %d bytes", len(picture))
	}
	return strings.ToValidUTF8(string(o.Bytes[:min(len(o.Bytes), textBytes)]), "\ufffd")
}

// PictureMark is the line before the bytes of a picture that the editor's view reads.
const PictureMark = "BATCH_EDITOR_PICTURE\n"

// Picture returns the bytes of a picture if the output is one; otherwise nil. They may be anything.
func (o *Output) Picture() []byte {
	data, ok := bytes.CutPrefix(o.Bytes, []byte(PictureMark))
	if !ok || o.ExitCode != 0 || o.Total != int64(len(o.Bytes)) {
		return nil
	}
	return data
}

// DiskUse describes a container whose files exceed their limit.
type DiskUse struct {
	Used, Limit int64 // bytes
	Killed      bool  // its processes were killed for it, since the last report
	Left        int   // commands that may still run above the limit
}

// Marker is the line with which an agent submits: the command must exit with code 0
// and its output must begin with this line, ignoring leading white space.
const Marker = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// ErrDestroyed is in the chain of an error when an earlier command made the environment
// unusable, by deleting the shell for example. The engine is not the cause: the same
// commands would destroy a new environment too. It is a result of the agent, not an
// infrastructure failure.
var ErrDestroyed = errors.New("an earlier command made the environment unusable")

// ErrInterrupted is the cause of a context that a person has canceled to say something. A
// command under it is killed with all its processes; after any other cancellation a command
// with an id continues, for the run that resumes. It is a [context.Canceled].
var ErrInterrupted = fmt.Errorf("interrupted by a person: %w", context.Canceled)
