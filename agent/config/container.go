package config

import "strings"

// leastMemory is the smallest limit in bytes that Docker accepts.
const leastMemory = 6 << 20

func (e *EnvironmentConfig) checkImage(say reporter) {
	if e.Image != "" { // which mini-swe-agent's batch runs overwrite, too
		say("is %q, but every instance runs in its own image: give the rows an image_name instead", e.Image)
	}
}

func (e *EnvironmentConfig) checkCwd(say reporter) {
	if !strings.HasPrefix(e.Cwd, "/") {
		say("is %q, expected an absolute path", e.Cwd)
	}
}

func (e *EnvironmentConfig) readLifetime(say reporter) {
	var err error
	if e.lifetime, err = parseSleep(e.ContainerTimeout); err != nil {
		say("%v", err)
	}
}

// readFlags reads run_args over the keys that they win over. The checks of those report
// their mistakes.
func (e *EnvironmentConfig) readFlags(say reporter) {
	e.flags = RunFlags{Network: e.Network, CPUs: e.CPUs}
	e.flags.Memory, _ = parseSize(e.Memory)
	e.flags.Disk, _ = parseSize(e.Disk)
	if err := e.flags.parse(e.RunArgs); err != nil {
		say("%v", err)
	}
}
