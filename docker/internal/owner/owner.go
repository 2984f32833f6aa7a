// Package owner tells processes apart, of whichever machine, and which of them live:
// whose a container is.
package owner

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Owner names one process of one boot of one machine, so that neither a process
// id that was given out again nor another machine or container of the same name
// is taken for its bearer. What the system does not say is empty.
type Owner struct {
	Host    string // for people, and to tell machines apart that were copied from one
	Machine string
	Boot    string
	Space   string // in which pid counts
	Pid     int
	Start   string // of the process
}

// Self is this process.
func Self() Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	pid := os.Getpid()
	return Owner{Host: host, Machine: machineID(), Boot: bootID(), Space: pidSpace(), Pid: pid, Start: startOf(pid)}
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

// Fate is what one process knows of another.
type Fate int

// What is known.
const (
	Unknown Fate = iota
	Alive
	Dead
)

// Fate tells what the process me, which uses the engine on its own machine when
// local, knows of o. Of another machine or another space of process ids it
// knows nothing.
func (o Owner) Fate(me Owner, local bool) Fate {
	if o.Boot == "" || me.Boot == "" {
		return Unknown
	}
	if o.Boot != me.Boot {
		// An earlier boot of this machine, or a copy of it that runs elsewhere. On
		// an engine that only this machine uses, nothing is left of the former.
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
	if start := startOf(o.Pid); o.Start != "" && start != "" && o.Start != start {
		return Dead
	}
	return Alive
}

// obscure makes of a machine's id, which is nobody's business, one of our own.
func obscure(id string) string {
	if id = strings.TrimSpace(id); id == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte("batch "+id)))[:16]
}

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
