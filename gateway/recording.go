package gateway

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"batch.example/batch/fault"
)

const (
	// patience is how long the headers of a stream wait for the provider's status, in which most refusals
	// arrive: only before the stream begins can a client read one as such.
	patience = 2 * time.Second
	// aliveEvery is how often a client that waits for a stream's next event is shown life.
	aliveEvery = 4 * time.Second
)

// recording is the answer to one request, while it comes and for a client that asks again.
type recording struct {
	sum [sha256.Size]byte

	mu        sync.Mutex
	changed   chan struct{} // closed, and replaced, at each change
	header    http.Header   // the provider's; nil: it has not begun
	body      []byte
	refusal   *refusal
	ended     bool
	failed    error
	following int  // clients that are reading it
	delivered bool // as a whole, to one of them
	passed    bool // a part of body was
}

// refusal is a provider's answer that refuses a request.
type refusal struct {
	status int
	body   []byte
}

// newRecording returns a recording that one client follows.
func newRecording(sum [sha256.Size]byte) *recording {
	return &recording{sum: sum, changed: make(chan struct{}), following: 1}
}

// answers reports whether the recording is the answer to the same request again: the client that had asked is
// gone, or the new one says that it repeats. Then that follows it.
func (r *recording) answers(repeats bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended && r.failed != nil: // nothing was paid, or the client has to know
		return false
	case repeats || r.following == 0 && !r.delivered:
		r.following++
		return true
	}
	return false
}

// errLeft ends a call that was not made before its client hung up.
var errLeft = errors.New("batch: the client hung up")

// left reports whether no client follows a call that was not made yet. Then it has ended.
func (r *recording) left() (changed <-chan struct{}, left bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.following == 0 {
		r.ended, r.failed = true, errLeft
	}
	return r.changed, r.ended
}

func (r *recording) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// change notes a change and wakes those who wait for one.
func (r *recording) change(what func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what()
	close(r.changed)
	r.changed = make(chan struct{})
}

// begin takes the answer of a try from its beginning.
func (r *recording) begin(h http.Header) io.Writer {
	r.change(func() { r.header, r.body = h, nil })
	return recorder{r}
}

type recorder struct{ *recording }

// Write implements [io.Writer].
func (w recorder) Write(p []byte) (int, error) {
	w.change(func() { w.body = append(w.body, p...) })
	return len(p), nil
}

func (r *recording) refused(status int, _ http.Header, body []byte) {
	r.change(func() { r.refusal = &refusal{status, body} })
}

func (r *recording) end(err error) {
	r.change(func() { r.ended, r.failed = true, err })
}

// begun reports whether a part of the answer was passed on, so that the try cannot be repeated. Otherwise
// nothing of it will be.
func (r *recording) begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.passed {
		r.header, r.body = nil, nil
	}
	return r.passed
}

// Begun reports whether the program may have read a part of the answer, so that the call cannot be tried again.
func (c *Call) Begun() bool { return c.recording.begun() }

// view is a recording at one moment.
type view struct {
	changed <-chan struct{}
	header  http.Header
	fresh   []byte // not sent yet
	ended   bool
	failed  error
	refusal *refusal
}

func (r *recording) view(sent int) view {
	r.mu.Lock()
	defer r.mu.Unlock()
	ready := r.ready(sent)
	fresh := r.body[min(sent, ready):ready]
	r.passed = r.passed || len(fresh) > 0
	return view{r.changed, r.header, fresh, r.ended, r.failed, r.refusal}
}

// ready returns how many bytes may be sent. The last event waits for the end of the call: a program acts on
// an answer that is whole, and then it is on record.
func (r *recording) ready(sent int) int {
	if r.ended && r.failed == nil {
		return len(r.body)
	}
	sent = min(sent, len(r.body))
	if !strings.HasPrefix(strings.ToLower(r.header.Get("Content-Type")), "text/event-stream") {
		return sent
	}
	events := r.body[sent:]
	if !ends(events) {
		events, _ = cutLast(events) // a part of the next
	}
	before, last := cutLast(events)
	if isMark(last) {
		before, _ = cutLast(before)
	}
	return sent + len(before)
}

// eventEnds are what an event ends with: an empty line.
var eventEnds = [][]byte{[]byte("\n\n"), []byte("\n\r\n")}

// ends reports whether events end with a whole one.
func ends(events []byte) bool {
	return slices.ContainsFunc(eventEnds, func(mark []byte) bool { return bytes.HasSuffix(events, mark) })
}

// cutLast cuts the last one off events.
func cutLast(events []byte) (before, last []byte) {
	text, end := bytes.TrimRight(events, "\r\n"), 0
	for _, mark := range eventEnds {
		if i := bytes.LastIndex(text, mark); i >= 0 {
			end = max(end, i+len(mark))
		}
	}
	return events[:end], events[end:]
}

// isMark reports whether an event is the mark that some servers put after the last one.
func isMark(event []byte) bool { return bytes.Equal(dataOf(event), []byte("[DONE]")) }

// dataOf returns the data of an event of one line.
func dataOf(event []byte) []byte {
	for line := range bytes.Lines(event) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			return bytes.TrimSpace(data)
		}
	}
	return nil
}

// leave counts a client that reads no more.
func (r *recording) leave(whole bool) {
	r.change(func() {
		r.following--
		r.delivered = r.delivered || whole
	})
}

// delivery is the answer to one client.
type delivery struct {
	g       *Gateway
	w       http.ResponseWriter
	stream  bool
	unasked func(event []byte) bool // see [dialect]
	begun   bool                    // the header is sent
	sent    int                     // bytes of the recording
	first   []byte                  // event
	last    []byte                  // event that was passed
}

// deliver writes a recording to a client as it comes.
func (g *Gateway) deliver(w http.ResponseWriter, r *http.Request, rec *recording, d delivery) {
	whole := false
	defer func() { rec.leave(whole) }()
	d.g, d.w = g, w
	wait := time.NewTimer(g.patience)
	defer wait.Stop()
	for {
		now := rec.view(d.sent)
		if err := d.pass(now); err != nil {
			return
		}
		if now.ended {
			whole = d.finish(now) == nil && now.failed == nil
			return
		}
		select {
		case <-now.changed:
			if len(now.fresh) > 0 {
				wait.Reset(g.aliveEvery)
			}
		case <-wait.C:
			d.alive()
			wait.Reset(g.aliveEvery)
		case <-r.Context().Done():
			return
		}
	}
}

func (d *delivery) start(kind string, status int) {
	if !d.begun {
		d.w.Header().Set("Content-Type", kind)
		d.w.Header().Set("Cache-Control", "no-cache")
		d.w.WriteHeader(status)
		d.begun = true
	}
}

// pass sends what is new.
func (d *delivery) pass(now view) error {
	if len(now.fresh) == 0 {
		return nil
	}
	d.start(now.header.Get("Content-Type"), http.StatusOK)
	if d.sent == 0 {
		d.first = bytes.Clone(firstOf(now.fresh))
	}
	if _, err := d.w.Write(d.asked(now.fresh)); err != nil {
		return err
	}
	_, last := cutLast(now.fresh)
	d.last = bytes.Clone(last)
	d.sent += len(now.fresh)
	return http.NewResponseController(d.w).Flush()
}

// asked returns events without those that the program has not asked for.
func (d *delivery) asked(events []byte) (left []byte) {
	if d.unasked == nil || !d.stream {
		return events
	}
	for len(events) > 0 {
		event := firstOf(events)
		if !d.unasked(event) {
			left = append(left, event...)
		}
		events = events[len(event):]
	}
	return left
}

// firstOf returns the first of some events, or all that there is of it.
func firstOf(events []byte) []byte {
	end := len(events)
	for _, mark := range eventEnds {
		if i := bytes.Index(events, mark); i >= 0 {
			end = min(end, i+len(mark))
		}
	}
	return events[:end]
}

// alive shows a client of a stream life between two events: only whole ones are passed.
func (d *delivery) alive() {
	sign := d.g.dialect.alive(d.first, d.last)
	if !d.stream || len(sign) == 0 {
		return
	}
	d.start("text/event-stream", http.StatusOK)
	_, _ = d.w.Write(sign)
	_ = http.NewResponseController(d.w).Flush() // the next write fails too
}

// finish ends an answer.
func (d *delivery) finish(now view) error {
	if now.failed == nil {
		return nil
	}
	message := d.g.c.Mask.Text(now.failed.Error())
	if isFault(now.failed) { // it may name the endpoint's address
		message = "batch: the model's endpoint did not answer this call; the log of the attempt says why"
	}
	var said []byte
	if now.refusal != nil && final(now.refusal.status) {
		said = []byte(d.g.c.Mask.Text(string(now.refusal.body)))
	}
	switch {
	case !d.begun && said != nil:
		d.start("application/json", now.refusal.status)
		_, err := d.w.Write(said)
		return err
	case !d.begun:
		d.g.refuse(d.w, http.StatusBadRequest, message)
		return nil
	case said == nil && d.sent > 0 && isFault(now.failed):
		panic(http.ErrAbortHandler) // the provider's stream broke: the client may ask again, as it would the provider
	}
	_, err := d.w.Write(d.g.dialect.broken(said, message))
	return err
}

// isFault reports whether an error is batch's account of what happened with the provider.
func isFault(err error) bool {
	_, ok := errors.AsType[*fault.Error](err)
	return ok
}

// final reports whether a refusal is about the request, so that the program can read it: others are about the
// account and the server, and are batch's.
func final(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
