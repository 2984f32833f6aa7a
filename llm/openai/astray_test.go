package openai_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm/endpoint"
)

// patient allows more tries than a wrong address would get.
func patient(c *endpoint.Config) {
	c.Retry = fast
	c.Retry.Tries = 6
}

func TestAWrongAddressFailsAfterFewTries(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>welcome</title>"))
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(page))
	defer elsewhere.Close()
	for _, c := range []struct {
		name  string
		serve http.HandlerFunc
		asked int64
		want  string // in the error's text or hint
	}{
		{"a web page", page, 3, "/v1"},
		{"JSON of another kind", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"status":"ok"}`))
		}, 3, "no choices"},
		{"a redirect to another origin", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}, 1, "redirects"},
		{"a redirect that loses the body", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/login" {
				page(w, r)
				return
			}
			http.Redirect(w, r, "/login", http.StatusFound)
		}, 2, "redirects"},
		{"a redirect without an address", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMovedPermanently) }, 1, "301"},
		{"nothing modified", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, 1, "304"},
		{"a redirect in a circle", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusPermanentRedirect)
		}, 10, "in a circle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				c.serve(w, r)
			}))
			defer s.Close()
			cfg := endpoint.Config{Model: "m", BaseURL: s.URL, APIKey: planted}
			patient(&cfg)
			m := compose(t, cfg)
			_, err := m.Generate(t.Context(), ask())
			text := ""
			if err != nil {
				text = err.Error() + " " + fault.HintOf(err)
			}
			if fault.KindOf(err) != fault.Host || asked.Load() != c.asked ||
				!strings.Contains(text, c.want) || !strings.Contains(text, "OPENAI_BASE_URL, now "+s.URL) {
				t.Errorf("%q (%v) after %d requests, want a Host fault with %q after %d", text, fault.KindOf(err), asked.Load(), c.want, c.asked)
			}
		})
	}
}

func TestAServerThatNeverAnsweredFailsAfterFewTries(t *testing.T) {
	for _, answers := range []int{0, 1} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"ok"}}]}`))
		}))
		cfg := endpoint.Config{Model: "m", BaseURL: s.URL}
		patient(&cfg)
		var dials atomic.Int64
		cfg.HTTP = &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials.Add(1)
				return new(net.Dialer).DialContext(ctx, network, addr)
			},
		}}
		m := compose(t, cfg)
		for range answers {
			if _, err := m.Generate(t.Context(), ask()); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		dials.Store(0)
		_, err := m.Generate(t.Context(), ask())
		kind, want := fault.Host, int64(3)
		if answers > 0 {
			kind, want = fault.Transient, 6
		}
		if fault.KindOf(err) != kind || dials.Load() != want {
			t.Errorf("after %d answers: %v (%v) after %d dials, want %v after %d", answers, err, fault.KindOf(err), dials.Load(), kind, want)
		}
	}
}
