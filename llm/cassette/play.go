package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
)

// Player is a transport that answers the requests of instances from their recordings (see [With]), and sends
// nothing. It is safe for concurrent use.
//
// A request is answered by the next recorded exchange with the same body and model. If that request was
// recorded several times, because a run was interrupted or an instance retried, it first gets the recorded
// failures, and then the last answer: the recorded conversation continued from there.
type Player struct {
	// Path names the recording of an instance.
	Path func(instance string) string
	// Mask is the recording's masker: requests are compared with their secrets hidden. Nil hides nothing.
	Mask *mask.Masker

	// Changed is called with a description of the first request of an instance that differs from the
	// recording. Such requests are then answered by the next exchange in order. If it is nil, they are
	// Instance faults, because the recorded answer may not fit them.
	Changed func(instance, difference string)

	mu     sync.Mutex
	played map[string]*conversation
}

// conversation is the recording of an instance, and how far it was played.
type conversation struct {
	path    string
	mu      sync.Mutex
	list    []taken // nil until it is loaded
	next    int
	changed bool
	err     error // from loading it
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
	x, err := p.of(instance).answer(instance, p.Mask.Text(req.URL.Path), p.Mask.JSON(body), p.Changed)
	if err == nil {
		return x.response(req)
	}
	if _, known := errors.AsType[*fault.Error](err); !known {
		err = fault.New(fault.Host, "replaying", err)
	}
	return nil, &llm.Unpaid{Err: err}
}

// of returns the conversation of an instance.
func (p *Player) of(instance string) *conversation {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.played[instance]
	if !ok {
		c = &conversation{path: p.Path(instance)}
		if p.played == nil {
			p.played = map[string]*conversation{}
		}
		p.played[instance] = c
	}
	return c
}

// answer returns the exchange that answers a request with this path and body. Changed is
// the player's.
func (c *conversation) answer(instance, path string, sent []byte, changed func(instance, difference string)) (*exchange, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(instance); err != nil {
		return nil, err
	}
	found := c.find(asked(path, sent))
	switch {
	case found >= 0:
	case c.next >= len(c.list):
		return nil, fault.Newf(fault.Instance, "replaying: the recording ends here, after exchange %d", len(c.list)).
			WithHint("the recorded run went no further, or could not write more; record again, into another directory")
	default:
		found = c.next
		if c.changed {
			break
		}
		what, err := c.difference(found, path, sent)
		if err != nil {
			return nil, err
		}
		if changed == nil {
			return nil, fault.Newf(fault.Instance, "replaying: request %d differs from the recorded one: %s", found+1, what).
				WithHint("replay with the settings of the recorded run; if only the output of commands differs, such as times,\n" +
					"--replay-changed gives the recorded answers anyway")
		}
		c.changed = true
		changed(instance, what)
	}
	c.next = found + 1
	return read(c.path, c.list[found])
}

// load reads the recording once.
func (c *conversation) load(instance string) error {
	if c.list != nil || c.err != nil {
		return c.err
	}
	c.list, c.err = load(c.path)
	if errors.Is(c.err, fs.ErrNotExist) {
		c.err = fault.Newf(fault.Instance, "replaying: there is no recording of %s", instance).
			WithHint("record it: the same `batch run` with --record")
	}
	return c.err
}

// find returns the index of the exchange that answers a request; -1 if there is none.
func (c *conversation) find(request [sha256.Size]byte) int {
	found := -1
	for i := c.next; i < len(c.list); i++ {
		if c.list[i].asked != request {
			continue
		}
		if found = i; !c.list[i].answered {
			break
		}
	}
	return found
}

// difference describes how a request differs from the i-th recorded one.
func (c *conversation) difference(i int, path string, sent []byte) (string, error) {
	x, err := read(c.path, c.list[i])
	if err != nil {
		return "", err
	}
	if was, is := modelIn(x.Path), modelIn(path); was != is {
		return fmt.Sprintf("it asks for %s, recorded is %s", is, was), nil
	}
	return difference(x.Request.body(), sent), nil
}

// response returns the answer as the client received it.
func (x *exchange) response(req *http.Request) (*http.Response, error) {
	if x.Answer == nil {
		if x.Failure != nil {
			return nil, x.Failure
		}
		return nil, io.ErrUnexpectedEOF
	}
	data := x.Answer.body()
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

// broken is the end of a truncated body.
type broken struct{ err error }

// Read implements [io.Reader].
func (b broken) Read([]byte) (int, error) { return 0, b.err }

// maxShown bounds how much of a difference is shown, in bytes.
const maxShown = 80

// conversations are the names of a request's member with the conversation.
var conversations = []string{"messages", "contents", "input"}

// difference describes how a request differs from the recorded one.
func difference(recorded, sent []byte) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(recorded, &a) != nil || json.Unmarshal(sent, &b) != nil {
		return "at " + around(recorded, sent)
	}
	for _, name := range conversations {
		var was, is []json.RawMessage
		if json.Unmarshal(a[name], &was) != nil || json.Unmarshal(b[name], &is) != nil {
			continue
		}
		for i := range min(len(was), len(is)) {
			if !bytes.Equal(canonical(was[i]), canonical(is[i])) {
				return fmt.Sprintf("message %d, at %s", i+1, around(was[i], is[i]))
			}
		}
		if len(was) != len(is) {
			return fmt.Sprintf("it has %d messages, recorded are %d", len(is), len(was))
		}
	}
	names := slices.Sorted(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !bytes.Equal(canonical(a[name]), canonical(b[name])) {
			return name + " is " + around(a[name], b[name])
		}
	}
	return "at " + around(recorded, sent)
}

// around shows where two texts begin to differ.
func around(recorded, sent []byte) string {
	i := 0
	for i < min(len(recorded), len(sent)) && recorded[i] == sent[i] {
		i++
	}
	from := max(0, i-maxShown/2)
	return shown(sent[from:]) + ", recorded is " + shown(recorded[from:])
}

// shown returns the beginning of a text, whose secrets are hidden already.
func shown(text []byte) string {
	more := ""
	switch {
	case len(text) == 0:
		return "nothing"
	case len(text) > maxShown:
		text, more = text[:maxShown], "..."
	}
	return fmt.Sprintf("%#q", strings.ToValidUTF8(string(text), "")+more)
}
