package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/grade"
	"batch.example/batch/vocab"
)

// Step is the next step towards a verdict: another run, or the result.
type Step struct {
	// Run requests one more run in another fresh container, with [Job.Without] set to Without. Again
	// says that it repeats an earlier run, whose log must not be used for it.
	Run     bool
	Again   bool
	Without []string
	// Resolved, Suspicious and Note are the result, if Run is false.
	Resolved   bool
	Why        string // if a decider is the reason for not resolving
	Suspicious []string
	Note       string // why it is not known what the deciders do
}

// Decide returns the next step after the judgements so far. The first judges the whole patch; each
// further one judges the run that the previous Step requested. It is the zero Judgement if that run
// has none. A run that failed because of infrastructure does not count: it is repeated.
//
// Deciders are the reason for a result if FAIL_TO_PASS fails without them and passes with them, and
// does so twice: tests can fail by chance. A run without them that does not end says nothing. A
// patch that needs a decider of TierRunner does not resolve the instance, since only what the tests
// report has changed. If it needs a decider of TierProject, it resolves the instance, as in the
// official harness, but is suspicious.
func Decide(deciders []Decider, judged ...grade.Judgement) Step {
	first, later := judged[0], judged[1:]
	done := Step{Resolved: first.Resolved, Suspicious: slices.Clone(first.Suspicious)}
	if !first.Resolved || len(deciders) == 0 {
		return done
	}
	runner, project := ofTier(deciders, TierRunner), ofTier(deciders, TierProject)
	all, both := slices.Concat(runner, project), len(runner) > 0 && len(project) > 0
	runs := []Step{{Without: all}}
	if both {
		runs = append(runs, Step{Without: runner})
	}
	reason, repeated := project, all
	ofRunner := len(project) == 0 || both && len(later) > 1 && !passes(later[1])
	if ofRunner {
		reason, repeated = runner, runner
	}
	runs = append(runs, Step{Without: repeated, Again: true}, Step{Again: true})
	for i, run := range runs {
		if i == len(later) {
			run.Run = true
			return run
		}
		if later[i].Verdict == vocab.VerdictTimedOut {
			done.Note = fmt.Sprintf("whether it is resolved without %s of the patch is not known: the tests did not end in time", list(reason))
			return done
		}
		// The second run of both tiers only tells which of them is the reason.
		if with := len(run.Without) == 0; passes(later[i]) != with && !(both && i == 1) {
			return done
		}
	}
	done.Suspicious = append(done.Suspicious, "resolved only with "+list(reason)+" of the patch")
	if ofRunner {
		done.Resolved = false
		done.Why = fmt.Sprintf("resolved only with %s of the patch, which decides what tests report", list(reason))
	}
	return done
}

// passes reports whether FAIL_TO_PASS passes. Other tests may fail by chance.
func passes(j grade.Judgement) bool {
	t := j.Tests.FailToPass
	return j.Resolved || len(t.Success) > 0 && len(t.Failure) == 0
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
