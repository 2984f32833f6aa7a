package verifier

import (
	"context"
	"time"

	"batch.example/batch/dataset/harbor"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
)

// Settings are what a user says about tasks; the zero value works.
type Settings struct {
	// Host returns a variable of this machine, and whether tasks may read it. Nil: they read none.
	Host   func(name string) (value string, allowed bool)
	Factor float64      // of all time limits of tasks; 0: 1
	Mask   *mask.Masker // hides secrets in what a verifier printed; nil hides none
}

// Times returns a time limit of a task, multiplied.
func (s Settings) Times(limit time.Duration) time.Duration {
	if s.Factor == 0 {
		return limit
	}
	return time.Duration(float64(limit) * s.Factor)
}

func (s Settings) resolve(env map[string]string) (list, missing []string) {
	host := s.Host
	if host == nil {
		host = func(string) (string, bool) { return "", false }
	}
	return harbor.Resolve(env, host)
}

// Check returns a Usage fault if the task reads a variable of this machine that it may not read, or
// that is not set.
func (s Settings) Check(t *harbor.Task) error {
	var own map[string]string
	if t.Separate != nil {
		own = t.Separate.Env
	}
	for _, table := range []struct {
		name string
		env  map[string]string
	}{{"environment.env", t.Env}, {"verifier.environment.env", own}, {"verifier.env", t.VerifierEnv}, {"solution.env", t.SolutionEnv}} {
		if _, missing := s.resolve(table.env); len(missing) > 0 {
			return fault.Newf(fault.Usage, "%s/%s: %s reads ${%s} of this machine", t.Dir, harbor.File, table.name, missing[0]).
				WithHint("--task-env %s lets tasks read the variable, which must be set; they may do with it what they like", missing[0])
		}
	}
	return nil
}

// Verify runs the verifier of a task over what an agent has left in a box. Open is called if the verifier
// has an environment of its own.
func (s Settings) Verify(ctx context.Context, b Box, t *harbor.Task, open Open) (*Verdict, error) {
	env, _ := s.resolve(t.VerifierEnv)
	v, err := Run(ctx, b, Job{Task: t, Open: open, Env: env, Limit: s.Times(t.VerifierLimit)})
	if v != nil {
		v.Output = s.Mask.Bytes(v.Output)
	}
	return v, err
}

// Solve runs the solution of a task in a box: see the function [Solve].
func (s Settings) Solve(ctx context.Context, b Box, t *harbor.Task) error {
	env, _ := s.resolve(t.SolutionEnv)
	return Solve(ctx, b, t, env, s.Times(t.AgentLimit))
}
