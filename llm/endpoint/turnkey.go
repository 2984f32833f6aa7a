package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
	"batch.example/batch/llm/authority"
)

// turnKey returns the key of a call's turn; "" for the configured one.
func turnKey(ctx context.Context) string {
	if a := authority.From(ctx); a != nil {
		return strings.TrimSpace(a.ModelKey)
	}
	return ""
}

// checkKey refuses a call that has no key.
func (e *Endpoint) checkKey(ctx context.Context) error {
	if e.KeyFromTurn && e.APIKey == "" && turnKey(ctx) == "" {
		return fault.Newf(fault.Usage, "%s: no key is set, and none came with the turn", e.Op()).
			WithHint("give the turn a key, or set %s", e.KeyVariable)
	}
	return nil
}

// refusedKey marks a refusal, in its chain, as being about the key or its account.
type refusedKey struct{ error }

// Unwrap returns the cause.
func (r *refusedKey) Unwrap() error { return r.error }

// refusedTurn returns err, the failure of a call with a turn's key. If the key was refused,
// it is a failure of the turn, not of the run.
func (e *Endpoint) refusedTurn(err error) error {
	refused, ok := errors.AsType[*refusedKey](err)
	if !ok {
		return err
	}
	err = fault.New(fault.Expired, e.Op(), fmt.Errorf("%w: %w", authority.ErrRefused, refused.error)).
		WithHint("repeat the turn with credentials that may use model %s", e.Model)
	return &llm.Unpaid{Err: err}
}

// keyHeaders are the headers of keys in all protocols.
var keyHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// turnKeys is a transport that sends a turn's key in place of all configured ones, and hides it in the
// answer. Other requests pass unchanged.
type turnKeys struct {
	next     http.RoundTripper
	protocol Protocol
}

// RoundTrip implements [http.RoundTripper].
func (t *turnKeys) RoundTrip(r *http.Request) (*http.Response, error) {
	key := turnKey(r.Context())
	if key == "" {
		return t.next.RoundTrip(r)
	}
	sent := r.Clone(r.Context())
	for _, name := range keyHeaders {
		sent.Header.Del(name)
	}
	t.protocol.setKey(sent.Header, key)
	hide := mask.New(mask.Secret{Name: "ModelKey", Value: key})
	if len(key) >= mask.MinLength { // a pattern is searched in all JSON strings, in any spelling
		hide.AddPatterns(regexp.MustCompile(regexp.QuoteMeta(key)))
	}
	answer, err := t.next.RoundTrip(sent)
	if err != nil {
		if text := hide.Text(err.Error()); text != err.Error() { // a server's line that is not HTTP
			err = errors.New(text)
		}
		return nil, err
	}
	answer.Request, answer.ContentLength = r, -1
	answer.Header.Del("Content-Length")
	for _, values := range answer.Header {
		for i := range values {
			values[i] = hide.Text(values[i])
		}
	}
	answer.Body = &hidingBody{ReadCloser: answer.Body, hide: hide}
	return answer, nil
}

// hidingBody is an answer whose secrets are hidden line by line: an event of a stream is one line, and so are
// most other answers.
type hidingBody struct {
	io.ReadCloser
	hide  *mask.Masker
	ready []byte // masked bytes that are not read yet
	rest  []byte // an incomplete line
	err   error  // after ready
	piece [4 << 10]byte
}

// Read implements [io.Reader].
func (b *hidingBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 && b.err == nil {
		var n int
		n, b.err = b.ReadCloser.Read(b.piece[:])
		end := len(b.rest) + bytes.LastIndexByte(b.piece[:n], '\n') + 1
		if end == len(b.rest) { // no line has ended
			end = 0
		}
		b.rest = append(b.rest, b.piece[:n]...)
		if b.err != nil {
			end = len(b.rest)
		}
		b.ready, b.rest = hideLines(b.rest[:end], b.hide), b.rest[end:]
	}
	if len(b.ready) == 0 {
		return 0, b.err
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}

// hideLines returns lines with secrets hidden, also in JSON strings of any spelling.
func hideLines(lines []byte, hide *mask.Masker) []byte {
	var out []byte
	for line := range bytes.Lines(lines) {
		field := 0
		if bytes.HasPrefix(line, []byte("data:")) {
			field = len("data:")
		}
		if json.Valid(line[field:]) {
			line = append(line[:field:field], hide.JSON(line[field:])...)
		}
		out = append(out, hide.Bytes(line)...)
	}
	return out
}

// newMasker returns a masker for the secrets of a config: every header may be one, and so may every part of
// the address that identifies the user.
func newMasker(cfg Config, base *url.URL, headers map[string]string) *mask.Masker {
	secrets := []mask.Secret{{Name: "APIKey", Value: cfg.APIKey}, {Name: "BaseURL", Value: base.User.Username()}}
	secrets = append(secrets, mask.InURL("BaseURL", cfg.BaseURL)...)
	for _, values := range base.Query() {
		for _, v := range values {
			secrets = append(secrets, mask.Secret{Name: "BaseURL", Value: v})
		}
	}
	for _, value := range headers {
		secrets = append(secrets, mask.Of("Authorization", value)...)
	}
	return mask.New(secrets...)
}
