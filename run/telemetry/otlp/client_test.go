package otlp

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// answers is a collector that gives its answers in order, each a status, a *http.Response or
// an error, and the last one again and again.
type answers struct {
	list []any
	at   []time.Duration // of the requests, since the first
	body [][]byte
	from time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.from.IsZero() {
		a.from = time.Now()
	}
	a.at = append(a.at, time.Since(a.from))
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a.body = append(a.body, body)
	next := a.list[min(len(a.at), len(a.list))-1]
	switch next := next.(type) {
	case error:
		return nil, next
	case *http.Response:
		return next, nil
	}
	return answer(next.(int), "", ""), nil
}

func answer(status int, header, body string) *http.Response {
	name, value, _ := strings.Cut(header, ": ")
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{name: {value}}, Body: io.NopCloser(strings.NewReader(body))}
}

// testClient sends to a.
func testClient(t *testing.T, a *answers, env map[string]string) *client {
	t.Helper()
	s, err := options(&bytes.Buffer{}, env).settings("METRICS")
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(s)
	c.http.Transport = a
	return c
}

// timeout is an error as of a connection that was waited for too long.
type timeout struct{}

func (timeout) Error() string   { return "timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestAFailedRequestIsSentAgainIfThatMayHelp(t *testing.T) {
	for name, c := range map[string]struct {
		answers []any
		tries   int
		fails   string // what the error has; "" for none
	}{
		"taken":         {[]any{200}, 1, ""},
		"accepted":      {[]any{202}, 1, ""},
		"refused":       {[]any{answer(400, "", " no such field\n"), 200}, 1, "https://localhost:4318/v1/metrics answers 400: no such field"},
		"broken":        {[]any{500, 200}, 1, "500"},
		"too many":      {[]any{429, 200}, 2, ""},
		"gateways":      {[]any{502, 503, 504, 200}, 4, ""},
		"then refused":  {[]any{503, 401}, 2, "401"},
		"timed out":     {[]any{timeout{}, 200}, 2, ""},
		"not connected": {[]any{errors.New("connection refused"), 200}, 1, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{list: c.answers}
				err := testClient(t, a, nil).upload(t.Context(), &metricspb.MetricsData{})
				if len(a.at) != c.tries || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%d requests, error %v; want %d, %q", len(a.at), err, c.tries, c.fails)
				}
			})
		})
	}
}

// Each wait is drawn: half of it to half more.
func TestWaitsGrowUntilAMinuteIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []any{503}}
		err := testClient(t, a, nil).upload(t.Context(), &metricspb.MetricsData{})
		if err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("got error %v, want the last answer", err)
		}
		for i, at := range a.at[1:] {
			base := firstWait
			for range i {
				base = min(base*3/2, longestWait)
			}
			if wait := at - a.at[i]; wait < base/2 || wait > base*3/2+time.Millisecond {
				t.Errorf("wait %d is %v, want %v, half of it to half more", i+1, wait, base)
			}
		}
		if last := a.at[len(a.at)-1]; last <= retryLimit || a.at[len(a.at)-2] > retryLimit {
			t.Errorf("requests at %v, want one after %v, the last", a.at, retryLimit)
		}
	})
}

func TestTheCollectorSaysHowLongToWait(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"30": 30 * time.Second, "Sat, 01 Jan 2000 00:00:40 GMT": 40 * time.Second, // synctest begins at midnight
		"61": 0, "Sat, 01 Jan 2000 00:01:10 GMT": 0, // too long: not sent again
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{list: []any{answer(429, "Retry-After: "+header, "busy"), 200}}
			err := testClient(t, a, nil).upload(t.Context(), &metricspb.MetricsData{})
			if last := a.at[len(a.at)-1]; last != want || (err == nil) != (want > 0) {
				t.Errorf("Retry-After: %s: last request after %v, error %v; want it after %v", header, last, err, want)
			}
		})
	}
}

func TestAnUploadEndsWithItsContextOrTheExporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []any{answer(503, "Retry-After: 50", "busy")}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := testClient(t, a, nil).upload(ctx, &metricspb.MetricsData{})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "busy") || time.Since(began) != time.Second {
			t.Errorf("after %v: %v; want the end of the context, and the answer", time.Since(began), err)
		}
		a = &answers{list: []any{answer(503, "Retry-After: 50", "busy")}}
		c := testClient(t, a, nil)
		time.AfterFunc(time.Second, func() { _ = c.Stop(t.Context()) })
		if err := c.upload(t.Context(), &metricspb.MetricsData{}); !errors.Is(err, errStopped) {
			t.Errorf("got %v, want %v", err, errStopped)
		}
		if err := c.upload(t.Context(), &metricspb.MetricsData{}); !errors.Is(err, errStopped) || len(a.at) != 1 {
			t.Errorf("an upload after the end: %v, %d requests in all", err, len(a.at))
		}
	})
}

func TestARequestThatIsNotAnsweredTimesOut(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	c := newClient(mustSettings(t, map[string]string{"ENDPOINT": server.URL, "TIMEOUT": "1"}))
	again, _, err := c.post(t.Context(), nil)
	if !again || err == nil {
		t.Errorf("again %v, error %v; want a timeout, after which it is sent again", again, err)
	}
}

func mustSettings(t *testing.T, env map[string]string) *settings {
	t.Helper()
	s, err := options(&bytes.Buffer{}, env).settings("METRICS")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// secure is a collector that asks for a certificate.
func secure(t *testing.T) *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// certificateFiles writes the certificate of a server, and its key.
func certificateFiles(t *testing.T, server *httptest.Server) files {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return files{writePEM(t, "CERTIFICATE", server.Certificate().Raw), writePEM(t, "PRIVATE KEY", key)}
}

func TestBothSidesShowTheirCertificates(t *testing.T) {
	server := secure(t)
	f := certificateFiles(t, server)
	all := map[string]string{"ENDPOINT": server.URL, "CERTIFICATE": f.certificate, "CLIENT_CERTIFICATE": f.certificate, "CLIENT_KEY": f.key}
	for without, works := range map[string]bool{"": true, "CERTIFICATE": false, "CLIENT_CERTIFICATE": false, "CLIENT_KEY": false} {
		env := map[string]string{}
		for name, value := range all {
			if name != without {
				env[name] = value
			}
		}
		err := newClient(mustSettings(t, env)).upload(t.Context(), &metricspb.MetricsData{})
		if (err == nil) != works {
			t.Errorf("without %q: %v; want it to work: %v", without, err, works)
		}
	}
}

func TestWhatTheCollectorRejectsIsAnError(t *testing.T) {
	const message = "\x12\x04late" // field 2
	for name, c := range map[string]struct{ kind, body, want string }{
		"nothing":                     {typeProtobuf, "", ""},
		"an empty part":               {typeProtobuf, "\x0a\x00", ""},
		"some":                        {typeProtobuf, "\x0a\x09\x08\xac\x02" + message, "the collector rejected 300 items: late"},
		"a warning":                   {typeProtobuf, "\x0a\x06" + message, "the collector rejected 0 items: late"},
		"some, among unknown fields":  {typeProtobuf, "\x10\x01\x1a\x02ab\x0a\x09\x25abcd" + "\x08\x05\x10\x07", "the collector rejected 5 items: "},
		"a torn answer":               {typeProtobuf, "\x0a\x09\x08", "not protobuf"},
		"a torn part":                 {typeProtobuf, "\x0a\x01\x08", "not protobuf"},
		"JSON":                        {typeJSON, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"late"}}`, "rejected 3 items: late"},
		"JSON with a number":          {typeJSON, `{"partialSuccess":{"rejectedDataPoints":4}}`, "rejected 4 items"},
		"JSON, nothing":               {typeJSON, `{"partialSuccess":{}}`, ""},
		"another type, as of a proxy": {"text/plain", "\x0a\x06" + message, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := &answers{list: []any{answer(200, "Content-Type: "+c.kind, c.body)}}
			err := testClient(t, a, nil).upload(t.Context(), &metricspb.MetricsData{})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || len(a.at) != 1 {
				t.Errorf("got %v after %d requests, want %q after one", err, len(a.at), c.want)
			}
		})
	}
}

// A well-formed message is read, and no other.
func FuzzRejection(f *testing.F) {
	f.Add([]byte("\x0a\x09\x08\xac\x02\x12\x04late"))
	f.Add([]byte(`{"partialSuccess":{"rejectedSpans":"3"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, err := field(data, 1)
		if want := proto.Unmarshal(data, &emptypb.Empty{}); (err == nil) != (want == nil) {
			t.Errorf("got %v, want %v", err, want)
		}
		_, _ = rejection(typeProtobuf, data), rejection(typeJSON, data)
	})
}
