package cassette_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm/authority"
	"batch.example/batch/llm/cassette"
)

const secret = "sk-0123456789abcdef"

// got holds the parts of an exchange that a client sees.
type got struct {
	status  int
	headers http.Header
	body    string
	err     error
}

func ask(ctx context.Context, t *testing.T, rt http.RoundTripper, url, body string) got {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/"+secret+"/x?key="+secret, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Openai-Organization", "org-of-mine")
	answer, err := (&http.Client{Transport: rt}).Do(req)
	if err != nil {
		return got{err: err}
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return got{answer.StatusCode, answer.Header, string(data), err}
}

// server answers each request by what its body asks for.
func server(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Openai-Organization", "org-of-mine")
		w.Header().Set("X-Ratelimit-Limit-Requests", "60")
		switch text := string(body); {
		case strings.HasSuffix(text, "stream"):
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				_, _ = fmt.Fprintf(w, "data: {\"n\":%d}\r\n\r\n", i)
				_ = http.NewResponseController(w).Flush()
			}
		case strings.HasSuffix(text, "busy"):
			w.Header().Set("Retry-After", "7")
			http.Error(w, `{"error":"busy"}`, http.StatusServiceUnavailable)
		case strings.HasSuffix(text, "bytes"):
			_, _ = w.Write([]byte{0xff, 0, 'a'})
		case strings.HasSuffix(text, "cut"):
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half of")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case strings.HasSuffix(text, "moved"):
			http.Redirect(w, r, "/elsewhere?key="+secret, http.StatusFound)
		case strings.HasSuffix(text, "nothing"):
			panic(http.ErrAbortHandler)
		default:
			_, _ = io.WriteString(w, `{"said":"`+text+`"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// files names the recording of an instance below dir.
func files(dir string) func(string) string {
	return func(instance string) string { return filepath.Join(dir, instance, cassette.FileName) }
}

func recorder(t *testing.T, dir string) *cassette.Recorder {
	t.Helper()
	return &cassette.Recorder{
		Next: http.DefaultTransport, Path: files(dir), Mask: mask.New(mask.Secret{Name: "KEY", Value: secret}),
		Failed: func(instance string, err error) { t.Errorf("%s: %v", instance, err) },
	}
}

func player(dir string) *cassette.Player {
	return &cassette.Player{Path: files(dir), Mask: mask.New(mask.Secret{Name: "KEY", Value: secret})}
}

func TestAReplayIsWhatWasRecorded(t *testing.T) {
	s, dir := server(t), t.TempDir()
	r := recorder(t, dir)
	bodies := []string{"hello", "hello, stream", "hello, busy", "hello, bytes", "hello, cut", "hello, nothing", "hello <again> \u2028"}
	var recorded []got
	for _, b := range bodies {
		recorded = append(recorded, ask(cassette.With(t.Context(), "a"), t, r, s.URL, b))
	}
	other := ask(cassette.With(t.Context(), "b"), t, r, s.URL, "hello")
	ask(t.Context(), t, r, s.URL, "of no instance")
	s.Close()
	p := player(dir)
	for i, b := range bodies {
		compare(t, b, ask(cassette.With(t.Context(), "a"), t, p, "http://nowhere.invalid", b), recorded[i])
	}
	compare(t, "another instance", ask(cassette.With(t.Context(), "b"), t, p, "http://nowhere.invalid", "hello"), other)
}

func compare(t *testing.T, name string, played, recorded got) {
	t.Helper()
	if played.status != recorded.status || played.body != recorded.body || (played.err == nil) != (recorded.err == nil) {
		t.Errorf("%s: got %+v, want %+v", name, played, recorded)
	}
	for _, header := range []string{"Content-Type", "Retry-After", "X-Ratelimit-Limit-Requests", "Date"} {
		if played.headers.Get(header) != recorded.headers.Get(header) {
			t.Errorf("%s: %s is %q, want %q", name, header, played.headers.Get(header), recorded.headers.Get(header))
		}
	}
	for _, kind := range []error{io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(played.err, kind) != errors.Is(recorded.err, kind) {
			t.Errorf("%s: got %v, want %v", name, played.err, recorded.err)
		}
	}
}

func TestARecordingHasNoSecrets(t *testing.T) {
	s, dir := server(t), t.TempDir()
	ask(cassette.With(t.Context(), "a"), t, recorder(t, dir), s.URL, `{"text":"the key is `+secret+`"}`)
	ask(cassette.With(t.Context(), "a"), t, recorder(t, dir), s.URL, "moved")
	text := recording(t, files(dir)("a"))
	if text == "" {
		t.Fatal("nothing is recorded")
	}
	for _, hidden := range []string{secret, "org-of-mine", "Bearer"} {
		if strings.Contains(text, hidden) {
			t.Errorf("%q is in the recording: %s", hidden, text)
		}
	}
	played := ask(cassette.With(t.Context(), "a"), t, player(dir), "http://nowhere.invalid", `{"text":"the key is `+secret+`"}`)
	if played.status != 200 || !strings.Contains(played.body, mask.Hidden) {
		t.Errorf("got %+v, want an answer with the key hidden", played)
	}
}

// The masker of a recorder does not know the keys that come with turns.
func TestARecordingDoesNotHaveTheKeyOfATurn(t *testing.T) {
	const key = "sk-of-a-turn-0123456789fedcba"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"error":"wrong key `+key+`"}`)
	}))
	defer s.Close()
	dir := t.TempDir()
	ctx := authority.With(cassette.With(t.Context(), "a"), &authority.Authority{ModelKey: key})
	if heard := ask(ctx, t, recorder(t, dir), s.URL, `{"said":"`+key+`"}`); !strings.Contains(heard.body, key) {
		t.Errorf("the caller got %q, want the answer as it was", heard.body)
	}
	if text := recording(t, files(dir)("a")); strings.Contains(text, key) || !strings.Contains(text, "wrong key "+mask.Hidden) {
		t.Errorf("recorded %s, want the exchange without the key", text)
	}
}

func TestWhatAPatternHidesInAnAnswerLeavesJSON(t *testing.T) {
	const stream = "event: x\ndata: {\"a\":\"corp-1 %[1]s\",\"b\":1}\r\n\r\ndata:{\"a\":\"corp-2\",\"b\":2}\n\n: corp-3 %[1]s\ndata: [DONE]\n"
	for body, want := range map[string]string{
		`{"a":"corp-1","b":[{"a":"x corp-2 y"}]}`: `{"a":"********","b":[{"a":"x ********"}]}`,
		"the page corp-1, " + secret + "\n":       "the page ********\n",
		fmt.Sprintf(stream, secret): "event: x\ndata: {\"a\":\"********\",\"b\":1}\r\n\r\ndata:{\"a\":\"********\",\"b\":2}\n\n" +
			": ********\ndata: [DONE]\n",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		dir, in := t.TempDir(), cassette.With(t.Context(), "a")
		r := recorder(t, dir)
		r.Mask.AddPatterns(regexp.MustCompile(`corp-.*`))
		ask(in, t, r, s.URL, "one")
		s.Close()
		if played := ask(in, t, player(dir), "http://nowhere.invalid", "one"); played.body != want {
			t.Errorf("got %q, want %q", played.body, want)
		}
	}
}

// A model writes a key that it has read in as many events as it likes.
func TestASecretInPiecesIsHidden(t *testing.T) {
	const stream = `data: {"choices":[{"index":0,"delta":{"content":"it is sk-0123"}}],"n":12345678901234567890}

data: {"choices":[{"index":0,"delta":{"content":"456789a"}},{"index":1,"delta":{"content":"<other>"}}]}

data: {"choices":[{"index":0,"delta":{"content":"bcdef, yes"}}]}

data: [DONE]

`
	const want = `data: {"choices":[{"delta":{"content":"it is ********, yes"},"index":0}],"n":12345678901234567890}

data: {"choices":[{"delta":{"content":""},"index":0},{"delta":{"content":"<other>"},"index":1}]}

data: {"choices":[{"delta":{"content":""},"index":0}]}

data: [DONE]

`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, stream) }))
	defer s.Close()
	dir, in := t.TempDir(), cassette.With(t.Context(), "a")
	ask(in, t, recorder(t, dir), s.URL, "one")
	if played := ask(in, t, player(dir), "http://nowhere.invalid", "one"); played.body != want {
		t.Errorf("got %s, want %s", played.body, want)
	}
}

// The events of a stream may not say to which text a piece belongs, and the last one may be truncated.
func TestASecretInUnusualPiecesIsHidden(t *testing.T) {
	const half = 7
	for name, stream := range map[string]string{
		"only the first piece has an index": `data: {"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]}` + "\n\n" +
			`data: {"tool_calls":[{"function":{"arguments":"%s"}}]}` + "\n\n",
		"the last event is cut": `data: {"text":"%s"}` + "\n\n" + `data: {"text":"%s`,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, stream, secret[:half], secret[half:])
		}))
		dir, in := t.TempDir(), cassette.With(t.Context(), "a")
		ask(in, t, recorder(t, dir), s.URL, "one")
		s.Close()
		if text := recording(t, files(dir)("a")); strings.Contains(text, secret[half:]) {
			t.Errorf("%s: recorded %s", name, text)
		}
	}
}

// A run that was resumed sends the members of the model's messages in another order.
func TestTheOrderOfMembersDoesNotMatter(t *testing.T) {
	s, dir := server(t), t.TempDir()
	in := cassette.With(t.Context(), "a")
	recorded := ask(in, t, recorder(t, dir), s.URL, `{"messages":[{"content":"x","role":"assistant","n":12345678901234567890}]}`)
	compare(t, "sorted", ask(in, t, player(dir), "http://nowhere.invalid", `{"messages":[{"role":"assistant", "n":12345678901234567890,"content":"x"}]}`), recorded)
	other := ask(in, t, player(dir), "http://nowhere.invalid", `{"messages":[{"role":"assistant","n":12345678901234567891,"content":"x"}]}`)
	if fault.KindOf(other.err) != fault.Instance {
		t.Errorf("another number: got %+v, want an instance fault", other)
	}
}

// Opening a pipe waits for its other end.
func TestAPipeIsNoRecording(t *testing.T) {
	s, dir := server(t), t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "a"), 0o755), syscall.Mkfifo(files(dir)("a"), 0o600)); err != nil {
		t.Fatal(err)
	}
	in := cassette.With(t.Context(), "a")
	r, failed := recorder(t, dir), 0
	r.Failed = func(string, error) { failed++ }
	if heard := ask(in, t, r, s.URL, "one"); heard.err != nil || failed != 1 {
		t.Errorf("got %+v, and %d recording failures; want the answer, and 1 failure", heard, failed)
	}
	if played := ask(in, t, player(dir), "http://nowhere.invalid", "one"); played.err == nil || !strings.Contains(played.err.Error(), "named pipe") {
		t.Errorf("got %+v, want an error that names the pipe", played)
	}
}

// Some providers have the model in the path alone.
func TestAnotherModelIsAnotherRequest(t *testing.T) {
	s, dir := server(t), t.TempDir()
	in := cassette.With(t.Context(), "a")
	recorded := ask(in, t, recorder(t, dir), s.URL+"/models/m:generate", "go")
	played := ask(in, t, player(dir), "http://nowhere.invalid/models/n:generate", "go")
	if fault.KindOf(played.err) != fault.Instance || !strings.Contains(played.err.Error(), "it asks for n:generate/v1/") {
		t.Errorf("got %+v, want an instance fault with both models", played)
	}
	compare(t, "the same model below another address", ask(in, t, player(dir), "http://nowhere.invalid/base/models/m:generate", "go"), recorded)
}

// recording returns the output of zcat for a recording.
func recording(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A person reads each request whole.
func TestALineHasAWholeExchange(t *testing.T) {
	s, dir := server(t), t.TempDir()
	r := recorder(t, dir)
	for _, body := range []string{"one", "one, two", "one, two, three"} {
		ask(cassette.With(t.Context(), "a"), t, r, s.URL, body)
	}
	lines := strings.Split(strings.TrimSuffix(recording(t, files(dir)("a")), "\n"), "\n")
	if len(lines) != 3 || !strings.Contains(lines[2], `"body":"one, two, three"`) {
		t.Errorf("got %q, want three whole exchanges", lines)
	}
}

// After a crash, the recording is continued by another process.
func TestARecordingIsContinuedAfterACrash(t *testing.T) {
	s, dir := server(t), t.TempDir()
	in := cassette.With(t.Context(), "a")
	ask(in, t, recorder(t, dir), s.URL, "one")
	ask(in, t, recorder(t, dir), s.URL, "one, two")
	file := files(dir)("a")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	torn := [][]byte{make([]byte, 700)} // zeros, as after a power failure
	for n := range len(whole) / 3 {     // of the first exchange, once more
		torn = append(torn, whole[:n])
	}
	for _, end := range torn {
		if err := os.WriteFile(file, append(whole[:len(whole):len(whole)], end...), 0o600); err != nil {
			t.Fatal(err)
		}
		if played := ask(in, t, player(dir), "http://nowhere.invalid", "one, two"); played.status != 200 {
			t.Fatalf("with %d bytes of an exchange that is not finished: %+v, %v", len(end), played, played.err)
		}
	}
	ask(in, t, recorder(t, dir), s.URL, "one, two, three")
	p := player(dir)
	for _, b := range []string{"one", "one, two", "one, two, three"} {
		if played := ask(in, t, p, "http://nowhere.invalid", b); played.body != `{"said":"`+b+`"}` {
			t.Errorf("%s: got %+v", b, played)
		}
	}
}

// A conversation continues from the last answer to a request, after the failures before it.
func TestARequestThatWasMadeAgainGetsItsLastAnswer(t *testing.T) {
	dir, n := t.TempDir(), 0
	statuses := []int{200, 503, 200, 200}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(statuses[n])
		n++
		_, _ = fmt.Fprint(w, n)
	}))
	defer s.Close()
	in := cassette.With(t.Context(), "a")
	for _, body := range []string{"1", "1, 2", "1, 2", "1, 2"} { // the second answer to the last is another process's
		ask(in, t, recorder(t, dir), s.URL, body)
	}
	p := player(dir)
	for i, want := range []string{"1", "2", "4"} {
		if played := ask(in, t, p, "http://nowhere.invalid", []string{"1", "1, 2", "1, 2"}[i]); played.body != want {
			t.Errorf("request %d: got %+v, want %s", i+1, played, want)
		}
	}
}

func TestAChangedRequestIsReported(t *testing.T) {
	s, dir := server(t), t.TempDir()
	in := cassette.With(t.Context(), "a")
	r := recorder(t, dir)
	const first = `{"model":"m","messages":[{"role":"user","content":"go"}]}`
	second := func(seconds string) string {
		return `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"user","content":"passed in ` + seconds + ` s"}]}`
	}
	ask(in, t, r, s.URL, first)
	recorded := ask(in, t, r, s.URL, second("0.1"))
	for body, want := range map[string]string{
		second("0.2"):                    `request 2 differs from the recorded one: message 2, at`,
		second(strings.Repeat("9", 300)): `in 9999`,
		`{"model":"m","messages":[{"role":"user","content":"go"}]}` + " ":                                             "it has 1 messages, recorded are 2",
		`{"model":"n","messages":[{"role":"user","content":"go"},{"role":"user","content":"x"}]}`:                     "message 2",
		`{"model":"m","n":1,"messages":[{"role":"user","content":"go"},{"role":"user","content":"passed in 0.1 s"}]}`: "n is `1`, recorded is nothing",
		`no JSON`: "at ",
	} {
		p := player(dir)
		ask(in, t, p, "http://nowhere.invalid", first)
		played := ask(in, t, p, "http://nowhere.invalid", body)
		if played.err == nil || fault.KindOf(played.err) != fault.Instance || !strings.Contains(played.err.Error(), want) {
			t.Errorf("%s: got %v, want an instance fault with %q", body, played.err, want)
		}
	}
	changed := map[string]int{}
	p := player(dir)
	p.Changed = func(instance, _ string) { changed[instance]++ }
	ask(in, t, p, "http://nowhere.invalid", first)
	compare(t, "changed", ask(in, t, p, "http://nowhere.invalid", second("0.3")), recorded)
	if end := ask(in, t, p, "http://nowhere.invalid", "more"); !strings.Contains(fmt.Sprint(end.err), "ends here, after exchange 2") {
		t.Errorf("got %v, want an error for the end of the recording", end.err)
	}
	if !maps.Equal(changed, map[string]int{"a": 1}) {
		t.Errorf("reported %v, want one difference", changed)
	}
	none := ask(cassette.With(t.Context(), "c"), t, p, "http://nowhere.invalid", first)
	if none.err == nil || !strings.Contains(none.err.Error(), "no recording of c") {
		t.Errorf("got %v, want an error for the missing recording", none.err)
	}
}

func TestARequestThatWasGivenUpIsNotRecorded(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(cassette.With(t.Context(), "a"))
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		cancel()
		<-r.Context().Done()
	}))
	defer s.Close()
	if asked := ask(ctx, t, recorder(t, dir), s.URL, "one"); !errors.Is(asked.err, context.Canceled) {
		t.Errorf("got %+v, want a cancellation", asked)
	}
	if _, err := os.Stat(files(dir)("a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no recording", err)
	}
	s = server(t)
	ctx, cancel = context.WithCancel(cassette.With(t.Context(), "a"))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("in the middle of its answer"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := recorder(t, dir).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	answer.Body.Close()
	if _, err := os.Stat(files(dir)("a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no recording", err)
	}
}

func TestABrokenRecordingIsRefused(t *testing.T) {
	wrong, header := strings.Repeat("\x00", 12)+"x", strings.Repeat(`"",`, 400_000)
	for _, content := range []string{"a text that is no archive", wrong, zipped("x\n"), zipped(`{"version":1}`), zipped(`{"version":2}`) + wrong, bomb(), zipped(`{"version":2,"request":{"headers":{"a":[` + header + `""]}}}`)} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files(dir)("a"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		played := ask(cassette.With(t.Context(), "a"), t, player(dir), "http://nowhere.invalid", "one")
		if played.err == nil || fault.KindOf(played.err) != fault.Usage || !strings.Contains(played.err.Error(), "http.jsonl.gz, exchange ") {
			t.Errorf("%.40q: got %v, want a usage fault with the exchange", content, played.err)
		}
	}
}

func zipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text) // neither fails
	_ = w.Close()
	return b.String()
}

// bomb returns 130 KB that decompress to 130 MB.
func bomb() string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	block := make([]byte, 1<<20)
	for range 130 {
		_, _ = w.Write(block) // neither fails
	}
	_ = w.Close()
	return b.String()
}

// FuzzRecording plays any file: each failure is a fault, and none is a panic.
func FuzzRecording(f *testing.F) {
	line := zipped(`{"version":2,"path":"/v1","request":{"body":"one"},"status":200,"answer":{"body":"x"}}`)
	f.Add(line, "one")
	f.Add(line+zipped(`{"version":2,"request":{"bytes":"/w=="},"failure":{"text":"cut","kind":"cut"}}`), "two")
	f.Add(line[:len(line)-3], "")
	f.Fuzz(func(t *testing.T, recording, body string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, cassette.FileName), []byte(recording), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, changed := range []func(string, string){nil, func(string, string) {}} {
			p := &cassette.Player{Path: func(string) string { return filepath.Join(dir, cassette.FileName) }, Changed: changed}
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/v1", strings.NewReader(body))
			answer, err := p.RoundTrip(req)
			if err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
			}
		}
	})
}
