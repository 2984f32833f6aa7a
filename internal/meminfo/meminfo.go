// Package meminfo tells how much memory this machine has left and whether its
// processes wait for it, where the system says so (Linux).
package meminfo

import (
	"io/fs"
	"strconv"
	"strings"
)

// Memory is that of the machine at one moment.
type Memory struct {
	Total     int64 // bytes
	Available int64 // bytes that could be used without swapping
	// Stalled is the share of the last ten seconds, 0 to 1, in which some
	// process waited for memory; 0 where the kernel does not count it.
	Stalled float64
}

// Read reads what the kernel tells under proc, which is os.DirFS("/proc");
// false where it tells nothing.
func Read(proc fs.FS) (Memory, bool) {
	data, err := fs.ReadFile(proc, "meminfo")
	if err != nil {
		return Memory{}, false
	}
	var m Memory
	for line := range strings.Lines(string(data)) {
		switch f := strings.Fields(line); {
		case len(f) < 2:
		case f[0] == "MemTotal:":
			m.Total = kibibytes(f[1])
		case f[0] == "MemAvailable:":
			m.Available = kibibytes(f[1])
		}
	}
	if data, err := fs.ReadFile(proc, "pressure/memory"); err == nil {
		m.Stalled = stalled(string(data))
	}
	return m, m.Total > 0 && m.Available > 0
}

// kibibytes returns the bytes of a count of KiB, 0 when it is none.
func kibibytes(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1<<50 {
		return 0
	}
	return n << 10
}

// stalled reads "some avg10=12.34 ..." as a share.
func stalled(pressure string) float64 {
	for line := range strings.Lines(pressure) {
		for _, f := range strings.Fields(line) {
			text, ok := strings.CutPrefix(f, "avg10=")
			if percent, err := strconv.ParseFloat(text, 64); ok && err == nil && strings.HasPrefix(line, "some ") &&
				percent >= 0 && percent <= 100 {
				return percent / 100
			}
		}
	}
	return 0
}
