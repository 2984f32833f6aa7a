package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/regular"
)

const lockFile = ".batch.lock"

// While one program looks at the lock, another cannot take it, and a killed owner has it
// until the system has closed its files. Tries are counted instead of time: on a busy
// machine a short time may pass before the first try.
const (
	lockPause = 10 * time.Millisecond
	lockTries = 6    // tries that find an owner before the directory counts as in use
	lockMost  = 1000 // all tries: another program looks at the lock, or the owner has not written its name yet
)

// LockedError says that another run owns the directory.
type LockedError struct {
	Dir   string
	Owner string // the first line that the owner wrote: see [DefaultOwner]; may be empty
}

// Error names the directory and its owner.
func (e *LockedError) Error() string {
	return fmt.Sprintf("%s is in use by %s", e.Dir, OwnerInWords(e.Owner))
}

// lock takes the directory's lock. The system drops the lock when its owner ends, however
// that happens, so a dead owner's lock is simply free; its name is still in the file, and
// is returned.
func lock(dir, owner string, plan *inject.Plan) (l *flock.Flock, dead string, err error) {
	path := filepath.Join(dir, lockFile)
	l = flock.New(path, flock.SetPermissions(0o644), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK)) // a named pipe is refused later
	ok, before, err := take(l)
	if err != nil {
		return nil, "", atomicfile.Fault("locking the output directory", err)
	}
	if !ok {
		return nil, "", inUse(dir, before)
	}
	if err = plan.At("lock.write"); err == nil {
		err = writeOwner(path, []byte(owner+"\n"))
	}
	if err != nil {
		return nil, "", atomicfile.Fault("locking the output directory", joinUnlock(err, l))
	}
	return l, before, nil
}

// writeOwner replaces the text of the lock's file, and never leaves it empty meanwhile:
// another run would then consider the containers of the directory abandoned, and remove them.
func writeOwner(path string, text []byte) error {
	f, err := regular.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	if err == nil {
		err = f.Truncate(int64(len(text)))
	}
	return errors.Join(err, f.Close())
}

// take tries until it has the lock, or is certain that another run has it. owner is the
// name in the file.
func take(l *flock.Flock) (ok bool, owner string, err error) {
	for tries, owned := 1, 0; ; tries++ {
		ok, err = l.TryLock()
		text, _ := regular.ReadFile(l.Path()) //nolint:errcheck // the owner's name is a courtesy
		owner = ownerIn(text)
		if ok || err != nil {
			return ok, owner, err
		}
		looking, err := canLook(l.Path())
		if err != nil {
			return false, owner, err
		}
		if owner != "" && !looking {
			owned++
		}
		if owned == lockTries || tries == lockMost {
			return false, owner, nil
		}
		time.Sleep(lockPause)
	}
}

// canLook reports whether no run has the lock. Other programs may look at the same time.
func canLook(path string) (bool, error) {
	l := flock.New(path, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK))
	free, err := l.TryRLock()
	return free, errors.Join(err, l.Close())
}

// Lock takes the lock of a folder of run directories, as [Open] locks a run directory. If
// the folder is in use, the error is a [LockedError]. Unlock may be called twice.
func Lock(dir, owner string) (unlock func() error, err error) {
	l, _, err := lock(dir, owner, nil)
	if err != nil {
		return nil, err
	}
	return sync.OnceValue(func() error { return unlockFile(l, nil) }), nil
}

// InUse reports whether a process has the lock of a run directory, or of a folder of run
// directories.
func InUse(dir string) (bool, error) {
	free, err := canLook(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && !free, atomicfile.Fault("looking at a lock", err)
}

// Hold keeps runs out of a run directory that is only read. If a run has it, the error is a
// [LockedError]. Nothing is written. A directory without a lock file, such as another tool's, is
// not held.
func Hold(dir string) (release func() error, err error) {
	path := filepath.Join(dir, lockFile)
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return func() error { return nil }, nil
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK))
	free := false
	if err == nil {
		free, err = l.TryRLock()
	}
	if err != nil {
		return nil, atomicfile.Fault("locking "+dir, errors.Join(err, l.Close()))
	}
	if !free {
		_ = l.Close() // it is not locked
		return nil, inUse(dir, ownerIn(text))
	}
	return l.Close, nil
}

// ownerIn returns the owner's name in the text of the lock's file.
func ownerIn(text []byte) string {
	owner, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return owner
}

// tellDead reports that the last owner did not give the directory up; "" if there was none.
func (rd *Reader) tellDead(owner string) {
	if owner != "" {
		rd.tell("the last run (%s) crashed or was killed", OwnerInWords(owner))
	}
}

func inUse(dir, owner string) error {
	return fault.New(fault.Usage, "", &LockedError{Dir: dir, Owner: owner}).
		WithHint("wait for it, stop it, or choose another directory with -o")
}

// probeLock refuses a directory if its lock is held. It takes the lock only for the test,
// and only if the file has an owner's name. It returns the name of a dead owner.
func probeLock(dir string) (dead string, err error) {
	path := filepath.Join(dir, lockFile)
	text, err := regular.ReadFile(path)
	owner := ownerIn(text)
	if errors.Is(err, fs.ErrNotExist) || err == nil && owner == "" {
		return "", nil
	}
	free, err := canLook(path)
	if err == nil && !free {
		return "", inUse(dir, owner)
	}
	return owner, atomicfile.Fault("locking the output directory", err)
}

func joinUnlock(err error, l *flock.Flock) error {
	if unlockErr := l.Close(); unlockErr != nil {
		return fmt.Errorf("%w (and unlocking: %w)", err, unlockErr)
	}
	return err
}

// unlockFile first clears the owner's name. The file stays: if it were removed, two runs
// could hold locks on two files of one name.
func unlockFile(l *flock.Flock, plan *inject.Plan) error {
	err := plan.At("lock.write")
	if err == nil {
		err = os.Truncate(l.Path(), 0)
	}
	if err != nil {
		return atomicfile.Fault("giving up the output directory", joinUnlock(err, l))
	}
	return atomicfile.Fault("giving up the output directory", l.Close())
}

// LockPath returns the path of the lock file, which has the owner's name while a run has
// the directory.
func LockPath(dir string) string { return filepath.Join(dir, lockFile) }

// DefaultOwner returns a name of this process: host, process id and time.
func DefaultOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("host %s, pid %d, since %s", host, os.Getpid(), time.Now().Format(time.RFC3339))
}

// parseOwner parses a name that [DefaultOwner] made. since is zero if it cannot be read.
func parseOwner(owner string) (host string, pid int, since time.Time, ok bool) {
	host, rest, ok := strings.Cut(strings.TrimPrefix(owner, "host "), ", pid ")
	if _, err := fmt.Sscanf(rest, "%d", &pid); !ok || err != nil || pid <= 0 {
		return "", 0, time.Time{}, false
	}
	_, began, _ := strings.Cut(rest, ", since ")
	since, _ = time.Parse(time.RFC3339, began) //nolint:errcheck // the time is a courtesy
	return host, pid, since, true
}

// OwnerInWords returns the owner of a run directory for messages and screens. A name in
// another form than [DefaultOwner]'s is returned unchanged.
func OwnerInWords(owner string) string {
	host, pid, since, ok := parseOwner(owner)
	switch {
	case owner == "":
		return "another run"
	case !ok:
		return owner
	case since.IsZero():
		return fmt.Sprintf("process %d on %s", pid, host)
	}
	return fmt.Sprintf("process %d on %s, since %s", pid, host, since.Format("2006-01-02 15:04:05 -07:00"))
}
