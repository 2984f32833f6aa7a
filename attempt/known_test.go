package attempt_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// bare is the part of a sandbox that most tests do not need: it knows nothing of its history and
// its shell, and starts no program.
type bare struct{}

func (bare) CheckShell(context.Context) ([]byte, error) { return nil, nil }
func (bare) ShareScrub(context.Context) bool            { return false }
func (bare) Launch(context.Context, string, sandbox.Launch) (vocab.Output, error) {
	panic("no program is launched here")
}
func (bare) Listen(context.Context) (net.Listener, error) { panic("nothing listens here") }
func (bare) Clear(context.Context) error                  { return nil }
func (bare) Scrubbed(boxgit.Report, time.Duration)        {}
func (bare) Stream(context.Context, sandbox.Program) (sandbox.Stream, error) {
	return nil, errors.ErrUnsupported
}

func (bare) Checked(_ context.Context, ask func() (vocab.Output, error)) (vocab.Output, error) {
	return ask()
}

// knowing is a sandbox that knows something of its history.
type knowing struct {
	*world
	known, shared bool // before the scrub; and after waiting for another container
	modes         []string
}

func (k *knowing) ShareScrub(context.Context) bool { return k.shared }

func (k *knowing) Script(_ context.Context, script string) (vocab.Output, error) {
	for _, mode := range []string{"keep", "known", "scrub"} {
		if strings.HasSuffix(script, " "+mode) {
			k.modes = append(k.modes, mode)
		}
	}
	return vocab.Output{Bytes: []byte("gitscrub: clean, 0 refs, 0 objects\n")}, nil
}

func (k *knowing) Facts() sandbox.Facts {
	return sandbox.Facts{Container: "c", Known: k.known}
}

func TestAKnownCleanHistoryIsNotScrubbed(t *testing.T) {
	for name, c := range map[string]struct {
		known, shared bool
		want          []string
	}{
		"nothing":                           {want: []string{"keep", "scrub"}},
		"that it is clean":                  {known: true, want: []string{"known"}},
		"that it is clean, found elsewhere": {shared: true, want: []string{"keep", "known"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := &knowing{world: &world{}, known: c.known, shared: c.shared}
				b := newBeside(t, func(sandbox.Opening) (attempt.Sandbox, error) { return box, nil }, bash("submit"))
				if _, err := b.solve(t.Context(), attempt.New(b.config), "a"); err != nil {
					t.Error(err)
				}
				if !slices.Equal(box.modes, c.want) {
					t.Errorf("%q, want %q", box.modes, c.want)
				}
				if err := b.store.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// stuck is a sandbox in which no script ends after the first action.
type stuck struct{ *world }

func (s stuck) Script(ctx context.Context, _ string) (vocab.Output, error) {
	if len(s.ran) == 0 {
		return vocab.Output{}, nil
	}
	<-ctx.Done()
	return vocab.Output{}, context.Cause(ctx)
}

func TestAnAgentThatReplacedGitDoesNotHoldItsWorker(t *testing.T) {
	for _, command := range []string{"do 1", "submit"} {
		t.Run(command, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBeside(t, func(sandbox.Opening) (attempt.Sandbox, error) { return stuck{&world{}}, nil }, bash(command))
				b.config.Loop, b.config.ScrubGitHistory, b.config.Salvage = newLoop(t, 1), false, true
				began := time.Now()
				_, err := b.solve(t.Context(), attempt.New(b.config), "a")
				if took := time.Since(began); took > 6*time.Minute {
					t.Errorf("it took %v (%v), want at most 6 minutes", took, err)
				}
				if err := b.store.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// loud is a sandbox with a shell that prints too much.
type loud struct{ *world }

func (loud) CheckShell(context.Context) ([]byte, error) {
	return nil, fault.Newf(fault.Instance, "the shell prints more")
}

// Only an attempt that ends by a submission needs to recognize one.
func TestAShellThatPrintsTooMuchIsAFaultWhereASubmissionIsNeeded(t *testing.T) {
	for _, needed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBeside(t, func(sandbox.Opening) (attempt.Sandbox, error) { return loud{&world{}}, nil }, scripted.Reply{Content: "Done."})
			b.config.ScrubGitHistory = false
			loop, err := agent.NewLoop(agent.Config{SystemTemplate: "s", InstanceTemplate: "{{task}}", FinishWithoutCalls: !needed, Limits: vocab.Limits{Steps: 1}})
			if err != nil {
				t.Fatal(err)
			}
			b.config.Loop = loop
			result, err := b.solve(t.Context(), attempt.New(b.config), "a")
			if refused := fault.KindOf(err) == fault.Instance && result.Record.Steps == 0; refused != needed || err != nil && !needed {
				t.Errorf("needed %v: %d steps, %v", needed, result.Record.Steps, err)
			}
			if err := b.store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
