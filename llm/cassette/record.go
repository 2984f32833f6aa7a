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
	"batch.example/batch/internal/regular"
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
