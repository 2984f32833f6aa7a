package cassette

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
)

// Player is a transport that answers the requests of instances from their recordings,
// see [With], and sends nothing. It is safe for concurrent use.
//
// A request is answered by the next recorded exchange with the same body. If that
// request was answered more than once, because a run was interrupted or an instance
// retried, it gets the last answer, after the failures that came first: the recorded
// conversation continued from that one.
type Player struct {
	// Path names the recording of an instance.
	Path func(instance string) string
	// Mask is that of the recording: what it hides is hidden in requests before they are
	// compared; nil hides nothing.
	Mask *mask.Masker

	// Changed is called for the first request of an instance that differs from the
	// recording, with a text for a person. Such requests are then answered by the next
	// exchange in order. If it is nil, they are Instance faults: what was recorded would
	// no longer be a reply to what is asked.
	Changed func(instance, difference string)

	mu     sync.Mutex
	played map[string]*conversation
}

// conversation is the recording of an instance, and how far it was played.
type conversation struct {
	mu      sync.Mutex
	list    []taken
	next    int
	changed bool
	err     error // of loading it
}

// RoundTrip implements [http.RoundTripper].
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := takeBody(req)
	if err != nil {
		return nil, err
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	instance := instanceOf(req)
	x, err := p.of(instance).answer(p.Mask.JSON(body), func(difference string) bool {
		if p.Changed != nil {
			p.Changed(instance, difference)
		}
		return p.Changed != nil
	})
	if err != nil {
		return nil, &llm.Unpaid{Err: err}
	}
	return x.response(req)
}

// of returns the conversation of an instance.
func (p *Player) of(instance string) *conversation {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.played[instance]
	if !ok {
		c = &conversation{}
		c.list, c.err = load(p.Path(instance))
		if errors.Is(c.err, fs.ErrNotExist) {
			c.err = fault.Newf(fault.Instance, "replaying: there is no recording of %s", instance).
				WithHint("record it: the same `batch run` with --record")
		}
		if p.played == nil {
			p.played = map[string]*conversation{}
		}
		p.played[instance] = c
	}
	return c
}

// answer returns the exchange that answers a request with this body. Accept is asked
// once whether a difference may be passed over.
func (c *conversation) answer(sent []byte, accept func(difference string) bool) (*taken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	found, sum := -1, sha256.Sum256(sent)
	for i := c.next; i < len(c.list); i++ {
		if c.list[i].sum != sum {
			continue
		}
		if found = i; !c.list[i].answered() {
			break
		}
	}
	if found < 0 {
		if c.next >= len(c.list) {
			return nil, fault.Newf(fault.Instance, "replaying: the recording has no more than %d exchanges", len(c.list)).
				WithHint("the recorded run ended here; with --record it would have to be continued")
		}
		found = c.next
		if !c.changed {
			what := difference(body(c.list[:found+1]), sent)
			if !accept(what) {
				return nil, fault.Newf(fault.Instance, "replaying: request %d differs from the recorded one: %s", found+1, what).
					WithHint("commands whose output holds times or addresses give another one each time;\nuse --replay-changed to give the recorded answers all the same")
			}
			c.changed = true
		}
	}
	c.next = found + 1
	x := &c.list[found]
	return x, nil
}

// answered reports whether the exchange has a whole answer that is not an error.
func (x *taken) answered() bool {
	return x.Failure == nil && x.Status < http.StatusBadRequest
}

// response is what a client got.
func (x *taken) response(req *http.Request) (*http.Response, error) {
	if x.Answer == nil {
		if x.Failure != nil {
			return nil, x.Failure
		}
		return nil, io.ErrUnexpectedEOF
	}
	data := x.Answer.rest()
	header := http.Header{}
	for name, values := range x.Answer.Headers {
		header[name] = values
	}
	answer := &http.Response{
		StatusCode: x.Status, Status: fmt.Sprintf("%d %s", x.Status, http.StatusText(x.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Request: req, ContentLength: -1,
	}
	read := io.Reader(bytes.NewReader(data))
	if x.Failure != nil {
		read = io.MultiReader(read, broken{x.Failure})
	} else {
		answer.ContentLength = int64(len(data))
	}
	answer.Body = io.NopCloser(read)
	return answer, nil
}

// broken is the end of a body that was cut.
type broken struct{ err error }

// Read implements [io.Reader].
func (b broken) Read([]byte) (int, error) { return 0, b.err }
