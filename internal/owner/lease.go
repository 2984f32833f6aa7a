package owner

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Lease returns the lease of the lock file at path, an absolute path on this machine. The label of a
// container cannot be changed, so a process that takes over a container of a dead process cannot
// make it its own. Containers name a lease instead: the process that holds the lock file writes its
// [Owner] as a line into it, and the caller makes sure that the file names one process at a time.
func Lease(path string) string { return JoinLease(machineOf(Self()), path) }

// SameLease reports whether a container's lease is mine, which [Lease] returned. Versions of batch
// before leases named a machine wrote the path alone.
func SameLease(lease, mine string) bool {
	_, path := SplitLease(mine)
	return lease == mine || lease != "" && lease == path
}

// Adopter names a lease in a few letters, for the name of a container.
func Adopter(lease string) string {
	_, path := SplitLease(lease)
	sum := sha256.Sum256([]byte(path))
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

func machineOf(o Owner) string { return cmp.Or(o.Machine, o.Host) }

// maxLease is how many bytes of a lease are read.
const maxLease = 4 << 10

// HoldsLease reports whether a living process, or one that may live, holds a lease. A lease of
// another machine may be held.
func HoldsLease(lease string, me Owner, local bool) bool {
	if lease == "" {
		return false
	}
	machine, path := SplitLease(lease)
	if machine != "" && machine != machineOf(me) {
		return true
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true // it may belong to a living process
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLease))
	for line := range strings.Lines(string(text)) {
		if o, ok := Parse(strings.TrimSpace(line)); ok && o.Liveness(me, local) != Dead {
			return true
		}
	}
	return err != nil
}
