// Package rundir provides the common parts of all work in a run directory: running agents,
// grading, and selecting.
//
// [Open] locks the directory under a name that other processes understand; the lock is the lease
// of its containers. A [Job] is the work that is left: [Job.Work] opens batch.log, connects to
// the engine, shows the progress in a [View], and cleans up, however the work ends. A [Limit]
// limits the cost of its calls.
//
// Its API is not promised to other programs: see package batch.
package rundir

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/owner"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/regular"
	"batch.example/batch/results"
)

// Lease returns the lease of a directory's containers: its lock file, which names its current
// owner.
func Lease(dir string) string {
	path := results.LockPath(dir)
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return owner.Lease(path)
}

// identify gives a directory that this process has locked an id for its [Lease].
func identify(dir string) error {
	path := owner.IDPath(dir)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return atomicfile.Fault("giving the output directory an id", atomicfile.Files{}.Write(path, 0o644, atomicfile.Bytes([]byte(rand.Text()))))
}

// Owner returns the content of the lock file: a line for people, and one for other
// runs that remove abandoned containers.
func Owner() string { return results.DefaultOwner() + "\n" + owner.Self().String() }

// OpenLog opens the directory's log for appending, with the secrets of m hidden. Records
// are also shown if they are warnings or errors. The caller must call done.
func OpenLog(dir string, m *mask.Masker, v View) (log *slog.Logger, done func(), err error) {
	file, err := regular.OpenFile(filepath.Join(dir, "batch.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, fault.New(fault.Host, "opening the run's log", err)
	}
	out := m.Writer(printable.NewWriter(file))
	var handler slog.Handler = slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelInfo})
	if v.show != nil {
		handler = slog.NewMultiHandler(LogHandler(v.Event), handler)
	}
	return slog.New(handler), func() { _ = errors.Join(out.Flush(), file.Close()) }, nil // a log that cannot be completed does not fail the run
}
