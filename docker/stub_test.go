package docker_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"batch.example/batch/docker"
	"batch.example/batch/internal/boxinit/wire"
)

// stub is an engine over HTTP that has one image and any number of containers
// in which nothing runs. A test replaces the stub's answers with its own,
// by method and path as in "POST /containers/create".
type stub struct {
	server *httptest.Server
	own    map[string]http.HandlerFunc

	mu     sync.Mutex
	said   map[string]http.HandlerFunc // the test's answers
	calls  []string                    // their forms, in order
	made   []container.CreateRequest
	files  map[string]string // of every container, if not empty
	ends   bool              // every command ends at once
	drops  bool              // every command ends the connection to its container
	result wire.Result       // of every command
	let    func()            // releases the calls that hang
	gone   chan struct{}     // closed by let
}

const (
	stubImage = "stub.example/thing:1"
	stubID    = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	stubBox   = "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0"
)

func newEngineStub(t testing.TB) *stub {
	t.Helper()
	s := &stub{said: map[string]http.HandlerFunc{}, gone: make(chan struct{}), files: map[string]string{"/sys/class/net/lo/flags": "0x9\n"}}
	s.let = sync.OnceFunc(func() { close(s.gone) })
	s.own = map[string]http.HandlerFunc{
		"HEAD /_ping": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("API-Version", "1.41") },
		"GET /info": answer(http.StatusOK, map[string]any{
			"MemoryLimit": true, "SwapLimit": true, "CpuCfsPeriod": true, "CpuCfsQuota": true, "PidsLimit": true, "CPUShares": true,
			"OSType": "linux", "Architecture": "x86_64",
		}),
		"GET /version":            answer(http.StatusOK, map[string]any{"Version": "0", "Os": "linux", "Arch": "amd64"}),
		"GET /images/json":        answer(http.StatusOK, []any{}),
		"GET /containers/json":    answer(http.StatusOK, []any{}),
		"GET /volumes/*":          answer(http.StatusOK, map[string]any{"Name": "batch-init"}),
		"GET /volumes":            answer(http.StatusOK, map[string]any{"Volumes": []any{map[string]any{"Name": "batch-init-old"}}}),
		"GET /networks":           answer(http.StatusOK, []any{map[string]any{"Id": "net"}}),
		"GET /images/*/json":      answer(http.StatusOK, map[string]any{"Id": stubID, "Os": "linux", "Architecture": "amd64"}),
		"GET /images/*/history":   answer(http.StatusOK, []any{}),
		"DELETE /images/*":        answer(http.StatusOK, []any{}),
		"POST /containers/create": s.create,
		"POST /containers/*/start": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		},
		"GET /containers/*/json": answer(http.StatusOK, map[string]any{
			"Id": stubBox, "Image": stubID, "State": map[string]any{"Running": true},
			"Config": map[string]any{"WorkingDir": "/", "Labels": map[string]string{"batch.key": strings.Repeat("00", wire.KeySize)}},
		}),
		"POST /containers/*/attach": s.attach,
		"PUT /containers/*/archive": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		},
		"DELETE /containers/*": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		},
	}
	s.server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.resume()
		s.server.Close()
	})
	return s
}

// connect returns a client of the stub that waits for an answer of the test at
// most limit, and for one of the stub as long as it takes.
func (s *stub) connect(t testing.TB, limit time.Duration, change ...func(*docker.Config)) *docker.Engine {
	t.Helper()
	c := docker.Config{Host: "tcp://" + s.server.Listener.Addr().String()}
	for _, f := range change {
		f(&c)
	}
	e, err := docker.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.resume()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	e.Impatient(func(method, path string) time.Duration {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.said[form(method, path)] == nil {
			return time.Hour
		}
		return limit
	})
	return e
}

// ServeHTTP implements http.Handler.
func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := form(r.Method, r.URL.Path)
	s.mu.Lock()
	s.calls = append(s.calls, call)
	f := s.said[call]
	s.mu.Unlock()
	if f == nil {
		f = s.own[call]
	}
	if f == nil {
		answer(http.StatusNotFound, map[string]string{"message": "the stub has no answer for " + call})(w, r)
		return
	}
	f(w, r)
}

// form is a call with * in place of the name of an image, container, exec, volume or network.
func form(method, path string) string {
	words := strings.Split(path[1:], "/")
	if strings.HasPrefix(words[0], "v1.") {
		words = words[1:]
	}
	last := len(words) - 1
	switch {
	case last == 0, last == 1 && (words[1] == "json" || words[1] == "create"):
		return method + " /" + strings.Join(words, "/")
	case last == 1, method == http.MethodDelete:
		return method + " /" + words[0] + "/*"
	}
	return method + " /" + words[0] + "/*/" + words[last]
}

// say makes f answer the calls of that form, or the stub itself if f is nil.
func (s *stub) say(call string, f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[call] = f
}

// hang does not answer until the caller cancels or [stub.resume] is called.
func (s *stub) hang(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-s.gone:
	case <-r.Context().Done():
	}
}

// resume makes the stub answer everything itself, and ends hanging calls.
func (s *stub) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.said)
	s.let()
}

// count returns the number of calls of that form.
func (s *stub) count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if c == call {
			n++
		}
	}
	return n
}

func (s *stub) create(w http.ResponseWriter, r *http.Request) {
	var asked container.CreateRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		answer(http.StatusBadRequest, map[string]string{"message": err.Error()})(w, r)
		return
	}
	s.keep(asked)
	answer(http.StatusCreated, map[string]string{"Id": stubBox})(w, r)
}

// keep records a create request.
func (s *stub) keep(asked container.CreateRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, asked)
}

// attach acts as an init that starts nothing: it answers whether it is ready and whether
// commands could be run, and no command ever ends, unless s.ends or s.drops is set.
func (s *stub) attach(w http.ResponseWriter, _ *http.Request) {
	conn, err := hijack(w)
	if err != nil {
		return
	}
	defer conn.Close()
	var key wire.Key
	s.mu.Lock()
	for _, m := range s.made {
		if text := m.Labels["batch.key"]; text != "" {
			_, _ = hex.Decode(key[:], []byte(text))
		}
	}
	s.mu.Unlock()
	out := wire.NewWriter(stdcopy.NewStdWriter(conn, stdcopy.Stdout), key, wire.Init)
	in := wire.NewReader(conn, key, wire.Runner)
	var number uint64
	for {
		f, began, err := in.Next()
		switch {
		case err != nil:
			return
		case began:
			var m wire.Hello
			if wire.Decode(f.Data, &m) != nil {
				return
			}
			number = m.Connection
			in.Begin(m.Connection)
			_ = out.Begin(m.Connection, wire.Frame{Kind: wire.KindWelcome, Data: wire.Encode(wire.Welcome{Version: wire.Version, Connection: m.Connection})})
		case f.Kind == wire.KindRun && s.drops:
			return
		case f.Kind == wire.KindRun && s.ends:
			_ = out.Write(number, wire.Frame{Kind: wire.KindResult, ID: f.ID, Data: wire.Encode(s.result)})
		case f.Kind == wire.KindGet:
			var m wire.Get
			if wire.Decode(f.Data, &m) != nil {
				return
			}
			_ = out.Write(number, wire.Frame{Kind: wire.KindOutput, ID: f.ID, Data: []byte(s.files[m.Path])})
			_ = out.Write(number, wire.Frame{Kind: wire.KindDone, ID: f.ID, Data: wire.Encode(wire.Done{})})
		case f.Kind == wire.KindReady || f.Kind == wire.KindKill || f.Kind == wire.KindPut:
			_ = out.Write(number, wire.Frame{Kind: wire.KindDone, ID: f.ID, Data: wire.Encode(wire.Done{})})
		}
	}
}

// hijack answers with a stream of its own.
func hijack(w http.ResponseWriter) (net.Conn, error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_, err = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	}
	return conn, err
}

// answer answers with v in JSON.
func answer(status int, v any) http.HandlerFunc {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("%v cannot be written as JSON: %v", v, err))
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(text)
	}
}
