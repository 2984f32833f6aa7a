package results

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
)

const lockFile = ".batch.lock"

// LockedError says that another run owns the directory.
type LockedError struct {
	Dir   string
	Owner string // the first line that the owner wrote: host and process id; may be empty
}

// Error names the directory and its owner.
func (e *LockedError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "another run"
	}
	return fmt.Sprintf("%s is in use by %s", e.Dir, owner)
}

// lock takes the directory's lock. The system drops it with its owner, however
// that ends, so a dead owner's lock is simply free; its name is still there,
// and returned.
func lock(dir, owner string, plan *inject.Plan) (l *flock.Flock, dead string, err error) {
	path := filepath.Join(dir, lockFile)
	l = flock.New(path, flock.SetPermissions(0o644))
	ok, err := l.TryLock()
	if err != nil {
		return nil, "", atomicfile.Fault("locking the output directory", err)
	}
	text, _ := os.ReadFile(path) //nolint:errcheck // the owner's name is a courtesy
	before, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if !ok {
		held := &LockedError{Dir: dir, Owner: before}
		return nil, "", fault.New(fault.Usage, "", held).
			WithHint("wait for it, stop it, or choose another directory with -o")
	}
	if err = plan.At("lock.write"); err == nil {
		err = os.WriteFile(path, []byte(owner+"\n"), 0o644)
	}
	if err != nil {
		return nil, "", atomicfile.Fault("locking the output directory", joinUnlock(err, l))
	}
	return l, before, nil
}

func joinUnlock(err error, l *flock.Flock) error {
	if unlockErr := l.Close(); unlockErr != nil {
		return fmt.Errorf("%w (and unlocking: %w)", err, unlockErr)
	}
	return err
}

// unlock clears the owner's name first: the file stays, since removing it
// would let two runs hold locks on two files of one name.
func unlock(l *flock.Flock, plan *inject.Plan) error {
	err := plan.At("lock.write")
	if err == nil {
		err = os.Truncate(l.Path(), 0)
	}
	if err != nil {
		return atomicfile.Fault("giving up the output directory", joinUnlock(err, l))
	}
	return atomicfile.Fault("giving up the output directory", l.Close())
}

// LockPath is the file that holds the owner's name while a run has the directory.
func LockPath(dir string) string { return filepath.Join(dir, lockFile) }

// DefaultOwner names this process: host, process id and time.
func DefaultOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("host %s, pid %d, since %s", host, os.Getpid(), time.Now().Format(time.RFC3339))
}
