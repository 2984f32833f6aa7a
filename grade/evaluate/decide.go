package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/grade"
)

// Step is the next step towards a verdict: another run, or the result.
type Step struct {
	// Without, if not empty, requests one more run in another fresh container, with [Job.Without]
	// set to it.
	Without []string
	// Resolved and Suspicious are the result, if Without is empty.
	Resolved   bool
	Why        string // if a decider is the reason for not resolving
	Suspicious []string
}

// Decide returns the next step after the judgements so far. The first judges the whole patch; each
// further one judges the run that the previous Step requested. It is the zero Judgement if that run
// has none, for example because it timed out. A run that failed because of infrastructure does not
// count: it is repeated.
//
// A patch that resolves its instance without its deciders also does so with them. If it needs a
// decider of TierRunner, it does not resolve the instance, since only what the tests report has
// changed. If it needs a decider of TierProject, it resolves the instance, as in the official
// harness, but is suspicious.
func Decide(deciders []Decider, judged ...grade.Judgement) Step {
	first := judged[0]
	done := Step{Resolved: first.Resolved, Suspicious: slices.Clone(first.Suspicious)}
	runner, project := ofTier(deciders, TierRunner), ofTier(deciders, TierProject)
	switch {
	case !first.Resolved || len(deciders) == 0:
		return done
	case len(judged) == 1:
		return Step{Without: slices.Concat(runner, project)}
	case judged[1].Resolved:
		return done
	case len(runner) > 0 && len(project) > 0 && len(judged) == 2:
		return Step{Without: runner}
	}
	if len(project) > 0 && (len(runner) == 0 || judged[2].Resolved) {
		done.Suspicious = append(done.Suspicious, "resolved only with "+list(project)+" of the patch")
		return done
	}
	done.Resolved = false
	done.Why = fmt.Sprintf("resolved only with %s of the patch, which decides what tests report", list(runner))
	done.Suspicious = append(done.Suspicious, "resolved only with "+list(runner)+" of the patch")
	return done
}

func ofTier(deciders []Decider, t Tier) []string {
	var paths []string
	for _, d := range deciders {
		if d.Tier == t {
			paths = append(paths, d.Path)
		}
	}
	return paths
}

// list formats paths for a person.
func list(paths []string) string {
	const most = 5
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more files", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}
