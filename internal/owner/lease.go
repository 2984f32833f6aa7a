package owner

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"batch.example/batch/internal/regular"
)

// Lease returns the lease of the lock file at path, an absolute path on this machine. The label of a
// container cannot be changed, so a process that takes over a container of a dead process cannot
// make it its own. Containers name a lease instead: the process that holds the lock file writes its
// [Owner] as a line into it, and the caller makes sure that the file names one process at a time.
//
// Where the lock file's directory has an id, the lease names the directory too. So another directory
// with the same path, on another machine or in another container, has another lease.
func Lease(path string) string {
	machine := Self().Machine
	id, err := dirID(filepath.Dir(path))
	if InPod() {
		if machine = ""; err != nil || id == "" {
			id = rand.Text() // no container has such a lease
		}
	}
	if id != "" {
		machine += "@" + id
	}
	return JoinLease(machine, path)
}

// IDPath returns the path of the file that has a directory's id.
func IDPath(dir string) string { return filepath.Join(dir, ".batch.id") }

// longestID is how many bytes an id has at most.
const longestID = 64

// dirID returns what tells a directory from all others, also from its copies; empty if it has no id. No
// program can copy the time at which a file's inode was changed. In a pod it is the id alone: some file
// systems do not keep that time when a volume is mounted anew.
func dirID(dir string) (string, error) {
	f, err := regular.Open(IDPath(dir))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return "", err
	}
	defer f.Close()
	id, err := io.ReadAll(io.LimitReader(f, longestID))
	if err != nil || len(id) == 0 || InPod() {
		return string(id), err
	}
	var stat unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &stat)
	return fmt.Sprintf("%s-%d", id, stat.Ctim.Nano()), err
}

// SameLease reports whether a container's lease is mine, which [Lease] returned. Earlier versions of
// batch named the machine in place of the directory, or the path alone.
func SameLease(lease, mine string) bool {
	_, path := SplitLease(mine)
	return lease == mine || OfDir(lease, mine) || restamped(lease, mine) || lease != "" && (lease == path || lease == JoinLease(Self().Machine, path))
}

// restamped reports whether two leases of one machine differ in the time of the directory's id alone: a
// chmod -R changes that time, and so do backups.
func restamped(lease, mine string) bool {
	place, path := SplitLease(lease)
	other, same := SplitLease(mine)
	machine, id, named := strings.Cut(place, "@")
	otherMachine, otherID, _ := strings.Cut(other, "@")
	return named && machine != "" && machine == otherMachine && random(id) == random(otherID) && path == same
}

// OfDir reports whether two leases are of the same directory for sure, on whatever machine they were made.
func OfDir(lease, mine string) bool {
	place, path := SplitLease(lease)
	other, same := SplitLease(mine)
	_, id, named := strings.Cut(place, "@")
	_, otherID, _ := strings.Cut(other, "@")
	return named && id == otherID && path == same
}

// Adopter names a lease in a few letters, for the name of a container.
func Adopter(lease string) string {
	_, path := SplitLease(lease)
	return Digest(path)
}

// Digest names a text in a few letters.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x", sum[:6])
}

// SplitLease returns the parts of a lease; the machine is empty if the lease names none.
func SplitLease(lease string) (machine, path string) {
	if strings.HasPrefix(lease, "/") {
		return "", lease
	}
	machine, path, _ = strings.Cut(lease, ":")
	return machine, path
}

// JoinLease is the lease with these parts.
func JoinLease(machine, path string) string {
	if machine == "" {
		return path
	}
	return machine + ":" + path
}

// maxLease is how many bytes of a lease are read.
const maxLease = 4 << 10

// random returns the part of a directory's id that its copies share.
func random(id string) string {
	id, _, _ = strings.Cut(id, "-")
	return id
}

// HolderOf returns what the process me knows about the holder of a lease; Dead means that no process
// holds it. A process that may hold it counts as alive. About a lease of another machine me knows nothing,
// unless it has the lease's directory: then seen is true, and the answer is about every process of batch.
func HolderOf(lease string, me Owner, local bool) (holder Liveness, seen bool) {
	if lease == "" {
		return Dead, false
	}
	place, path := SplitLease(lease)
	machine, id, _ := strings.Cut(place, "@")
	here, err := dirID(filepath.Dir(path))
	seen = id != "" && id == here
	switch {
	case !seen && machine != "" && machine != me.Machine:
		return Unknown, false
	case err != nil:
		return Alive, false
	case id != "" && random(id) != random(here):
		return Dead, false // its directory is not there any more
	}
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Dead, seen
	}
	if err != nil {
		return Alive, seen
	}
	defer f.Close()
	free := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil // until f is closed
	text, err := io.ReadAll(io.LimitReader(f, maxLease))
	if err != nil || !free {
		return Alive, seen
	}
	for line := range strings.Lines(string(text)) {
		o, ok := Parse(strings.TrimSpace(line))
		if !ok {
			continue
		}
		// A lock tells of all processes under one kernel. Not every network has it on other machines. Without
		// the boot's id, as in some sandboxes, each may be under a kernel of its own.
		if known := o.Liveness(me, local); known == Alive || known == Unknown && !(seen && me.Boot != "" && o.Boot == me.Boot) {
			return Alive, seen
		}
	}
	return Dead, seen
}
