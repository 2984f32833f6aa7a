package docker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The labels that say what a container is for. The first three are the
// caller's to set in [Spec.Labels]; the last two are set by [Engine.Create].
const (
	LabelRun      = "batch.run"
	LabelInstance = "batch.instance"
	LabelAttempt  = "batch.attempt"
	LabelOwner    = "batch.owner"   // host, boot, pid and start of the process that made it
	LabelExpires  = "batch.expires" // RFC 3339; it ends by itself then

	labelWorkDir = "batch.workdir" // the Spec's, for Attach
)

// owner names one process of one boot of one machine, so that a process id
// that was given out again is not taken for its former bearer.
type owner struct {
	host, boot string
	pid        int
	start      string // in clock ticks since boot; empty where the system does not say
}

func self() owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	pid := os.Getpid()
	return owner{host: host, boot: bootID(), pid: pid, start: startOf(pid)}
}

func (o owner) String() string {
	return fmt.Sprintf("%s/%s/%d/%s", o.host, o.boot, o.pid, o.start)
}

func parseOwner(s string) (owner, bool) {
	p := strings.Split(s, "/")
	if len(p) != 4 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(p[2])
	return owner{host: p[0], boot: p[1], pid: pid, start: p[3]}, err == nil && pid > 0
}

// dead reports whether the process o is known to be gone, as seen by the
// process me. Of another machine nothing is known.
func (o owner) dead(me owner) bool {
	if o.host != me.host {
		return false
	}
	if o.boot != me.boot {
		return true
	}
	if err := syscall.Kill(o.pid, 0); errors.Is(err, syscall.ESRCH) {
		return true
	}
	start := startOf(o.pid)
	return o.start != "" && start != "" && o.start != start
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

// startOf is field 22 of /proc/pid/stat, counted behind the command's name,
// which may hold blanks and brackets.
func startOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	return string(fields[19])
}
