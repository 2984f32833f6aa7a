package docker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

func TestEveryEngineCallHasATimeLimit(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	create := func(ctx context.Context, e *docker.Engine) error {
		_, err := e.Create(ctx, engine.Spec{Image: stubImage})
		return err
	}
	attached := func(do func(context.Context, *containers.Container) error) func(context.Context, *docker.Engine) error {
		return func(ctx context.Context, e *docker.Engine) error {
			c, err := e.Attach(ctx, stubBox)
			if err != nil {
				return err
			}
			return do(ctx, c)
		}
	}
	run := attached(func(ctx context.Context, c *containers.Container) error {
		_, err := c.Run(ctx, containers.Command{Script: "true"})
		return err
	})
	info := func(ctx context.Context, e *docker.Engine) error { _, err := e.About(ctx); return err }
	layers := func(ctx context.Context, e *docker.Engine) error { _, err := e.Layers(ctx, stubID, ""); return err }
	for _, tt := range []struct {
		call string
		do   func(context.Context, *docker.Engine) error
	}{
		{"POST /containers/create", create},
		{"POST /containers/*/start", create},
		{"GET /containers/*/json", create},
		{"POST /containers/*/attach", create},
		{"GET /networks", func(ctx context.Context, e *docker.Engine) error {
			_, err := e.Create(ctx, engine.Spec{Image: stubImage, Network: engine.Bridge})
			return err
		}},
		{"GET /containers/*/json", run},
		{"POST /containers/*/attach", run},
		{"DELETE /containers/*", attached(func(ctx context.Context, c *containers.Container) error { return c.Remove(ctx) })},
		{"DELETE /networks/*", func(ctx context.Context, e *docker.Engine) error { _, err := e.RemoveNetwork(ctx); return err }},
		{"GET /volumes/*", func(ctx context.Context, e *docker.Engine) error { _, err := e.Init.Mount(ctx, stubImage); return err }},
		{"GET /volumes", func(ctx context.Context, e *docker.Engine) error { _, err := e.Init.Remove(ctx); return err }},
		{"DELETE /volumes/*", func(ctx context.Context, e *docker.Engine) error { _, err := e.Init.Remove(ctx); return err }},
		{"GET /containers/json", func(ctx context.Context, e *docker.Engine) error { _, err := e.Owned(ctx); return err }},
		{"GET /containers/json", func(ctx context.Context, e *docker.Engine) error { _, err := e.UsedImages(ctx); return err }},
		{"GET /images/json", func(ctx context.Context, e *docker.Engine) error { _, err := e.Images(ctx); return err }},
		{"GET /images/*/json", func(ctx context.Context, e *docker.Engine) error {
			_, err := e.Ensure(ctx, stubImage, "", nil)
			return err
		}},
		{"GET /images/*/json", layers},
		{"GET /images/*/history", layers},
		{"DELETE /images/*", func(ctx context.Context, e *docker.Engine) error { return e.RemoveImage(ctx, stubImage) }},
		{"GET /info", info},
		{"GET /version", info},
	} {
		t.Run(tt.call, func(t *testing.T) {
			s := newEngineStub(t)
			e := s.connect(t, 100*time.Millisecond, func(c *docker.Config) { c.Patience = time.Millisecond })
			s.say(tt.call, s.hang)
			s.say("HEAD /_ping", s.hang)
			want := fault.Transient
			if tt.call == "DELETE /containers/*" { // which is repeated when the engine is back
				want = fault.Host
			}
			ctx := soon(t)
			err := tt.do(ctx, e)
			if ctx.Err() != nil || fault.KindOf(err) != want {
				t.Errorf("%v: %v; the test's own end: %v", fault.KindOf(err), err, ctx.Err())
			}
			if e.Ready(t.Context()) == nil {
				t.Error("calls do not wait for an engine that did not answer")
			}
		})
	}
}

// The body of an answer may hang as well as its header.
func TestAStalledAnswerEndsAtItsTimeLimit(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	e := s.connect(t, 100*time.Millisecond)
	s.say("GET /images/json", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`[{"Id":`))
		_ = http.NewResponseController(w).Flush()
		s.hang(w, r)
	})
	ctx := soon(t)
	_, err := e.Images(ctx)
	if ctx.Err() != nil || fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "did not answer within 100ms") {
		t.Errorf("got a fault of kind %v: %v, want error nil, a Transient fault with %q", fault.KindOf(err), err, "did not answer within 100ms")
	}
}

// An engine that answers without end must not fill the memory.
func TestAnAnswerHasALimit(t *testing.T) {
	t.Parallel()
	for call, do := range map[string]func(*docker.Engine) error{
		"GET /info":            func(e *docker.Engine) error { _, err := e.About(t.Context()); return err },
		"GET /containers/json": func(e *docker.Engine) error { _, err := e.Owned(t.Context()); return err },
	} {
		s := newEngineStub(t)
		e := s.connect(t, time.Minute)
		sent := 0
		s.say(call, func(w http.ResponseWriter, _ *http.Request) {
			text := bytes.Repeat([]byte("x"), 1<<20)
			for _, err := io.WriteString(w, `{"status":"`); err == nil && sent < 1<<30; sent++ {
				_, err = w.Write(text)
			}
		})
		if err := do(e); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
			t.Errorf("%s: %v after %d MiB", call, err, sent)
		}
	}
}

// A call that waited in the queue does not reach an engine that is known by then
// to hang.
func TestAQueuedCreateEndsAfterTheEngineWait(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	e := s.connect(t, 100*time.Millisecond, func(c *docker.Config) { c.Creates, c.Patience = 1, time.Millisecond })
	s.say("HEAD /_ping", s.hang)
	s.say("POST /containers/create", s.hang)
	errs := make(chan error, 2)
	for range cap(errs) {
		go func() {
			_, err := e.Create(soon(t), engine.Spec{Image: stubImage})
			errs <- err
		}()
	}
	kinds := map[fault.Kind]int{}
	for range cap(errs) {
		kinds[fault.KindOf(<-errs)]++
	}
	if kinds[fault.Transient] != 1 || kinds[fault.Host] != 1 {
		t.Errorf("the creates ended as %v", kinds)
	}
	if n := s.count("POST /containers/create") + s.count("POST /containers/*/start"); n != 1 {
		t.Errorf("the engine received %d creates", n)
	}
}

func TestACallersDeadlineIsNotReportedAsTheTimeLimit(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	why := errors.New("canceled by the test")
	for _, call := range []string{"GET /images/*/json", "POST /containers/*/start", "GET /images/json", "POST /containers/*/attach"} {
		t.Run(call, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(soon(t))
			s.say(call, func(w http.ResponseWriter, r *http.Request) {
				stop(why)
				s.hang(w, r)
			})
			defer s.say(call, nil)
			_, _, imageErr := e.Image(ctx, stubImage, "")
			_, createErr := e.Create(ctx, engine.Spec{Image: stubImage})
			_, listErr := e.Images(ctx)
			var runErr error
			if c, err := e.Attach(ctx, stubBox); err == nil {
				_, runErr = c.Run(ctx, containers.Command{Script: "true"})
			}
			for _, err := range []error{imageErr, createErr, listErr, runErr} {
				if err != nil && !fault.Canceled(err) && !errors.Is(err, why) || fault.KindOf(err) != fault.Unknown {
					t.Errorf("%v: %v", fault.KindOf(err), err)
				}
			}
			if err := e.Ready(t.Context()); err != nil || s.count("HEAD /_ping") > 2 {
				t.Errorf("a canceled call counts as a hanging engine: %v", err)
			}
		})
	}
}

// engineAnswer is an error status that an engine would answer with.
type engineAnswer int

func (s engineAnswer) Error() string   { return fmt.Sprintf("made to fail by %d", int(s)) }
func (s engineAnswer) StatusCode() int { return int(s) }

// failing has the calls that fail, and how.
type failing map[string]error

func (f failing) before(call string) error { return f[call] }

func TestAnInjectedFailureHasTheKindOfARealOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call string
		err  error
		want fault.Kind
	}{
		{"ping", syscall.ECONNREFUSED, fault.Host},
		{"create", engineAnswer(500), fault.Transient},
		{"create", engineAnswer(404), fault.Instance},
		{"create", syscall.ECONNRESET, fault.Transient},
		{"start", engineAnswer(500), fault.Transient},
		{"start", syscall.ECONNRESET, fault.Transient},
		{"attach", syscall.ECONNRESET, fault.Transient},
		{"inspect", engineAnswer(500), fault.Transient},
	} {
		t.Run(fmt.Sprint(c.call, " ", c.err), func(t *testing.T) {
			sound, image := connect(t), testImage(t)
			run := fmt.Sprintf("before-%d", time.Now().UnixNano())
			config := docker.FromEnv(os.Getenv, t.TempDir())
			config.Before = failing{c.call: c.err}.before
			e, err := docker.Connect(t.Context(), config)
			if err == nil {
				defer e.Close()
				_, err = e.Create(t.Context(), engine.Spec{
					Image: image, Unattended: 5 * time.Minute, Labels: map[string]string{engine.LabelRun: run},
				})
			}
			if fault.KindOf(err) != c.want {
				t.Errorf("%v (%v), want %v", err, fault.KindOf(err), c.want)
			}
			owned, err := sound.Owned(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(owned, func(s engine.Owned) bool { return s.Run == run }) {
				t.Error("a container is left after the failed create")
			}
		})
	}
}
