package vocab

import "time"

// Output is what a command did. Its JSON form is what files say of it, without
// the bytes and the times, which each file has its own form for.
type Output struct {
	// Bytes are stdout and stderr in the order in which they were written, exact.
	// When Total is larger than their length, the middle was left out.
	Bytes    []byte        `json:"-"`
	Total    int64         `json:"total"`               // bytes written before capping
	ExitCode int           `json:"exit_code"`           // -1 when TimedOut
	TimedOut bool          `json:"timed_out,omitempty"` // it was killed, with all that stems from it, at Timeout
	Timeout  time.Duration `json:"-"`                   // the limit that applied; 0 is none
	Duration time.Duration `json:"-"`

	// Note says what else befell the environment, for the model to read; empty
	// for nothing.
	Note string `json:"note,omitempty"`

	// OOM: ExitCode is 137 and the kernel killed a process of the container
	// meanwhile, since the container's memory was used up.
	OOM bool `json:"oom,omitempty"`

	// Shown is how the model was shown it, of an output read from a journal that
	// keeps less of it than there was; else empty.
	Shown string `json:"shown,omitempty"`

	// Restarted: all processes of the container were ended, by this command, or to
	// make room for it or for the memory that they used up. Its files are as they were.
	Restarted bool `json:"-"`

	// Disk tells of a container whose files take more than they may and that the
	// storage driver does not stop; else it is nil.
	Disk *DiskUse `json:"-"`
}

// DiskUse is what the files of a container take that is above their limit.
type DiskUse struct {
	Used, Limit int64 // bytes
	Killed      bool  // its processes were killed for it, which had not been told yet
	Left        int   // commands that it may still run above its limit
}
