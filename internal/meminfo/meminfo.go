// Package meminfo reads how much memory this machine has available and whether its
// processes wait for memory. It works only on Linux.
package meminfo

import (
	"io/fs"
	"strconv"
	"strings"
)

// Memory is the state of the machine's memory.
type Memory struct {
	Total     int64 // bytes
	Available int64 // bytes that could be used without swapping
	// Stalled is the share of the last ten seconds, 0 to 1, in which some
	// process waited for memory; 0 if the kernel does not measure it.
	Stalled float64
}

// Read reads the kernel's files in proc, which is os.DirFS("/proc"). It returns false if
// the system does not have them.
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

// kibibytes converts a count of KiB to bytes; 0 if s is not a count.
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
