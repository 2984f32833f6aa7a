package endpoint

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
)

// maxRefusal bounds how much of an error answer is read, in bytes.
const maxRefusal = 1 << 20

// errRefused stands for an answer with an error status.
var errRefused = errors.New("the request was refused")

// Send sends a request. An answer with an error status is an error, and returned too: its body is
// in memory. The caller must close the body of any other answer.
func (e *Endpoint) Send(r *http.Request) (*http.Response, error) {
	answer, err := e.HTTP.Do(r)
	if err != nil || answer.StatusCode < http.StatusBadRequest {
		return answer, err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	answer.Body = io.NopCloser(bytes.NewReader(said))
	return answer, cmp.Or(err, errRefused)
}
