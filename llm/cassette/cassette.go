// Package cassette records the HTTP exchanges of a run's model calls, and answers the same
// requests from the recording without a network. It is for finding out why a run went as
// it did, for tests of an agent against real replies, and for demonstrations without a key.
//
// A recording is one file of JSON lines per instance, an [exchange] each, appended when the
// exchange has ended: a crash loses at most those under way. It has no secrets: of the
// headers only known harmless ones are kept, and what the [mask.Masker] knows is hidden in
// all texts, also where a stream has it in pieces. What is answered is exactly what was
// received, byte for byte where nothing was hidden: status, kept headers, body, failures of
// the connection, and bodies that were cut.
//
// A conversation's requests repeat each other's beginnings. Of each body, only what follows
// the beginning that it shares with the request before is kept, so that a file grows by what
// is new.
package cassette

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
)

// FileName is the usual name of a recording in an instance's directory.
const FileName = "http.jsonl"

// version is the version of an [exchange]'s form.
const version = 1

type instanceKey struct{}

// With returns a context for the requests of an instance.
func With(ctx context.Context, instance string) context.Context {
	return context.WithValue(ctx, instanceKey{}, instance)
}

// instanceOf returns the instance that a request belongs to, "" for none.
func instanceOf(r *http.Request) string {
	instance, _ := r.Context().Value(instanceKey{}).(string)
	return instance
}

// exchange is a line of a recording: a request and its result.
type exchange struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"` // when the request was made
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Request message   `json:"request"`
	Status  int       `json:"status,omitempty"`
	Answer  *message  `json:"answer,omitempty"`
	Failure *failure  `json:"failure,omitempty"` // of the connection, before or within the answer
	Waited  float64   `json:"waited"`            // seconds up to the answer's headers
	Took    float64   `json:"took"`              // seconds up to its end
}

// message is the headers and the body of a request or an answer.
type message struct {
	Headers map[string][]string `json:"headers,omitempty"`
	Same    int                 `json:"same,omitempty"`  // bytes that the body shares with the body before it
	Body    string              `json:"body"`            // the rest
	Bytes   []byte              `json:"bytes,omitempty"` // in place of Body if that is not UTF-8
}

func newMessage(headers map[string][]string, same int, body []byte) message {
	m := message{Headers: headers, Same: same}
	if utf8.Valid(body) {
		m.Body = string(body)
	} else {
		m.Bytes = body
	}
	return m
}

// rest is the body after what it shares with the one before.
func (m message) rest() []byte {
	if m.Bytes != nil {
		return m.Bytes
	}
	return []byte(m.Body)
}

// harmless are the headers that are kept: what clients act on, and no one's name.
var harmless = []string{
	"Accept", "Content-Type", "Date", "Retry-After", "Retry-After-Ms", "X-Should-Retry", "Location",
	"Anthropic-Version", "Anthropic-Beta", "X-Litellm-Response-Cost",
}

// harmlessStart are the beginnings of names of such headers.
var harmlessStart = []string{"X-Ratelimit-", "Anthropic-Ratelimit-", "Ratelimit"}

// kept returns the headers that are kept. The address of a redirect may have a secret.
func kept(headers http.Header, hide *mask.Masker) map[string][]string {
	list := map[string][]string{}
	for name, values := range headers {
		if slices.Contains(harmless, name) || slices.ContainsFunc(harmlessStart, func(start string) bool { return strings.HasPrefix(name, start) }) {
			for _, value := range values {
				list[name] = append(list[name], hide.Text(value))
			}
		}
	}
	return list
}

// failure is why there is no answer, or not all of it.
type failure struct {
	Text string `json:"text"`
	Kind string `json:"kind,omitempty"` // one of kinds
}

// kinds are the failures that a caller may tell apart.
var kinds = []struct {
	name string
	err  error
}{
	{"refused", syscall.ECONNREFUSED},
	{"reset", syscall.ECONNRESET},
	{"cut", io.ErrUnexpectedEOF},
	{"closed", io.EOF},
	{"late", context.DeadlineExceeded},
}

func newFailure(err error, text string) *failure {
	f := &failure{Text: text}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			f.Kind = k.name
			break
		}
	}
	return f
}

// Error implements error.
func (f *failure) Error() string { return f.Text }

// Unwrap returns the error of f's kind.
func (f *failure) Unwrap() error {
	for _, k := range kinds {
		if k.name == f.Kind {
			return k.err
		}
	}
	return nil
}

// taken is a place in a recording, where an exchange is.
type taken struct {
	at, size int64
	asked    [sha256.Size]byte
	answered bool // with a whole answer that is not an error
}

// asked identifies a request by its whole body, and by the model where the path names it.
func asked(path string, body []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	_, _ = h.Write([]byte(modelIn(path) + "\n")) // never fails
	_, _ = h.Write(body)
	h.Sum(sum[:0])
	return sum
}

// modelIn returns the end of a path that names the model and what is asked of it, as
// Gemini's, Bedrock's and Vertex's do; "" if there is none.
func modelIn(path string) string {
	for _, before := range []string{"/models/", "/model/"} {
		if i := strings.LastIndex(path, before); i >= 0 {
			return path[i+len(before):]
		}
	}
	return ""
}

// scan reads a recording up to where each returns false, with the whole body of each
// request, which is valid during the call. A line that was not written to its end is passed
// over.
func scan(path string, each func(x *exchange, at taken, body []byte) bool) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var body []byte
	var at int64
	lines := bufio.NewReaderSize(file, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var x exchange
		if err := json.Unmarshal(line, &x); err != nil {
			return fault.New(fault.Usage, fmt.Sprintf("reading %s, line %d", path, n), err)
		}
		if x.Version != version || x.Request.Same < 0 || x.Request.Same > len(body) {
			return fault.Newf(fault.Usage, "reading %s, line %d: it is not a recording of this version of batch", path, n)
		}
		body = append(body[:x.Request.Same], x.Request.rest()...)
		answered := x.Failure == nil && x.Status < http.StatusBadRequest
		if !each(&x, taken{at, int64(len(line)), asked(x.Path, body), answered}, body) {
			return nil
		}
		at += int64(len(line))
	}
}

// load returns the places of all exchanges of a recording: the answers of all instances
// together would be too large for the memory.
func load(path string) (list []taken, err error) {
	err = scan(path, func(_ *exchange, at taken, _ []byte) bool {
		list = append(list, at)
		return true
	})
	return list, err
}

// read returns the exchange at a place.
func read(path string, at taken) (*exchange, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	line := make([]byte, at.size)
	if _, err := file.ReadAt(line, at.at); err != nil {
		return nil, err
	}
	var x exchange
	return &x, json.Unmarshal(line, &x)
}
