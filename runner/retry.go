package runner

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/vocab"
)

// Retries says how often a job is retried after an attempt that ended in a certain way. The
// keys are exit statuses, fault kinds and outcomes; if several apply, the first in this
// order is used. The retries for each key are counted separately.
type Retries map[string]int

// DefaultRetries retries transient faults, and attempts with a diverged replay.
func DefaultRetries() Retries {
	return Retries{fault.Transient.String(): 2, string(vocab.OutcomeDiverged): 3}
}

// Endings returns the names that --retry accepts: not a submitted patch, not a fault that
// stops the whole run, and not an interruption, which is always continued.
func Endings() []string {
	return []string{
		fault.Transient.String(), fault.Instance.String(), fault.Unknown.String(), fault.Bug.String(), fault.Expired.String(),
		string(vocab.OutcomeEmpty), string(vocab.OutcomeLimit), string(vocab.OutcomeFormat), string(vocab.OutcomeFailed),
		string(vocab.OutcomeDiverged), string(vocab.OutcomeInfrastructure),
		string(vocab.StatusLimitsExceeded), string(vocab.StatusTimeExceeded), string(vocab.StatusRepeatedFormatError),
		string(vocab.StatusContextWindowExceeded), string(vocab.StatusContentPolicyViolation), string(vocab.StatusEnvironmentDestroyed),
		string(vocab.StatusAnswered), string(vocab.StatusInputRequired),
		string(vocab.StatusTransientFault), string(vocab.StatusInstanceFault), string(vocab.StatusUnknownFault), string(vocab.StatusExpiredFault),
	}
}

// ParseRetries returns the default retries changed by specs, which have the form KIND=N.
// Errors are Usage faults.
func ParseRetries(specs []string) (Retries, error) {
	r, endings := DefaultRetries(), Endings()
	for _, spec := range specs {
		kind, count, _ := strings.Cut(spec, "=")
		kind = strings.TrimSpace(kind)
		n, err := strconv.Atoi(strings.TrimSpace(count))
		if err != nil || n < 0 {
			return nil, fault.Newf(fault.Usage, "--retry %q: expected KIND=N, such as transient=2", spec)
		}
		i := slices.IndexFunc(endings, func(name string) bool { return strings.EqualFold(name, kind) })
		if i < 0 {
			return nil, fault.Newf(fault.Usage, "--retry %s: unknown ending %s", spec, kind).
				WithHint("%s", near.Hint(near.Name(kind, endings), "expected one of "+strings.Join(endings, ", ")))
		}
		r[endings[i]] = n
	}
	return r, nil
}

// key returns the name under which an ending's retries are counted, and their
// limit.
func (r Retries) key(e Ending) (name string, most int) {
	for _, name := range []string{string(e.Status), e.Blame, string(e.Outcome)} {
		if n, ok := r[name]; ok && name != "" {
			return name, n
		}
	}
	return "", 0
}

// String lists the retries in the order of their names, as --retry takes them.
func (r Retries) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		list = append(list, name+"="+strconv.Itoa(r[name]))
	}
	return strings.Join(list, ",")
}

// Ending is how an attempt ended. Fields that are not known are empty.
type Ending struct {
	// The keys of [Retries] that apply. Blame is the kind of a fault: the next attempt waits
	// only after a fault. The Outcome says whether the job is finished: it is if the outcome is
	// final, a later run continues it if it is pending, and otherwise it has failed.
	Status  vocab.Status
	Blame   string
	Outcome vocab.Outcome

	Result string // of other work than an attempt: a verdict, how a choice was made
	Error  string
	Steps  int     // model calls
	Cost   float64 // US dollars
}

// EndingOf returns the ending of an attempt that returned err. Nil means that it has a
// result, which is submitted.
func EndingOf(err error) Ending {
	switch kind := fault.KindOf(err); {
	case err == nil:
		return Ending{Outcome: vocab.OutcomeSubmitted}
	case errors.Is(err, ErrBudget):
		return Ending{Outcome: vocab.OutcomePending, Status: vocab.StatusBudgetExceeded, Error: err.Error()}
	case fault.Canceled(err):
		return Ending{Outcome: vocab.OutcomePending, Status: vocab.StatusInterrupted} // the error would add nothing
	default:
		e := Ending{Outcome: vocab.OutcomeInfrastructure, Status: kind.Status(), Blame: kind.String(), Error: err.Error()}
		if hint := fault.HintOf(err); hint != "" {
			e.Error = fmt.Sprintf("%s (%s)", e.Error, hint)
		}
		return e
	}
}
