// Package inject makes chosen steps of a run fail, on demand: for the tests
// that show what a crash, a full disk or a broken engine does, and for the
// hidden flag --inject of `batch run`.
//
// Code that can fail asks [Plan.At] with the name of a point right before it
// does what the name says, and returns the error it is given as if the act
// had failed so. A nil *Plan is the normal case: At is then one comparison.
// A Plan is handed down in Options, never kept in a variable of a package, so
// tests that run side by side cannot meet.
//
// # Points
//
// A name is lower-case words joined by dots, of the thing and the act:
//
//	journal.append   a record joins an instance's journal, in memory
//	journal.write    its lines are handed to the system
//	journal.sync     fsync of a journal
//	journal.cut      a torn tail is cut off
//	file.write       a file's new content is written, beside the old one
//	file.sync        fsync of it
//	file.rename      it takes the old one's place
//	file.remove      a file goes away
//	dir.make         an instance's folder is made
//	dir.sync         fsync of a directory
//	lock.write       the owner's name is written into a directory's lock, or cleared
//	engine.CALL      a call to the Docker engine: ping, create, start,
//	                 attach, inspect, remove, list, pull, image, copy, or what
//	                 else the last word of its address is
//	model.call       a request is about to be sent to the model
//	model.answer     its answer has come and nobody else knows of it yet
//
// Logs are written past it: a run does not depend on them.
//
// # Spec
//
// A spec is rules, separated by commas; at each pass the first one that
// applies acts:
//
//	rule  = point ":" which "=" what
//	point = a name, or one of its words (sync: every fsync; engine: every
//	        call), or * for all
//	which = n (the n-th pass, from 1), n+ (that and all later ones), or * (all)
//	what  = kill   SIGKILL to this process, at once
//	        block  wait for [Plan.Release]; for ever if it never comes
//	        an errno's name, such as ENOSPC, EIO or ECONNRESET
//	        an HTTP error status, 400 to 599: what the engine answers
//
// Every rule counts the passes of the points that it names:
//
//	journal.append:17=kill        rename:*=ENOSPC       sync:3=EIO
//	engine.create:1=500           model.answer:2=kill   *:40=kill
package inject

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Plan says which passes through which points go wrong. Nil is none. It is
// safe for concurrent use; its counts begin when it is made.
type Plan struct {
	rules   []*rule
	release chan struct{}
	once    sync.Once
	reached chan string
	acted   atomic.Int64
}

// rule is one rule of a spec with its count.
type rule struct {
	point       string
	first, last int64 // passes that it applies to
	act         act
	err         error // a syscall.Errno or a Status
	passes      atomic.Int64
}

// Status is the HTTP status that an engine is to answer with.
type Status int

// Error names the status.
func (s Status) Error() string { return fmt.Sprintf("HTTP status %d", int(s)) }

// StatusCode returns the status, for those who may not know this package.
func (s Status) StatusCode() int { return int(s) }

type act int

const (
	fail act = iota
	kill
	block
)

// At reports that the calling goroutine is about to do what point names. It
// returns nil, or the error that this is to fail with, which wraps a
// syscall.Errno or a [Status]; or it blocks; or the process ends.
func (p *Plan) At(point string) error {
	if p == nil {
		return nil
	}
	return p.at(point)
}

func (p *Plan) at(point string) error {
	var hit *rule
	for _, r := range p.rules {
		// Every rule counts, also when an earlier one acts.
		if r.names(point) && r.due(r.passes.Add(1)) && hit == nil {
			hit = r
		}
	}
	if hit == nil {
		return nil
	}
	p.acted.Add(1)
	switch hit.act {
	case kill:
		// Not os.Exit: nothing deferred, nothing flushed, like the OOM killer.
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // other threads may run on for a moment; this one does not
	case block:
		select {
		case p.reached <- point:
		default: // nobody wants to know of so many
		}
		<-p.release
		return nil
	default:
		return fmt.Errorf("injected at %s: %w", point, hit.err)
	}
}

// Acted is how many passes went wrong so far.
func (p *Plan) Acted() int64 { return p.acted.Load() }

// Reached tells the points at which a goroutine has been blocked.
func (p *Plan) Reached() <-chan string { return p.reached }

// Release lets everything go on that is blocked, or would be later.
func (p *Plan) Release() { p.once.Do(func() { close(p.release) }) }

func (r *rule) names(point string) bool {
	return r.point == "*" || r.point == point || slices.Contains(strings.Split(point, "."), r.point)
}

func (r *rule) due(pass int64) bool { return r.first <= pass && pass <= r.last }
