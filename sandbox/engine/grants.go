package engine

import (
	"slices"
	"strings"
)

// capabilities list what root may do in a container of any engine; the comment of package docker
// says why.
var capabilities = []string{
	"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID", "SYS_CHROOT",
}

const allCapabilities = "ALL"

// Grants returns the capabilities to add and to drop so that a container has the list
// capabilities, without the ones in drop, plus the ones in add. Docker run does the same with the
// engine's own list. The names in add and drop stay as they were given, for the engine to
// check.
func Grants(add, drop []string) (adds, drops []string) {
	dropped := func(name string) bool {
		return slices.ContainsFunc(drop, func(d string) bool { d = capability(d); return d == name || d == allCapabilities })
	}
	if slices.ContainsFunc(add, func(a string) bool { return capability(a) == allCapabilities }) {
		return add, drop // all but the dropped ones
	}
	for _, name := range capabilities {
		if !dropped(name) {
			adds = append(adds, name)
		}
	}
	return append(adds, add...), append([]string{allCapabilities}, drop...)
}

func capability(name string) string {
	return strings.TrimPrefix(strings.ToUpper(name), "CAP_")
}
