package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// endless is a body that never ends.
type endless struct{ closed bool }

func (e *endless) Read(p []byte) (int, error) { return len(p), nil }

func (e *endless) Close() error { e.closed = true; return nil }

func TestAnAnswerWithoutEndIsCut(t *testing.T) {
	body := &endless{}
	client := &http.Client{Transport: tripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: body}, nil
	})}
	for _, stream := range []bool{false, true} {
		e, err := Open(Config{Model: "m", BaseURL: "http://h", HTTP: client, Kwargs: map[string]any{"stream": stream}}, Protocol{})
		if err != nil {
			t.Fatal(err)
		}
		err = post(t, e)
		if err == nil || fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "longer than 64 MiB") || llm.Lost(err) != 1 || !body.closed {
			t.Errorf("streamed %v: got %v (%v), body closed %v; want a transient fault of a call that was paid", stream, err, fault.KindOf(err), body.closed)
		}
	}
}

// post asks e like a client.
func post(t *testing.T, e *Endpoint) error {
	t.Helper()
	_, err := e.Ask(t.Context(), &llm.Request{}, func(try context.Context) (*http.Response, *llm.Response, error) {
		r, err := http.NewRequestWithContext(try, http.MethodPost, e.BaseURL+"?key=planted-0123456789", strings.NewReader("{}"))
		if err != nil {
			return nil, nil, err
		}
		answer, err := e.HTTP.Do(r)
		if err != nil {
			return answer, nil, err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return answer, &llm.Response{}, errors.Join(err, answer.Body.Close())
	})
	return err
}

// A queue may be longer than the default of ten minutes.
func TestAStreamBeginsWithinItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(25 * time.Minute):
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})}
		for timeout, want := range map[int]string{1: "stalled", 1800: ""} {
			e, err := Open(Config{
				Model: "m", BaseURL: "http://h", HTTP: client, Kwargs: map[string]any{"stream": true, "stream_timeout": timeout},
			}, Protocol{})
			if err != nil {
				t.Fatal(err)
			}
			if err := post(t, e); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("stream_timeout %d: %v, want %q", timeout, err, want)
			}
		}
	})
}
