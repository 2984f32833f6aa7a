package docker

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The labels that say what a container is for. The first three are the
// caller's to set in [Spec.Labels]; the others are set by [Engine.Create].
const (
	LabelRun      = "batch.run"
	LabelInstance = "batch.instance"
	LabelAttempt  = "batch.attempt"
	LabelOwner    = "batch.owner"   // the process that made it: see owner
	LabelImage    = "batch.image"   // the Spec's name for it: the engine knows the container by the id
	LabelExpires  = "batch.expires" // RFC 3339; before that it does not end by itself

	labelWorkDir = "batch.workdir" // the Spec's, for Attach
	labelDisk    = "batch.disk"    // likewise, in bytes

	labelUnattended = "batch.unattended" // likewise, as a time.Duration
	labelKey        = "batch.key"        // of the connection to its init; nothing in the container can read labels
)

// owner names one process of one boot of one machine, so that neither a process
// id that was given out again nor another machine or container of the same name
// is taken for its bearer. What the system does not say is empty.
type owner struct {
	host    string // for people, and to tell machines apart that were copied from one
	machine string
	boot    string
	space   string // in which pid counts
	pid     int
	start   string // of the process
}

func self() owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	pid := os.Getpid()
	return owner{host: host, machine: machineID(), boot: bootID(), space: pidSpace(), pid: pid, start: startOf(pid)}
}

func (o owner) String() string {
	return fmt.Sprintf("%s/%s/%s/%s/%d/%s", o.host, o.machine, o.boot, o.space, o.pid, o.start)
}

func parseOwner(s string) (owner, bool) {
	p := strings.Split(s, "/")
	if len(p) != 6 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(p[4])
	return owner{host: p[0], machine: p[1], boot: p[2], space: p[3], pid: pid, start: p[5]}, err == nil && pid > 0
}

// fate is what one process knows of another.
type fate int

const (
	unknown fate = iota
	alive
	dead
)

// fate tells what the process me, which uses the engine on its own machine when
// local, knows of o. Of another machine or another space of process ids it
// knows nothing.
func (o owner) fate(me owner, local bool) fate {
	if o.boot == "" || me.boot == "" {
		return unknown
	}
	if o.boot != me.boot {
		// An earlier boot of this machine, or a copy of it that runs elsewhere. On
		// an engine that only this machine uses, nothing is left of the former.
		if local && o.machine != "" && o.machine == me.machine && o.host == me.host {
			return dead
		}
		return unknown
	}
	if o.space != me.space {
		return unknown
	}
	if err := syscall.Kill(o.pid, 0); errors.Is(err, syscall.ESRCH) {
		return dead
	}
	if start := startOf(o.pid); o.start != "" && start != "" && o.start != start {
		return dead
	}
	return alive
}

// obscure makes of a machine's id, which is nobody's business, one of our own.
func obscure(id string) string {
	if id = strings.TrimSpace(id); id == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte("batch "+id)))[:16]
}
