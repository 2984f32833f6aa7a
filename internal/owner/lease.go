package owner

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Lease returns the lease of the lock file at path, an absolute path on this machine. The label of a
// container cannot be changed, so a process that takes over a container of a dead process cannot
// make it its own. Containers name a lease instead: the process that holds the lock file writes its
// [Owner] as a line into it, and the caller makes sure that the file names one process at a time.
// On a machine without an id, a lease is the path alone: the machine's name may change.
func Lease(path string) string { return JoinLease(Self().Machine, path) }

// IDPath returns the path of the file that has a directory's id, where the id of a machine does not tell
// its leases from other ones: see [InPod].
func IDPath(dir string) string { return filepath.Join(dir, ".batch.id") }

// SameLease reports whether a container's lease is mine, which [Lease] returned. Versions of batch
// before leases named a machine wrote the path alone.
func SameLease(lease, mine string) bool {
	_, path := SplitLease(mine)
	return lease == mine || lease != "" && lease == path
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

// HolderOf returns what the process me knows about the holder of a lease; Dead means that no process
// holds it. A process that may hold it counts as alive. About a lease of another machine me knows nothing.
func HolderOf(lease string, me Owner, local bool) Liveness {
	if lease == "" {
		return Dead
	}
	machine, path := SplitLease(lease)
	if id, err := os.ReadFile(IDPath(filepath.Dir(path))); machine != "" && machine != me.Machine && (err != nil || string(id) != machine) {
		return Unknown
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Dead
	}
	if err != nil {
		return Alive
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLease))
	for line := range strings.Lines(string(text)) {
		if o, ok := Parse(strings.TrimSpace(line)); ok && o.Liveness(me, local) != Dead {
			return Alive
		}
	}
	if err != nil {
		return Alive
	}
	return Dead
}
