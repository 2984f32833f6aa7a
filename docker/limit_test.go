package docker_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
)

// soon ends what would hang for ever, so that the test fails and does not.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestEveryCallEndsAtItsLimit(t *testing.T) {
	create := func(ctx context.Context, e *docker.Engine) error {
		_, err := e.Create(ctx, containers.Spec{Image: stubImage})
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
	info := func(ctx context.Context, e *docker.Engine) error { _, err := e.Info(ctx); return err }
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
			_, err := e.Create(ctx, containers.Spec{Image: stubImage, Network: containers.NetworkBridge})
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
			if tt.call == "DELETE /containers/*" { // which is begun again when the engine is back
				want = fault.Host
			}
			ctx := soon(t)
			err := tt.do(ctx, e)
			if ctx.Err() != nil || fault.KindOf(err) != want {
				t.Errorf("%v: %v; the test's own end: %v", fault.KindOf(err), err, ctx.Err())
			}
			if e.Ready(t.Context()) == nil {
				t.Error("nobody waits for an engine that did not answer")
			}
		})
	}
}

// The body of an answer may hang as well as its head.
func TestAnAnswerThatStopsHalfWayEndsAtItsLimit(t *testing.T) {
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
		t.Errorf("%v: %v", fault.KindOf(err), err)
	}
}

func TestOneCallFindsOutThatTheEngineHangsAndTheOthersWait(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, 100*time.Millisecond)
	s.say("GET /images/*/json", s.hang)
	s.say("HEAD /_ping", s.hang)
	if _, _, err := e.Image(soon(t), stubImage, ""); fault.KindOf(err) != fault.Transient {
		t.Fatalf("%v: %v", fault.KindOf(err), err)
	}
	var others sync.WaitGroup
	for range 20 {
		others.Go(func() {
			if _, here, err := e.Image(soon(t), stubImage, ""); err != nil || !here {
				t.Errorf("%v, %v", here, err)
			}
		})
	}
	for s.count("HEAD /_ping") < 4 && t.Context().Err() == nil { // two were the connection's
		time.Sleep(time.Millisecond)
	}
	if n := s.count("GET /images/*/json"); n != 1 {
		t.Errorf("%d calls found out that the engine hangs", n)
	}
	s.resume()
	others.Wait()
}

// Whoever hangs up in the middle of an answer, for whatever reason, blames nobody.
func TestAnAnswerThatNobodyWaitsForIsNobodysFault(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, time.Minute)
	ctx, cancel := context.WithCancelCause(soon(t))
	s.say("GET /images/json", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`[{"Id":`))
		_ = http.NewResponseController(w).Flush()
		time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("told to stop")) })
		s.hang(w, r)
	})
	if _, err := e.Images(ctx); fault.KindOf(err) != fault.Unknown || !errors.Is(err, context.Canceled) {
		t.Errorf("%v: %v", fault.KindOf(err), err)
	}
}

// A create that got no answer may still make its container: it is looked for
// until it is there. One that is known to be none is looked for once.
func TestAContainerThatComesLateIsRemoved(t *testing.T) {
	for call, looks := range map[string]int{"POST /containers/create": 4, "POST /containers/*/start": 1} {
		t.Run(call, func(t *testing.T) {
			s := newEngineStub(t)
			e := s.connect(t, 100*time.Millisecond)
			s.say(call, s.hang)
			s.say("DELETE /containers/*", func(w http.ResponseWriter, r *http.Request) {
				if s.count("DELETE /containers/*") < 4 {
					answer(http.StatusNotFound, map[string]string{"message": "No such container"})(w, r)
					return
				}
				w.WriteHeader(http.StatusNoContent)
			})
			_, err := e.Create(soon(t), containers.Spec{Image: stubImage})
			if fault.KindOf(err) != fault.Transient {
				t.Errorf("%v: %v", fault.KindOf(err), err)
			}
			if n := s.count("DELETE /containers/*"); n != looks {
				t.Errorf("it is looked for %d times, want %d", n, looks)
			}
		})
	}
}

// Whoever waited for a turn does not ask an engine of which it is known by then
// that it hangs.
func TestACreateInTheQueueEndsWithThePatience(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, 100*time.Millisecond, func(c *docker.Config) { c.Lives, c.Patience = 1, time.Millisecond })
	s.say("HEAD /_ping", s.hang)
	s.say("POST /containers/create", s.hang)
	errs := make(chan error, 2)
	for range cap(errs) {
		go func() {
			_, err := e.Create(soon(t), containers.Spec{Image: stubImage})
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
		t.Errorf("the engine was asked %d times", n)
	}
}

// Those who wait for their turn have been let off before somebody found out.
func TestCreatesInTheQueueWaitForAnEngineThatHangs(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, 100*time.Millisecond, func(c *docker.Config) { c.Lives = 1 })
	s.say("HEAD /_ping", s.hang)
	began := make(chan struct{})
	s.say("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		<-began
		s.hang(w, r)
	})
	errs := make(chan error, 10)
	var all sync.WaitGroup
	for range cap(errs) {
		all.Go(func() {
			_, err := e.Create(soon(t), containers.Spec{Image: stubImage})
			errs <- err
		})
	}
	close(began)
	for s.count("HEAD /_ping") < 4 && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if n := s.count("POST /containers/create"); n != 1 {
		t.Errorf("%d calls found out that the engine hangs", n)
	}
	s.resume()
	all.Wait()
	close(errs)
	failed := 0
	for err := range errs {
		if err != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d creates failed, want the one that ran into the limit", failed)
	}
}

func TestACallersOwnEndIsNotTheLimits(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	why := errors.New("told to stop")
	for _, call := range []string{"GET /images/*/json", "POST /containers/*/start", "GET /images/json", "POST /containers/*/attach"} {
		t.Run(call, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(soon(t))
			s.say(call, func(w http.ResponseWriter, r *http.Request) {
				stop(why)
				s.hang(w, r)
			})
			defer s.say(call, nil)
			_, _, imageErr := e.Image(ctx, stubImage, "")
			_, createErr := e.Create(ctx, containers.Spec{Image: stubImage})
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
				t.Errorf("a caller that gave up passes for an engine that hangs: %v", err)
			}
		})
	}
}
