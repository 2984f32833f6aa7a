package owner

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxLease is the size of a lease, in bytes, beyond which nothing is looked for.
const maxLease = 4 << 10

// Leased reports whether a living process has the lease at path.
func Leased(path string, me Owner, local bool) bool {
	if path == "" {
		return false
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true // somebody else's, who may be alive
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLease))
	for line := range strings.Lines(string(text)) {
		if o, ok := Parse(strings.TrimSpace(line)); ok && o.Fate(me, local) != Dead {
			return true
		}
	}
	return err != nil
}
