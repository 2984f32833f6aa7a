package cassette

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/regular"
	"batch.example/batch/llm/authority"
	"batch.example/batch/llm/internal/history"
)

// Recorder is a transport that records the exchanges of instances, see [With]. Other
// requests pass. It is safe for concurrent use.
type Recorder struct {
	// Next sends the requests.
	Next http.RoundTripper
	// Path names the file of an instance. It is created when needed, with its folder.
	Path func(instance string) string
	// Mask hides secrets; nil hides none.
	Mask *mask.Masker
	// Failed is called when an exchange could not be recorded, which does not end the call.
	Failed func(instance string, err error)

	mu   sync.Mutex
	ends map[string]int64 // end of the last whole exchange in the file of an instance
}

// RoundTrip implements [http.RoundTripper].
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	instance := instanceOf(req)
	if instance == "" {
		return r.Next.RoundTrip(req)
	}
	body, err := takeBody(req)
	if err != nil {
		return nil, err
	}
	sent := req.Clone(req.Context())
	sent.Body, sent.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	hide := r.Mask
	if turn := authority.From(req.Context()); turn != nil && turn.ModelKey != "" {
		hide = hide.With(mask.Secret{Name: "ModelKey", Value: turn.ModelKey})
	}
	x := exchange{
		Version: version, Time: time.Now().UTC(), Method: req.Method, Path: hide.Text(req.URL.Path),
		Request: newMessage(kept(req.Header, hide), hide.JSON(body)),
	}
	answer, err := r.Next.RoundTrip(sent)
	x.Waited = time.Since(x.Time).Seconds()
	if err != nil {
		x.Failure = newFailure(err, hide.Text(err.Error()))
		r.end(req.Context(), instance, &x)
		return nil, err
	}
	x.Status = answer.StatusCode
	answer.Body = &tee{ReadCloser: answer.Body, ctx: req.Context(), end: func(read []byte, err error) {
		m := newMessage(kept(answer.Header, hide), scrub(read, hide))
		x.Answer = &m
		if err != nil {
			x.Failure = newFailure(err, hide.Text(err.Error()))
		}
		r.end(req.Context(), instance, &x)
	}}
	return answer, nil
}

// takeBody reads and closes the body of a request, as a transport must.
func takeBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// end records an exchange unless the caller canceled it, because a canceled request is made again.
func (r *Recorder) end(ctx context.Context, instance string, x *exchange) {
	if x.Failure != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return
	}
	x.Took = time.Since(x.Time).Seconds()
	member, err := encode(x)
	if err == nil {
		err = r.write(instance, member)
	}
	if err != nil && r.Failed != nil {
		r.Failed(instance, err)
	}
}

// write writes an exchange to the end of a recording, over an incomplete one.
func (r *Recorder) write(instance string, member []byte) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := r.Path(instance)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := regular.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	end := r.ends[instance]
	if end != size { // another process wrote, or a write failed halfway
		if end, err = scan(path, func(*exchange, int64) {}); err != nil {
			return err
		}
	}
	if err := file.Truncate(end); err != nil {
		return err
	}
	if _, err := file.WriteAt(member, end); err != nil {
		return err
	}
	if r.ends == nil {
		r.ends = map[string]int64{}
	}
	r.ends[instance] = end + int64(len(member))
	return nil
}

// tee keeps the bytes that are read, and calls end once: at the end of the body, or when the body is closed
// earlier.
type tee struct {
	io.ReadCloser
	ctx  context.Context // the request's context
	read []byte
	end  func(read []byte, err error)
	once sync.Once
}

// Read implements [io.Reader].
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.read = append(t.read, p[:n]...)
	switch {
	case err == io.EOF:
		t.once.Do(func() { t.end(t.read, nil) })
	case err != nil:
		t.once.Do(func() { t.end(t.read, err) })
	}
	return n, err
}

// Close implements [io.Closer].
func (t *tee) Close() error {
	t.once.Do(func() { t.end(t.read, context.Cause(t.ctx)) })
	return t.ReadCloser.Close()
}

// scrub hides the secrets of an answer. In JSON, as in a stream's events, it searches only strings, because a
// pattern may also match quotes.
func scrub(answer []byte, hide *mask.Masker) []byte {
	if json.Valid(answer) {
		return hide.JSON(answer)
	}
	var pieces [][]byte
	var events []int // which of pieces are events
	var plain []byte
	for line := range bytes.Lines(answer) {
		data, isData := bytes.CutPrefix(line, []byte("data:"))
		if isData && hide != nil && !bytes.HasSuffix(line, []byte("\n")) && !json.Valid(data) && len(events) > 0 {
			continue // a secret may end in a truncated event
		}
		if !isData || !json.Valid(data) {
			plain = append(plain, line...)
			continue
		}
		pieces = append(pieces, hide.Bytes(plain), slices.Concat([]byte("data:"), hide.JSON(data)))
		events, plain = append(events, len(pieces)-1), nil
	}
	pieces = append(pieces, hide.Bytes(plain))
	for _, indexed := range []bool{true, false} { // some providers give an index to the first piece only
		scrubAcross(pieces, events, hide, indexed)
	}
	return bytes.Join(pieces, nil)
}

// scrubAcross hides secrets that a model writes across several events: the first of them then contains the
// whole text. If indexed is set, indexes tell texts apart too.
func scrubAcross(pieces [][]byte, events []int, hide *mask.Masker, indexed bool) {
	texts := map[string]*strings.Builder{} // by their place in an event
	for _, i := range events {
		eachText(decoded(pieces[i]), "", indexed, func(place, text string) string {
			if texts[place] == nil {
				texts[place] = &strings.Builder{}
			}
			texts[place].WriteString(text)
			return text
		})
	}
	maps.DeleteFunc(texts, func(_ string, all *strings.Builder) bool { return len(hide.Names([]byte(all.String()))) == 0 })
	if len(texts) == 0 {
		return
	}
	for _, i := range events {
		event := eachText(decoded(pieces[i]), "", indexed, func(place, text string) string {
			all := texts[place]
			if all == nil {
				return text
			}
			hidden := hide.Text(all.String())
			all.Reset()
			return hidden
		})
		if line, err := history.Encode(event); err == nil {
			pieces[i] = slices.Concat([]byte("data: "), line, []byte("\n"))
		}
	}
}

// decoded returns the JSON value of an event.
func decoded(event []byte) (value any) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(event, []byte("data:"))))
	d.UseNumber()
	_ = d.Decode(&value) // the event is valid
	return value
}

// eachText replaces the strings in a value, and returns it. Pieces of one text have the same place: the same
// member of objects, with the same indexes if indexed is set.
func eachText(value any, place string, indexed bool, replace func(place, text string) string) any {
	switch v := value.(type) {
	case string:
		return replace(place, v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], place+"/", indexed, replace)
		}
	case map[string]any:
		for _, name := range []string{"index", "output_index", "content_index", "summary_index", "thought"} {
			if indexed {
				place += fmt.Sprint(" ", v[name])
			}
		}
		for name, member := range v {
			v[name] = eachText(member, place+"."+name, indexed, replace)
		}
	}
	return value
}
