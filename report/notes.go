package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results/notes"
	"batch.example/batch/results/trajectory"
)

// Notes writes the notes of a run directory for a person to read, in order.
func Notes(w io.Writer, list []notes.Note, o Reading) error {
	return buffered(w, func(b *bufio.Writer) {
		p := page{b, o.Width, o.Color}
		for _, n := range list {
			p.line("", strong, noteTitle(n), false)
			if n.Text != "" {
				p.lines("  ", plain, n.Text)
			}
		}
	})
}

// noteTitle says where a note is, and who wrote it: "k3j2m4n5  a__1, attempt 2, step 7  [label]  ann, ...".
func noteTitle(n notes.Note) string {
	place := n.Instance
	if n.Attempt > 0 {
		place += fmt.Sprintf(", attempt %d", n.Attempt)
	}
	if n.Step > 0 {
		place += fmt.Sprintf(", step %d", n.Step)
	}
	title := n.ID + "  " + place
	if n.Label != "" {
		title += "  [" + n.Label + "]"
	}
	return printable.Line(title + "  " + author(n))
}

// author says who wrote a note, and when: "ann, 2026-01-02 15:04 UTC".
func author(n notes.Note) string {
	when := n.When.UTC().Format("2006-01-02 15:04 UTC")
	if n.Who == "" {
		return when
	}
	return n.Who + ", " + when
}

// noteText is a note without its place: "[label] text (ann, 2026-01-02 15:04 UTC, k3j2m4n5)".
func noteText(n notes.Note) string {
	var parts []string
	if n.Label != "" {
		parts = append(parts, "["+n.Label+"]")
	}
	if text := strings.TrimSpace(n.Text); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(append(parts, "("+author(n)+", "+n.ID+")"), " ")
}

// notesOf returns the notes on an attempt: on the whole of it, with the ones on its instance and on
// steps that are not there, and by step.
func notesOf(v *trajectory.View, all []notes.Note) (whole []string, steps map[int][]string) {
	there := map[int]bool{}
	for _, s := range v.Steps {
		there[s.Number] = true
	}
	steps = map[int][]string{}
	for _, n := range all {
		switch text := noteText(n); {
		case n.Instance != v.Instance, n.Attempt != v.Attempt && (n.Attempt > 0 || n.Step > 0):
		case there[n.Step]:
			steps[n.Step] = append(steps[n.Step], text)
		case n.Step > 0:
			whole = append(whole, fmt.Sprintf("step %d: %s", n.Step, text))
		default:
			whole = append(whole, text)
		}
	}
	return whole, steps
}
