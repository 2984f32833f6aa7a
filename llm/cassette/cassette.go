// Package cassette records the HTTP exchanges of a run's model calls, and answers the same
// requests from the recording without a network. It is for finding out why a run went as
// it did, for tests of an agent against real replies, and for demonstrations without a key.
//
// A recording is one file of JSON lines per instance, an [exchange] each, appended when the
// exchange has ended: a crash loses at most those under way. It has no secrets: of the
// headers only known harmless ones are kept, and what the [mask.Masker] knows is hidden in
// all texts. What is answered is exactly what was received, byte for byte where nothing was
// hidden: status, kept headers, body, failures of the connection, and bodies that were cut.
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
)

// FileName is the usual name of a recording in an instance's directory.
const FileName = "http.jsonl"

// version is that of the form of an [exchange].
const version = 1

type instanceKey struct{}

// With returns a context whose requests belong to an instance.
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
	Same    int                 `json:"same,omitempty"`  // bytes that the body shares with that of the request before
	Body    string              `json:"body"`            // the rest
	Bytes   []byte              `json:"bytes,omitempty"` // in place of Body if that is not UTF-8
}

func newMessage(headers http.Header, same int, body []byte) message {
	m := message{Headers: kept(headers), Same: same}
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
var harmlessStart = []string{"X-Ratelimit-", "Anthropic-Ratelimit-"}

func kept(headers http.Header) map[string][]string {
	list := map[string][]string{}
	for name, values := range headers {
		if slices.Contains(harmless, name) || slices.ContainsFunc(harmlessStart, func(start string) bool { return strings.HasPrefix(name, start) }) {
			list[name] = values
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

// taken is an exchange of a recording.
type taken struct {
	exchange
	sum [sha256.Size]byte // of the whole request, which [exchange] has a part of
}

// body returns the whole request of the last of these.
func body(list []taken) (whole []byte) {
	for i := range list {
		whole = append(whole[:list[i].Request.Same], list[i].Request.rest()...)
	}
	return whole
}

// load reads a recording. A line that was not written to its end is passed over.
func load(path string) ([]taken, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var list []taken
	var last []byte
	lines := bufio.NewReaderSize(file, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		var x exchange
		if err := json.Unmarshal(line, &x); err != nil {
			return nil, fault.New(fault.Usage, fmt.Sprintf("reading %s, line %d", path, n), err)
		}
		if x.Version != version || x.Request.Same < 0 || x.Request.Same > len(last) {
			return nil, fault.Newf(fault.Usage, "reading %s, line %d: it is not a recording of this version of batch", path, n)
		}
		last = append(last[:x.Request.Same], x.Request.rest()...)
		list = append(list, taken{x, sha256.Sum256(last)})
	}
}
