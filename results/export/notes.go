package export

import (
	"slices"
	"time"

	"batch.example/batch/results/notes"
)

// Note is a note of a person on the attempt, without the person's name.
type Note struct {
	Step  int       `json:"step"` // 0: the attempt or the instance
	Label string    `json:"label,omitempty"`
	Text  string    `json:"text,omitempty"`
	When  time.Time `json:"when"`
}

// setNotes adds the notes on the attempt, its instance and its steps.
func (o Options) setNotes(a *About, list []notes.Note) {
	a.Labels, a.Notes = []string{}, []Note{}
	for _, n := range list {
		if n.Instance == a.Instance && (n.Attempt == a.Attempt || n.Attempt == 0 && n.Step == 0) {
			a.Notes = append(a.Notes, Note{n.Step, n.Label, o.Mask.Text(n.Text), n.When})
		}
	}
	for _, n := range a.Notes {
		if n.Label != "" && !slices.Contains(a.Labels, n.Label) {
			a.Labels = append(a.Labels, n.Label)
		}
	}
	slices.Sort(a.Labels)
}

// notesAt returns the notes on a step, or with 0 on the attempt and its instance.
func (a *About) notesAt(step int) (list []Note) {
	for _, n := range a.Notes {
		if n.Step == step {
			list = append(list, n)
		}
	}
	return list
}

// labelsAt returns their labels, each once.
func (a *About) labelsAt(step int) (list []string) {
	for _, n := range a.notesAt(step) {
		if label := text(n.Label); label != "" && !slices.Contains(list, label) {
			list = append(list, label)
		}
	}
	return list
}

// textsAt returns their texts.
func (a *About) textsAt(step int) (list []string) {
	for _, n := range a.notesAt(step) {
		if n.Text != "" {
			list = append(list, text(n.Text))
		}
	}
	return list
}
