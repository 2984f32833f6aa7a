package docker_test

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

// engineAnswer is an error status that an engine would answer with.
type engineAnswer int

func (s engineAnswer) Error() string   { return fmt.Sprintf("made to fail by %d", int(s)) }
func (s engineAnswer) StatusCode() int { return int(s) }

// asked is an engine whose calls are recorded, and fail where fail returns an error.
type asked struct {
	mu    sync.Mutex
	calls []string
	fail  map[string]error
}

func (a *asked) before(call string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
	return a.fail[call]
}

func (a *asked) noted() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

func (a *asked) connect(t *testing.T) (*docker.Engine, error) {
	t.Helper()
	connect(t).Close() //nolint:errcheck // only to skip without an engine
	c := docker.FromEnv(os.Getenv, t.TempDir())
	c.Before = a.before
	e, err := docker.Connect(t.Context(), c)
	if err == nil {
		t.Cleanup(func() { _ = e.Close() })
	}
	return e, err
}

func TestBeforeIsCalledForEveryCall(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	a := &asked{}
	e, err := a.connect(t)
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, e, engine.Spec{})
	if _, err := c.Run(t.Context(), containers.Command{Args: []string{"bash", "-c"}, Script: "true", Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"ping", "create", "start", "inspect", "attach", "remove"} {
		if calls := a.noted(); !slices.Contains(calls, call) {
			t.Errorf("got no %s among the calls %q", call, calls)
		}
	}
}

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
	} {
		t.Run(fmt.Sprint(c.call, " ", c.err), func(t *testing.T) {
			run := fmt.Sprintf("before-%d", time.Now().UnixNano())
			a := &asked{fail: map[string]error{c.call: c.err}}
			e, err := a.connect(t)
			if err == nil {
				_, err = e.Create(t.Context(), engine.Spec{
					Image: testImage(t), Unattended: 5 * time.Minute, Labels: map[string]string{engine.LabelRun: run},
				})
			}
			if fault.KindOf(err) != c.want {
				t.Errorf("%v (%v), want %v", err, fault.KindOf(err), c.want)
			}
			owned, err := connect(t).Owned(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(owned, func(s engine.Owned) bool { return s.Run == run }) {
				t.Error("a container is left after the failed create")
			}
		})
	}
}
