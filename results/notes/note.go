package notes

import (
	"strings"
	"time"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/vocab"
)

// The sizes that [Note.Check] allows.
const (
	MaxLabel = 40     // characters of a label
	MaxText  = 10_000 // bytes of a text
	MaxWho   = 200    // bytes of a user name
)

// Note is a person's label or comment on an instance, an attempt or a step.
type Note struct {
	ID       string    `json:"id"` // made by [Add]: lower-case letters and digits
	Instance string    `json:"instance_id"`
	Attempt  int       `json:"attempt"`         // 0: the instance, with all its attempts
	Step     int       `json:"step"`            // from 1; 0: the attempt or the instance. With attempt 0: of a trajectory without a journal
	Label    string    `json:"label,omitempty"` // letters, digits, "-", "_" and "."
	Text     string    `json:"text,omitempty"`  // UTF-8, may have several lines
	Who      string    `json:"who"`             // user name; empty: not known
	When     time.Time `json:"when"`            // made by [Add]
}

var labelForm = lazy.Regexp(`^[\p{L}\p{N}._-]+$`)

// Check refuses a note that [Add] would not take. The error is a Usage fault that begins with the
// name of the wrong field: instance, attempt, step, label, text or who.
func (n Note) Check() error {
	if err := vocab.CheckID(n.Instance); err != nil {
		return fault.Newf(fault.Usage, "instance: the id %w", err)
	}
	switch {
	case !utf8.ValidString(n.Instance):
		return fault.Newf(fault.Usage, "instance: the id is not valid UTF-8")
	case n.Attempt < 0:
		return fault.Newf(fault.Usage, "attempt: %d: attempts are numbered from 1; 0 is the whole instance", n.Attempt)
	case n.Step < 0:
		return fault.Newf(fault.Usage, "step: %d: steps are numbered from 1; 0 is the whole attempt", n.Step)
	case n.Label == "" && strings.TrimSpace(n.Text) == "":
		return fault.Newf(fault.Usage, "text: a note has a text, a label, or both")
	case len(n.Who) > MaxWho || !utf8.ValidString(n.Who):
		return fault.Newf(fault.Usage, "who: a user name has at most %d bytes, in UTF-8", MaxWho)
	case len(n.Text) > MaxText:
		return fault.Newf(fault.Usage, "text: it has %d bytes, and may have %d", len(n.Text), MaxText)
	case !utf8.ValidString(n.Text):
		return fault.Newf(fault.Usage, "text: it is not valid UTF-8")
	}
	return checkLabel(n.Label)
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return nil
	case !utf8.ValidString(label) || !labelForm().MatchString(label):
		return fault.Newf(fault.Usage, `label: %q: a label is a word of letters, digits, "-", "_" and "."`, label)
	case utf8.RuneCountInString(label) > MaxLabel:
		return fault.Newf(fault.Usage, "label: it has %d characters, and may have %d", utf8.RuneCountInString(label), MaxLabel)
	}
	return nil
}
