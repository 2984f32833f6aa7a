package cassette

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"batch.example/batch/authority"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm/internal/history"
)

// maxKept bounds the request bodies that a recorder remembers, in bytes.
const maxKept = 128 << 20

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
	last map[string][]byte // instance to the body of its last request in the file
	size int
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
	x := recorded{body: hide.JSON(body)}
	x.Version, x.Method, x.Path, x.Time = version, req.Method, hide.Text(req.URL.Path), time.Now().UTC()
	x.Request.Headers = kept(req.Header, hide)
	answer, err := r.Next.RoundTrip(sent)
	x.Waited = time.Since(x.Time).Seconds()
	if err != nil {
		x.Failure = newFailure(err, hide.Text(err.Error()))
		r.end(req.Context(), instance, &x)
		return nil, err
	}
	x.Status = answer.StatusCode
	answer.Body = &tee{ReadCloser: answer.Body, end: func(read []byte, err error) {
		m := newMessage(kept(answer.Header, hide), 0, scrub(read, hide))
		x.Answer = &m
		if err != nil {
			x.Failure = newFailure(err, hide.Text(err.Error()))
		}
		r.end(req.Context(), instance, &x)
	}}
	return answer, nil
}

// recorded is an exchange with its whole request.
type recorded struct {
	exchange
	body []byte
}

// takeBody reads and closes the body of a request, as a transport must.
func takeBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// end records an exchange, unless the caller gave it up: it would be made again.
func (r *Recorder) end(ctx context.Context, instance string, x *recorded) {
	if x.Failure != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return
	}
	x.Took = time.Since(x.Time).Seconds()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.write(instance, x); err != nil && r.Failed != nil {
		r.Failed(instance, err)
	}
}

func (r *Recorder) write(instance string, x *recorded) error {
	last := r.last[instance]
	same := 0
	for same < min(len(last), len(x.body)) && last[same] == x.body[same] {
		same++
	}
	x.Request = newMessage(x.Request.Headers, same, x.body[same:])
	line, err := history.Encode(x.exchange)
	if err != nil {
		return err
	}
	if err := appendLine(r.Path(instance), append(line, '\n')); err != nil {
		delete(r.last, instance)
		r.size -= len(last)
		return err
	}
	r.size += len(x.body) - len(last)
	if r.last == nil || r.size > maxKept { // the next request of each instance is written whole
		r.last, r.size = map[string][]byte{}, len(x.body)
	}
	r.last[instance] = x.body
	return nil
}

// appendLine writes a line to the end of a file, over a line there that was not finished.
func appendLine(path string, line []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if end, err = lineEnd(file, end); err != nil {
		return err
	}
	if err := file.Truncate(end); err != nil {
		return err
	}
	_, err = file.WriteAt(line, end)
	return err
}

// lineEnd returns where the last finished line before end ends.
func lineEnd(file io.ReaderAt, end int64) (int64, error) {
	block := make([]byte, 1) // which is enough, except after a crash
	for end > 0 {
		n := min(end, int64(len(block)))
		if _, err := file.ReadAt(block[:n], end-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
		block = make([]byte, 64<<10)
	}
	return 0, nil
}

// tee keeps what is read, and calls end once: at the end of the body, or when it is
// closed before.
type tee struct {
	io.ReadCloser
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
	t.once.Do(func() { t.end(t.read, nil) })
	return t.ReadCloser.Close()
}
