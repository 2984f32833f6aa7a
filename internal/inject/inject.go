// Package inject makes chosen steps of a run fail: for tests of
// what a crash, a full disk or a broken engine causes, and for the
// hidden flag --inject of `batch run`.
//
// Code that can fail calls [Plan.At] with the name of a point right before the operation
// that the name stands for. If At returns an error, the code returns it as if the operation
// had failed with it. A nil *Plan is the normal case: then At is a single comparison.
// A Plan is passed in Options and never kept in a package variable, so that parallel tests
// do not disturb each other.
//
// # Points
//
// A name consists of lower-case words joined by dots, for the object and the operation:
//
//	journal.append   a record is added to an instance's journal, in memory
//	journal.write    lines of a journal are written to its file
//	journal.sync     fsync of a journal
//	journal.cut      an incomplete end of a journal is removed
//	file.write       the new content of a file is written, beside the old file
//	file.sync        fsync of the new file
//	file.rename      the new file replaces the old one
//	file.remove      a file is removed
//	dir.make         an instance's directory is created
//	dir.sync         fsync of a directory
//	lock.write       the owner's name is written into a directory's lock, or cleared
//	engine.CALL      a call to the Docker engine: ping, create, start,
//	                 attach, inspect, remove, list, pull, image, copy, or for
//	                 other calls the last word of the address
//	model.call       a request is about to be sent to the model
//	model.answer     the model's answer has arrived and is not recorded yet
//
// Writing a log has no point: a run does not depend on its logs.
//
// # Spec
//
// A spec is a list of rules, separated by commas. Each call of At is a pass of its point. At
// each pass, the first rule that applies acts:
//
//	rule  = point ":" which "=" what
//	point = a name, or one of its words (sync: every fsync; engine: every
//	        call), or * for all
//	which = n (the n-th pass, from 1), n+ (that and all later ones), or * (all)
//	what  = kill   SIGKILL to this process, at once
//	        block  wait for [Plan.Release]; forever if it is never called
//	        an errno's name, such as ENOSPC, EIO or ECONNRESET
//	        an HTTP error status, 400 to 599, which the engine answers
//
// Every rule has its own count of the passes of the points that it names:
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

// Plan lists the passes of points at which a failure is injected. A nil Plan injects none.
// It is safe for concurrent use; its counts begin when it is created.
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
	first, last int64 // the passes to which it applies
	act         act
	err         error // a syscall.Errno or a Status
	passes      atomic.Int64
}

// Status is the HTTP status of an injected answer of the engine.
type Status int

// Error names the status.
func (s Status) Error() string { return fmt.Sprintf("HTTP status %d", int(s)) }

// StatusCode returns the status, for packages that do not import this one.
func (s Status) StatusCode() int { return int(s) }

type act int

const (
	fail act = iota
	kill
	block
)

// At is called when the calling goroutine is about to do what point names. It
// returns nil, or an error with which the operation must fail and which wraps a
// syscall.Errno or a [Status]; or it blocks; or it kills the process.
func (p *Plan) At(point string) error {
	if p == nil {
		return nil
	}
	return p.at(point)
}

func (p *Plan) at(point string) error {
	var hit *rule
	for _, r := range p.rules {
		// Every rule counts the pass, even if an earlier rule acts.
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
		select {} // other threads may continue for a moment; this one does not
	case block:
		select {
		case p.reached <- point:
		default: // the channel is full
		}
		<-p.release
		return nil
	default:
		return fmt.Errorf("injected at %s: %w", point, hit.err)
	}
}

// Acted returns how many failures were injected so far.
func (p *Plan) Acted() int64 { return p.acted.Load() }

// Reached returns a channel of the points at which a goroutine was blocked.
func (p *Plan) Reached() <-chan string { return p.reached }

// Release unblocks everything that is blocked, now and later.
func (p *Plan) Release() { p.once.Do(func() { close(p.release) }) }

func (r *rule) names(point string) bool {
	return r.point == "*" || r.point == point || slices.Contains(strings.Split(point, "."), r.point)
}

func (r *rule) due(pass int64) bool { return r.first <= pass && pass <= r.last }
