package main

import (
	"strings"
	"sync"
	"syscall"

	"batch.example/batch/internal/boxinit/wire"
)

// ahead holds the interpreters that were started before their command is known. They
// evaluate their start files and then wait for the script.
type ahead struct {
	mu      sync.Mutex
	family  *family
	order   func(run wire.Run, args []string) wire.Order
	waiting map[string]waiter
	running int // commands; each starts the next interpreter when it has ended
}

// waiter is one such interpreter.
type waiter struct {
	*process
	dir place
}

// place identifies a directory.
type place struct{ dev, inode uint64 }

// maxWaiting is the number of kinds of commands for which an interpreter waits.
const maxWaiting = 2

// kindOf returns a key that differs for commands that need different interpreters.
func kindOf(run wire.Run) string {
	return strings.Join(run.Args, "\x00") + "\x01" + strings.Join(run.Env, "\x00") + "\x01" + run.Dir
}

func placeOf(dir string) place {
	var st syscall.Stat_t
	if syscall.Stat(dir, &st) != nil {
		return place{}
	}
	return place{st.Dev, st.Ino}
}

// begin counts a command that begins.
func (a *ahead) begin() {
	a.mu.Lock()
	a.running++
	a.mu.Unlock()
}

// first starts an interpreter for the first command like run. It comes too late while a command
// runs: an interpreter that starts now would not see what that command does to its start files.
func (a *ahead) first(run wire.Run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running == 0 {
		a.start(run)
	}
}

// start starts an interpreter for a command like run, unless one waits already. The
// caller holds the lock.
func (a *ahead) start(run wire.Run) {
	kind := kindOf(run)
	if w, ok := a.waiting[kind]; ok && !isClosed(w.ended) {
		return
	}
	if dirError(run.Dir) != nil {
		return
	}
	for other := range a.waiting {
		if len(a.waiting) < maxWaiting {
			break
		}
		a.drop(other)
	}
	w := waiter{dir: placeOf(run.Dir)}
	var err error
	if w.process, err = a.family.start(loading(a.order(run, run.Args)), andScript); err == nil {
		a.waiting[kind] = w
	}
}

// take returns the interpreter that waits for a command like run, or nil: it
// may have been killed, or the name of its directory may mean another one by now.
func (a *ahead) take(run wire.Run) *process {
	if !run.Load {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	kind := kindOf(run)
	w, ok := a.waiting[kind]
	if ok && (isClosed(w.ended) || w.dir != placeOf(run.Dir)) {
		a.drop(kind)
		ok = false
	}
	if !ok {
		return nil
	}
	delete(a.waiting, kind)
	return w.process
}

func (a *ahead) drop(kind string) {
	p := a.waiting[kind].process
	delete(a.waiting, kind)
	go func() {
		p.kill()
		drain(p)
	}()
}
