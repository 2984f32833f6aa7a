package owner

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

func machineID() string {
	for _, name := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if b, err := os.ReadFile(name); err == nil {
			return hashID(string(b))
		}
	}
	return ""
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// pidSpace is the number of this process's pid namespace.
func pidSpace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.Trim(name, "pid:[]")
}

// startOf is field 22 of /proc/pid/stat, clock ticks since boot.
func startOf(pid int) string {
	if fields := statOf(pid); fields != nil {
		return string(fields[19])
	}
	return ""
}

// hasEnded reports whether a process has ended and its parent has not asked how: its only thread is a zombie.
func hasEnded(pid int) bool {
	fields := statOf(pid)
	return fields != nil && string(fields[0]) == "Z" && string(fields[17]) == "1"
}

// statOf returns the fields of /proc/pid/stat from the third on, behind the command's name, which may hold
// blanks and brackets; nil if they are not known.
func statOf(pid int) [][]byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return nil
	}
	return fields
}
