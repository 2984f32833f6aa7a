// Package owner identifies the process that owns a container, on any machine, and
// reports whether it still lives. Its leases are how a process takes over what a dead one owned.
package owner

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Owner names one process of one boot of one machine. So a process with a reused id, or
// another machine or container of the same name, is not mistaken for it. What the system
// does not report is empty.
type Owner struct {
	Host    string // for people, and to distinguish copies of a machine
	Machine string
	Boot    string
	Space   string // the pid namespace
	Pid     int
	Start   string // of the process
}

// Self is this process.
func Self() Owner { return Of(os.Getpid()) }

// Of is a process in the pid namespace of this one.
func Of(pid int) Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Owner{Host: host, Machine: machineID(), Boot: bootID(), Space: pidSpace(), Pid: pid, Start: startOf(pid)}
}

// podDir is where a pod of Kubernetes finds its account.
const podDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// InPod reports whether this process runs in a pod of Kubernetes. There, the machine's id is the
// image's or none, and a path is of a volume that has the same path in other pods.
func InPod() bool {
	_, err := os.Stat(podDir)
	return err == nil
}

// String is the owner as labels and leases have it: without blanks.
func (o Owner) String() string {
	return fmt.Sprintf("%s/%s/%s/%s/%d/%s", o.Host, o.Machine, o.Boot, o.Space, o.Pid, o.Start)
}

// Parse reads what String wrote.
func Parse(s string) (Owner, bool) {
	p := strings.Split(s, "/")
	if len(p) != 6 {
		return Owner{}, false
	}
	pid, err := strconv.Atoi(p[4])
	return Owner{Host: p[0], Machine: p[1], Boot: p[2], Space: p[3], Pid: pid, Start: p[5]}, err == nil && pid > 0
}

// Liveness says what one process knows about another: alive, dead or unknown.
type Liveness int

// What is known.
const (
	Unknown Liveness = iota
	Alive
	Dead
)

// Liveness returns what the process me knows about o. Local means that me uses the engine
// on its own machine. About another machine or another pid namespace me
// knows nothing.
func (o Owner) Liveness(me Owner, local bool) Liveness {
	if o.Boot == "" || me.Boot == "" {
		return Unknown
	}
	if o.Boot != me.Boot {
		// An earlier boot of this machine, or a copy of it that runs elsewhere. If only
		// this machine uses the engine, it is an earlier boot, whose processes are dead.
		if local && o.Machine != "" && o.Machine == me.Machine && o.Host == me.Host {
			return Dead
		}
		return Unknown
	}
	if o.Space != me.Space {
		return Unknown
	}
	if err := syscall.Kill(o.Pid, 0); errors.Is(err, syscall.ESRCH) {
		return Dead
	}
	if hasEnded(o.Pid) {
		return Dead
	}
	if start := startOf(o.Pid); o.Start != "" && start != "" && o.Start != start {
		return Dead
	}
	return Alive
}

// hashID hashes a machine's id, which should stay private.
func hashID(id string) string {
	if id = strings.TrimSpace(id); id == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte("batch "+id)))[:16]
}
