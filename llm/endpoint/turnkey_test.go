package endpoint_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"batch.example/batch/llm/authority"
	"batch.example/batch/llm/endpoint"
)

const turnKey = "sk-of-a-turn-0123456789fedcba"

func withKey(ctx context.Context) context.Context {
	return authority.With(ctx, &authority.Authority{ModelKey: turnKey})
}

// get asks an endpoint for a page with a turn's key.
func get(t *testing.T, base string, given *http.Client) (*http.Response, error) {
	t.Helper()
	e, err := endpoint.Open(endpoint.Config{Model: "m", BaseURL: base, HTTP: given}, endpoint.Protocol{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(withKey(t.Context()), http.MethodPost, base, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.HTTP.Do(r)
}

type sends func(*http.Request) (*http.Response, error)

func (f sends) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Each body is read in pieces of all sizes. Text that is not secret must not change.
func TestATurnsKeyIsHiddenInAnswers(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"", ""},
		{"plain", "plain"},
		{"a\n\nb\r\nc", "a\n\nb\r\nc"},
		{strings.Repeat("long ", 5000), strings.Repeat("long ", 5000)},
		{turnKey, "********"},
		{"x\n" + turnKey + "\ny", "x\n********\ny"},
		{strings.Repeat("z", 4090) + turnKey + "end", strings.Repeat("z", 4090) + "********end"},
		{"data: {\"a\": \"" + turnKey + "\", \"n\": 1.50}\n\ndata: [DONE]\n\n", "data: {\"a\": \"********\", \"n\": 1.50}\n\ndata: [DONE]\n\n"},
		{`{"a":"sk-of-a-turn-\u0030123456789fedcba"}`, `{"a":"********"}`},
	} {
		for name, pieces := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "late": iotest.DataErrReader,
		} {
			var sent *http.Request
			answer, err := get(t, "http://model.test", &http.Client{Transport: sends(func(r *http.Request) (*http.Response, error) {
				sent = r
				h := http.Header{"X-Echo": {"of " + turnKey}, "Content-Length": {"1"}}
				return &http.Response{StatusCode: 200, Header: h, Request: r, Body: io.NopCloser(pieces(strings.NewReader(c.body)))}, nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(answer.Body)
			if err != nil || string(got) != c.want {
				t.Errorf("%s: read %q, %v; want %q", name, got, err, c.want)
			}
			if sent.Header.Get("Authorization") != "Bearer "+turnKey {
				t.Errorf("%s: sent %v, want the key", name, sent.Header)
			}
			if text := fmt.Sprint(answer.Header, answer.Request.Header); strings.Contains(text, turnKey) || !strings.Contains(text, "of ********") {
				t.Errorf("%s: the answer's headers are %s, want them without the key", name, text)
			}
		}
	}
}

// net/http quotes a server that does not speak HTTP.
func TestATurnsKeyIsHiddenInWhatIsNoHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 1)) // an answer before the request would not count
		_, _ = io.WriteString(c, "what-is-"+turnKey+"\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	}()
	_, err = get(t, "http://"+l.Addr().String(), nil)
	if err == nil || strings.Contains(err.Error(), turnKey) || !strings.Contains(err.Error(), "what-is-********") {
		t.Errorf("%v, want the server's words without the key", err)
	}
	<-ended
}
