package main

import (
	"fmt"
	"io"
	"os/user"
	"slices"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/results/notes"
	"batch.example/batch/results/sweeps"
)

// noteFlags are the flags of `batch note`.
type noteFlags struct {
	attempt, step int // attempt is negative without a choice
	labels        []string
	remove        string
	asJSON        bool
}

func (a *app) noteCommand() *cobra.Command {
	f := noteFlags{attempt: -1}
	c := &cobra.Command{
		Use:   "note DIR [INSTANCE] [TEXT]",
		Short: "Keep labels and comments on instances, attempts and steps",
		Long: `Keep labels and comments on an instance, an attempt or a step, in the file
notes.jsonl of a run directory. Notes change no score. batch show and batch view
show them, batch export writes them, batch compare --by label counts them, and
batch merge keeps them. INSTANCE may be the beginning of an id. It works while a
run uses the directory. Without TEXT and --label it lists the notes.

  batch note runs/gpt-5 django__django-11019 "Fixes the wrong file." --step 7
  batch note runs/gpt-5 django__django-11019 --label gave-up --label wrong-file
  batch note runs/gpt-5
  batch note runs/gpt-5 --json | jq -r '.[] | [.instance_id, .label] | @tsv'
  batch note runs/gpt-5 --remove k3j2m4n5

A note on a step is on the last attempt, unless --attempt names another one.
Without both flags it is on the instance, with all its attempts. Secrets of the
run are hidden in the text. ` + "`batch help notes`" + ` describes the file.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 3 {
				return fault.Newf(fault.Usage, "unexpected argument %q", args[3]).WithHint("put TEXT in quotes")
			}
			return someArgs("DIR")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			for flag, n := range map[string]int{"attempt": f.attempt, "step": f.step} {
				if c.Flags().Changed(flag) && n < 1 {
					return fault.Newf(fault.Usage, "--%s %d: they are numbered from 1", flag, n)
				}
			}
			return a.note(f, args)
		},
	}
	fs := c.Flags()
	fs.IntVar(&f.step, "step", 0, "the step of this `NUMBER`, as batch show numbers them")
	fs.IntVar(&f.attempt, "attempt", -1, "the attempt of this `NUMBER`")
	fs.StringArrayVar(&f.labels, "label", nil, "a `WORD` of letters, digits, \"-\", \"_\" and \".\"; may be repeated")
	fs.StringVar(&f.remove, "remove", "", "remove the note with this `ID`, which the list shows")
	fs.BoolVar(&f.asJSON, "json", false, "print the notes, or the new ones, as a JSON array")
	fs.Lookup("attempt").DefValue = "0" // help leaves 0 out
	return c
}

// note lists, adds or removes notes.
func (a *app) note(f noteFlags, args []string) error {
	on := len(args) > 2 || f.labels != nil // there is something to add
	switch {
	case f.remove != "" && (len(args) > 1 || on || f.place()):
		return fault.Newf(fault.Usage, "--remove takes the id of a note, and nothing beside DIR").WithHint("`batch note %s` lists the notes", printable.ShellWord(args[0]))
	case f.remove != "":
		return a.removeNote(f.remove, args[0])
	case len(args) < 2 && (on || f.place()):
		return fault.Newf(fault.Usage, "INSTANCE is missing: which one is the note on?").WithHint("see `batch note --help`")
	case !on && f.place():
		return fault.Newf(fault.Usage, "the note is empty").WithHint("give TEXT, --label WORD, or both")
	case on:
		return a.addNotes(f, args)
	}
	return a.listNotes(f, args)
}

func (f noteFlags) place() bool { return f.step > 0 || f.attempt >= 0 }

// addNotes adds a note for each label, the first of them with the text.
func (a *app) addNotes(f noteFlags, args []string) error {
	if _, err := a.notesOf(args[0]); err != nil {
		return err
	}
	n := notes.Note{Step: f.step, Who: userName()}
	if err := a.placeNote(&n, f, args); err != nil {
		return err
	}
	if len(args) > 2 {
		n.Text = a.mask.Text(args[2])
	}
	labels := f.labels
	if labels == nil {
		labels = []string{""}
	} else if slices.Contains(labels, "") {
		return fault.Newf(fault.Usage, "--label is empty").WithHint("give a word, or TEXT without --label")
	}
	var list []notes.Note
	for _, label := range labels {
		if slices.ContainsFunc(list, func(other notes.Note) bool { return other.Label == label }) {
			continue
		}
		n.Label = a.mask.Text(label)
		if err := n.Check(); err != nil {
			return err
		}
		list = append(list, n)
		n.Text = ""
	}
	for i, n := range list {
		var err error
		if list[i], err = notes.Add(args[0], n); err != nil {
			return err
		}
	}
	return a.printNotes(f, list)
}

// placeNote fills in the instance, and the attempt of a step. Both must be there.
func (a *app) placeNote(n *notes.Note, f noteFlags, args []string) error {
	s := showFlags{attempt: f.attempt}
	if _, err := s.find(args[:2]); err != nil {
		return err
	}
	n.Instance = s.instance
	if !f.place() {
		return nil
	}
	view, err := s.source().Read(a.mask)
	if err != nil {
		return s.explain(err)
	}
	if n.Step > len(view.Steps) {
		return fault.Newf(fault.Usage, "--step %d: attempt %d at %s has %s", n.Step, view.Attempt, n.Instance, printable.Count(len(view.Steps), "step", "steps")).
			WithHint("`batch show %s` shows them", printable.ShellWord(args[0])+" "+printable.ShellWord(n.Instance))
	}
	n.Attempt = view.Attempt
	return nil
}

// userName is the name of the user of this process; empty if the system does not know it.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

func (a *app) removeNote(id, dir string) error {
	if _, err := a.notesOf(dir); err != nil {
		return err
	}
	if err := notes.Remove(dir, id, userName()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "removed note %s\n", printable.Line(id))
	return err
}

func (a *app) listNotes(f noteFlags, args []string) error {
	list, err := a.notesOf(args[0])
	if err != nil {
		return err
	}
	if len(args) > 1 {
		s := showFlags{}
		if _, err := s.find(args); err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(n notes.Note) bool { return n.Instance != s.instance })
	}
	return a.printNotes(f, list)
}

func (a *app) printNotes(f noteFlags, list []notes.Note) error {
	if f.asJSON {
		return a.printJSON(append([]notes.Note{}, list...)) // never null
	}
	return a.page(true, func(w io.Writer, width int, color bool) error {
		return report.Notes(w, list, report.Reading{Width: width, Color: color})
	})
}

// notesOf returns the notes of a run directory, or of another folder of trajectories. Secrets of the
// run are hidden from then on.
func (a *app) notesOf(dir string) ([]notes.Note, error) {
	snap, _, err := instancesIn(dir)
	if x, other := sweeps.Read(dir); err != nil && other == nil {
		return nil, fault.Newf(fault.Usage, "%s is the folder of a sweep: each of its cells has its own notes", dir).
			WithHint("name a cell, such as `batch note %s`", printable.ShellWord(append(x.Dirs(dir), dir)[0]))
	}
	if err != nil {
		return nil, err
	}
	a.hideOfRun(snap.Manifest)
	return notes.Read(dir)
}

// notesBeside returns the notes to show beside an attempt, and reports damage. dir may be empty.
func (a *app) notesBeside(dir string) []notes.Note {
	if dir == "" {
		return nil
	}
	list, err := notes.Read(dir)
	if err != nil {
		fmt.Fprintf(a.stderr, "note: not all notes can be shown: %v\n", err)
	}
	return list
}
