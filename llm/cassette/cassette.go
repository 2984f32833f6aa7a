// Package cassette records the HTTP exchanges of a run's model calls, and replays them without a network. It
// serves to find out why a run went as it did, to test an agent against real replies, and to demonstrate
// batch without a key.
//
// A recording is one file of JSON lines per instance; each line is a whole [exchange]. Each line is a gzip
// member of its own, appended at the end of the exchange: a crash loses at most the exchanges under way, and
// zcat shows the file. A recording has no secrets: only headers known to be harmless are kept, and the
// [mask.Masker] hides its secrets in all texts, even if a stream splits them into pieces. A replayed answer
// equals the received one, byte for byte where nothing was hidden: status, kept headers, body, failures of
// the connection, and truncated bodies.
//
// Its API is not promised to other programs: see package batch.
package cassette

import (
	"bufio"
	"bytes"
	"compress/gzip"
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
	"batch.example/batch/internal/regular"
	"batch.example/batch/llm/internal/history"
)

// FileName is the usual name of a recording in an instance's directory.
const FileName = "http.jsonl.gz"

// OldFileName is the name of recordings in an older format, whose requests were differences. They are not
// read.
const OldFileName = "http.jsonl"

// version is the version of the format of an [exchange].
const version = 2

// maxLine bounds the size in bytes of an exchange: a file of some kilobytes may decompress to gigabytes.
const maxLine = 128 << 20

type instanceKey struct{}

// With returns a context for the requests of an instance.
func With(ctx context.Context, instance string) context.Context {
	return context.WithValue(ctx, instanceKey{}, instance)
}

// instanceOf returns the instance of a request, "" if there is none.
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
	Failure *failure  `json:"failure,omitempty"` // failure of the connection, before or within the answer
	Waited  float64   `json:"waited"`            // seconds up to the answer's headers
	Took    float64   `json:"took"`              // seconds up to the answer's end
}

// message is the headers and the body of a request or an answer.
type message struct {
	Headers headers `json:"headers,omitempty"`
	Body    string  `json:"body"`
	Bytes   []byte  `json:"bytes,omitempty"` // replaces a Body that is not UTF-8
}

type headers map[string][]string

// UnmarshalJSON implements [json.Unmarshaler]. It bounds the size of headers, because a list of many short
// texts would take far more memory than its bytes.
func (h *headers) UnmarshalJSON(data []byte) error {
	if len(data) > http.DefaultMaxHeaderBytes {
		return fmt.Errorf("its headers have %d bytes, want at most %d", len(data), http.DefaultMaxHeaderBytes)
	}
	return json.Unmarshal(data, (*map[string][]string)(h))
}

func newMessage(headers headers, body []byte) message {
	m := message{Headers: headers}
	if utf8.Valid(body) {
		m.Body = string(body)
	} else {
		m.Bytes = body
	}
	return m
}

func (m message) body() []byte {
	if m.Bytes != nil {
		return m.Bytes
	}
	return []byte(m.Body)
}

// harmless lists headers that are kept: clients act on them, and they do not identify a user.
var harmless = []string{
	"Accept", "Content-Type", "Date", "Retry-After", "Retry-After-Ms", "X-Should-Retry", "Location",
	"Anthropic-Version", "Anthropic-Beta", "X-Litellm-Response-Cost",
}

// harmlessStart lists prefixes of further such headers.
var harmlessStart = []string{"X-Ratelimit-", "Anthropic-Ratelimit-", "Ratelimit"}

// kept returns the harmless headers with secrets hidden: the address of a redirect may have one.
func kept(all http.Header, hide *mask.Masker) headers {
	list := headers{}
	for name, values := range all {
		if slices.Contains(harmless, name) || slices.ContainsFunc(harmlessStart, func(start string) bool { return strings.HasPrefix(name, start) }) {
			for _, value := range values {
				list[name] = append(list[name], hide.Text(value))
			}
		}
	}
	return list
}

// failure says why an answer is missing or incomplete.
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

// taken is the position of an exchange in a recording.
type taken struct {
	at       int64
	asked    [sha256.Size]byte
	answered bool // the exchange has a whole answer other than an error
}

// asked returns a hash that identifies a request: of its whole body, and of the model if the path names it.
func asked(path string, body []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	_, _ = h.Write([]byte(modelIn(path) + "\n")) // never fails
	_, _ = h.Write(canonical(body))
	h.Sum(sum[:0])
	return sum
}

// canonical returns JSON with sorted members, and other text unchanged: a resumed run sends the members of
// the model's messages in another order.
func canonical(body []byte) []byte {
	if !json.Valid(body) {
		return body
	}
	text, err := json.Marshal(decoded(body))
	if err != nil {
		return body
	}
	return text
}

// modelIn returns the end of a path, with the model's name and the method, as Gemini, Bedrock and Vertex have
// it; "" if the path names no model.
func modelIn(path string) string {
	for _, before := range []string{"/models/", "/model/"} {
		if i := strings.LastIndex(path, before); i >= 0 {
			return path[i+len(before):]
		}
	}
	return ""
}

// ends is a buffered reader that knows its position in the file.
type ends struct {
	*bufio.Reader
	file io.Seeker
}

// at returns the position of the next byte.
func (e ends) at() (int64, error) {
	read, err := e.file.Seek(0, io.SeekCurrent)
	return read - int64(e.Buffered()), err
}

// scan calls each with every exchange of a recording and its position, and returns the end of the last
// complete one. It ignores an incomplete exchange at the end, and the zeros that a power failure can leave
// there.
func scan(path string, each func(x *exchange, at int64)) (end int64, err error) {
	file, err := regular.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	from := ends{bufio.NewReaderSize(file, 64<<10), file}
	for n := 1; ; n++ {
		x, err := decode(from)
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) && onlyZeros(file, end) {
			return end, nil
		}
		if err != nil {
			return end, fault.New(fault.Usage, fmt.Sprintf("reading %s, exchange %d", path, n), err)
		}
		each(x, end)
		if end, err = from.at(); err != nil {
			return end, err
		}
	}
}

// onlyZeros reports whether a file has only zero bytes from a position on.
func onlyZeros(file *os.File, from int64) bool {
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return false
	}
	rest := bufio.NewReader(file)
	for {
		b, err := rest.ReadByte()
		if err != nil || b != 0 {
			return err == io.EOF
		}
	}
}

// decode reads one exchange, and no byte after it if from is an [io.ByteReader]. The error is io.EOF at the
// end of the input.
func decode(from io.Reader) (*exchange, error) {
	member, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	line, err := io.ReadAll(io.LimitReader(member, maxLine))
	if err != nil {
		return nil, err
	}
	if len(line) == maxLine {
		return nil, fmt.Errorf("it has more than %d bytes", maxLine)
	}
	var x exchange
	if err := json.Unmarshal(line, &x); err != nil {
		return nil, err
	}
	if x.Version != version {
		return nil, fmt.Errorf("its version is %d, expected %d", x.Version, version)
	}
	return &x, nil
}

// encode returns the gzip member of an exchange.
func encode(x *exchange) ([]byte, error) {
	line, err := history.Encode(x)
	if err == nil && len(line) >= maxLine-1 {
		err = fmt.Errorf("the exchange has %d bytes, want less than %d", len(line), maxLine)
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(append(line, '\n')) // neither fails on a buffer
	_ = w.Close()
	return b.Bytes(), nil
}

// load returns the positions of all exchanges of a recording. It keeps no answers, because those of all
// instances would not fit into memory.
func load(path string) (list []taken, err error) {
	_, err = scan(path, func(x *exchange, at int64) {
		answered := x.Failure == nil && x.Status < http.StatusBadRequest
		list = append(list, taken{at: at, asked: asked(x.Path, x.Request.body()), answered: answered})
	})
	return list, err
}

// read returns the exchange at a position.
func read(path string, at taken) (*exchange, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(at.at, io.SeekStart); err != nil {
		return nil, err
	}
	return decode(bufio.NewReader(file))
}
