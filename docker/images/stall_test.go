package images_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
)

func TestAPullWithoutProgressEnds(t *testing.T) {
	tier.Rest(t)
	repeat := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(`{"status":"Downloading","id":"a","progressDetail":{"current":5,"total":10}}`))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, f := range map[string]http.HandlerFunc{
		"silent from the beginning": hang,
		"repeating itself":          repeat,
		"silent in the middle": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"status":"Pulling fs layer","id":"a"}`))
			_ = http.NewResponseController(w).Flush()
			hang(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/images/create"):
					f(w, r)
				case !strings.HasSuffix(r.URL.Path, "/_ping"):
					w.WriteHeader(http.StatusNotFound) // the image is not on the engine yet
				}
			}))
			defer s.Close()
			e, err := docker.Connect(t.Context(), docker.Config{Host: "tcp://" + s.Listener.Addr().String()})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			e.Stall(200 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err = e.Ensure(ctx, "stub.example/thing:1", "", nil)
			if ctx.Err() != nil || fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "no progress") || fault.HintOf(err) == "" {
				t.Errorf("got a fault of kind %v: %v, want error nil, a Transient fault with %q, a hint", fault.KindOf(err), err, "no progress")
			}
		})
	}
}
