package submission

import (
	"fmt"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
)

// Findings is the result of a check.
type Findings struct {
	Violations []string // broken rules, each with what to do about it
	Notes      []string // what the submitter has to know, without effect on submitting
}

func (f *Findings) violation(format string, args ...any) {
	f.Violations = append(f.Violations, fmt.Sprintf(format, args...))
}

func (f *Findings) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// Add adds the findings of another check without duplicates.
func (f *Findings) Add(more Findings) {
	f.Violations = ordered(f.Violations, more.Violations)
	f.Notes = ordered(f.Notes, more.Notes)
}

// Err returns nil without violations, and otherwise a Usage fault with a hint that lists all of
// them.
func (f Findings) Err(what string) error {
	if len(f.Violations) == 0 {
		return nil
	}
	return fault.Newf(fault.Usage, "%s: %s; nothing was written", what, printable.Count(len(f.Violations), "rule is broken", "rules are broken")).
		WithHint("- %s", strings.Join(f.Violations, "\n- "))
}

// shown is the maximum number of names in a finding's list.
const shown = 5

// some formats names for a person: how many there are, and the first ones.
func some(names []string) string {
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// these counts instances and lists them: "2 instances (a, b)".
func these(ids []string) string {
	return fmt.Sprintf("%s (%s)", printable.Count(len(ids), "instance", "instances"), some(ids))
}
