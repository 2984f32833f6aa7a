package docker

import (
	"slices"
	"strings"
)

// capabilities are what root may do in a container; the package's comment says why.
var capabilities = []string{
	"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID", "SYS_CHROOT",
}

const allCapabilities = "ALL"

// grants returns what to add and to drop so that a container has our
// capabilities less those in drop and those in add besides, as docker run has
// it with the engine's own set. Names stay as they were given where the engine
// has to judge them.
func grants(add, drop []string) (adds, drops []string) {
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
