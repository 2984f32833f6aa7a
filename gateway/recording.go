package gateway

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"sync"
	"time"
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
}

// refusal is a provider's answer that refuses a request.
type refusal struct {
	status int
	body   []byte
}

func newRecording(sum [sha256.Size]byte) *recording {
	return &recording{sum: sum, changed: make(chan struct{})}
}

// answers reports whether the recording is the answer to the same request again: the client that had asked is
// gone, or the new one says that it repeats.
func (r *recording) answers(repeats bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended && r.failed != nil: // nothing was paid, or the client has to know
		return false
	case repeats:
		return true
	default:
		return r.following == 0 && !r.delivered
	}
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

// begun reports whether a part of the answer was recorded, so that the try cannot be repeated.
func (r *recording) begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.body) > 0
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
	return view{r.changed, r.header, r.body[min(sent, r.ready(sent)):r.ready(sent)], r.ended, r.failed, r.refusal}
}

// ready returns how many bytes may be sent. The last event waits for the end of the call: a program acts on
// an answer that is whole, and then it is on record.
func (r *recording) ready(sent int) int {
	if r.ended && r.failed == nil {
		return len(r.body)
	}
	fresh := r.body[min(sent, len(r.body)):]
	last := bytes.LastIndex(bytes.TrimRight(fresh, "\r\n"), []byte("\n\n"))
	if crlf := bytes.LastIndex(bytes.TrimRight(fresh, "\r\n"), []byte("\r\n\r\n")); crlf >= 0 {
		last = max(last, crlf+len("\r\n"))
	}
	if last < 0 {
		return min(sent, len(r.body))
	}
	return min(sent, len(r.body)) + last + len("\n\n")
}

// follow counts a client for as long as it reads.
func (r *recording) follow() (leave func(whole bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.following++
	return func(whole bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.following--
		r.delivered = r.delivered || whole
	}
}

// delivery is the answer to one client.
type delivery struct {
	g      *Gateway
	w      http.ResponseWriter
	stream bool
	begun  bool // the header is sent
	sent   int
	tail   []byte // the last bytes sent
}

// deliver writes a recording to a client as it comes.
func (g *Gateway) deliver(w http.ResponseWriter, r *http.Request, rec *recording, stream bool) {
	leave, whole := rec.follow(), false
	defer func() { leave(whole) }()
	d := &delivery{g: g, w: w, stream: stream}
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
	n, err := d.w.Write(now.fresh)
	d.sent += n
	d.tail = now.fresh[max(0, n-2):n]
	if err != nil {
		return err
	}
	return http.NewResponseController(d.w).Flush()
}

// alive shows a client of a stream life between two events.
func (d *delivery) alive() {
	if !d.stream || d.sent > 0 && !bytes.HasSuffix(d.tail, []byte("\n\n")) {
		return
	}
	d.start("text/event-stream", http.StatusOK)
	_, _ = d.w.Write(d.g.dialect.alive())
	_ = http.NewResponseController(d.w).Flush() // the next write fails too
}

// finish ends an answer.
func (d *delivery) finish(now view) error {
	if now.failed == nil {
		return nil
	}
	status, message := http.StatusBadRequest, d.g.c.Mask.Text(now.failed.Error())
	if now.refusal != nil && final(now.refusal.status) && !d.begun {
		d.start("application/json", now.refusal.status)
		_, err := d.w.Write([]byte(d.g.c.Mask.Text(string(now.refusal.body))))
		return err
	}
	if !d.begun {
		d.g.refuse(d.w, status, message)
		return nil
	}
	if now.refusal != nil && final(now.refusal.status) {
		message = d.g.c.Mask.Text(string(now.refusal.body))
	}
	_, err := d.w.Write(d.g.dialect.broken(message))
	return err
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
