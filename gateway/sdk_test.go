package gateway

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/internal/tier"
	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// library is the program that asks through a provider's own library.
type library string

// newLibrary builds the program, whose module is not batch's.
func newLibrary(t *testing.T) library {
	t.Helper()
	tier.Rest(t, "e2e/sdk", "llm/stub")
	const folder = "../e2e/sdk"
	bin := filepath.Join(t.TempDir(), "sdk")
	env := append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	download := exec.CommandContext(t.Context(), "go", "mod", "download")
	download.Dir, download.Env = folder, env
	if out, err := download.CombinedOutput(); err != nil {
		t.Skipf("the providers' libraries are not here, and the Go module proxy is not reachable: %v: %s", err, out)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".")
	build.Dir, build.Env = folder, env
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v: %s", folder, err, out)
	}
	return library(bin)
}

// seen is what a library makes of an answer: see the program.
type seen struct {
	Text, Stop, Raw, Error string
	Calls                  []string
	Input, Output          int64
	Status                 int
}

// ask returns what the library sees at an address.
func (l library) ask(t *testing.T, p protocol, form, url, key string) (s seen, all string) {
	t.Helper()
	if p.key == "Authorization" {
		url += "/v1"
	}
	out, err := exec.CommandContext(t.Context(), string(l), p.wire, form, url, key, "1s").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatal(err)
	}
	return s, string(out)
}

// provide returns a provider that gives the answers in order, and then the last one.
func provide(t *testing.T, answers ...stub.Answer) *stub.Handler {
	return &stub.Handler{
		Next:    func(n int, _ *stub.Request) stub.Answer { return answers[min(n, len(answers))-1] },
		Illegal: func(err error) { t.Errorf("illegal request: %v", err) },
	}
}

// The providers' libraries see the same at a gateway as at the provider.
func TestLibrariesSeeWhatTheProviderSends(t *testing.T) {
	l := newLibrary(t)
	answer := stub.Answer{
		Parts: []llm.Part{llm.Reasoning{Text: "I look."}, llm.Text{Text: strings.Repeat("Let me see. ", 20)}, stub.BashCall("", "ls")},
		Usage: vocab.Usage{Input: 30, Output: 20},
	}
	slow := answer
	slow.Delay = 300 * time.Millisecond
	for name, answers := range map[string][]stub.Answer{
		"an answer": {answer}, "one after a while": {slow}, "a refusal": {stub.TooLong()}, "a failure before": {stub.Status(500), answer},
	} {
		for wire, p := range protocols {
			if wire == "gemini" {
				continue // its library cannot be had
			}
			for _, form := range []string{"stream", "whole"} {
				t.Run(name+"/"+wire+"/"+form, func(t *testing.T) {
					direct := httptest.NewServer(provide(t, answers...))
					defer direct.Close()
					want, wanted := l.ask(t, p, form, direct.URL, "k")
					w := start(t, p, provide(t, answers...).ServeHTTP)
					w.change(func() {
						w.patience, w.aliveEvery = 10*time.Millisecond, 10*time.Millisecond
						if name != "one after a while" {
							w.patience = time.Minute
						}
					})
					got, text := l.ask(t, p, form, w.url, token)
					if text != wanted {
						t.Errorf("at the gateway\n%s\nat the provider\n%s", text, wanted)
					}
					if failed := answers[len(answers)-1].Status != 0; failed && (got.Status != 400 || want.Error == "") || !failed && (got.Output != 20 && form == "whole" || len(got.Calls) != 1) {
						t.Errorf("the library saw %+v", got)
					}
				})
			}
		}
	}
}

// A library that gives up waiting asks again, which is paid once.
func TestALibraryThatAsksAgainPaysOnce(t *testing.T) {
	l := newLibrary(t)
	for _, wire := range []string{"messages", "chat", "responses"} {
		for _, form := range []string{"stream", "whole"} {
			t.Run(wire+"/"+form, func(t *testing.T) {
				t.Parallel()
				p := protocols[wire]
				slow := stub.Text("There are two files.")
				slow.Delay = 3 * time.Second
				provider := provide(t, slow)
				w := start(t, p, provider.ServeHTTP)
				got, _ := l.ask(t, p, form, w.url, token)
				if got.Text != "There are two files." || provider.Counts().Accepted != 1 {
					t.Errorf("the library saw %+v after %d requests to the provider", got, provider.Counts().Accepted)
				}
			})
		}
	}
}

// A refusal that comes after a stream has begun ends the request, in the provider's words.
func TestALibraryReadsALateRefusal(t *testing.T) {
	l := newLibrary(t)
	for wire, words := range map[string]string{"messages": "prompt is too long", "chat": "maximum context length", "responses": "context_length_exceeded"} {
		t.Run(wire, func(t *testing.T) {
			late := stub.TooLong()
			late.Delay = 300 * time.Millisecond
			provider := provide(t, late)
			w := start(t, protocols[wire], provider.ServeHTTP)
			w.change(func() { w.patience = 10 * time.Millisecond })
			got, _ := l.ask(t, protocols[wire], "stream", w.url, token)
			if !strings.Contains(got.Error, words) || provider.Counts().Accepted != 1 {
				t.Errorf("the library saw %+v after %d requests", got, provider.Counts().Accepted)
			}
		})
	}
}
