package view

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/results/notes"
)

// noteView is a note with what its form needs.
type noteView struct {
	notes.Note
	Run  string `json:"-"`
	Back string `json:"-"` // where a person goes after removing it; empty: there are no forms
}

// noteForm has the hidden fields of the form for a new note.
type noteForm struct {
	Run, Instance string
	Attempt, Step int
	Back          string
}

// noted returns the notes on an attempt: by step, with the ones on the instance and the attempt at 0. A
// note on a step of attempt 0 is about a trajectory without a journal.
func (s *Server) noted(o *opened) (map[int][]noteView, error) {
	list, err := notes.Read(o.run.Dir)
	if err != nil {
		return nil, err
	}
	by := map[int][]noteView{}
	for _, n := range list {
		if n.Instance != o.id || n.Attempt != o.view.Attempt && (n.Attempt > 0 || n.Step > 0) {
			continue
		}
		n.Label, n.Text, n.Who = o.mask.Text(n.Label), o.mask.Text(n.Text), o.mask.Text(n.Who)
		v := noteView{Note: n, Run: o.run.Name}
		if s.c.Control != nil {
			v.Back = o.place(n.Step)
		}
		by[n.Step] = append(by[n.Step], v)
	}
	return by, nil
}

// place returns the address of a step, or of the attempt.
func (o *opened) place(step int) string {
	if step > 0 {
		return o.link(step)
	}
	return attemptLink(o.run.Name, o.id) + "?" + o.query().Encode()
}

// note adds the note of a form, or removes one. It needs Config.Control.
func (s *Server) note(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formLimit)
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, fault.New(fault.Usage, "reading the form", err))
		return
	}
	if err := s.take(r.PostForm); err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, back(r.PostForm.Get("back")), http.StatusSeeOther)
}

// take adds or removes a note.
func (s *Server) take(form url.Values) error {
	o := &opened{id: form.Get("instance"), number: -1}
	var step int
	var err error
	if o.number, err = strconv.Atoi(cmp.Or(form.Get("attempt"), "-1")); err == nil {
		step, err = strconv.Atoi(cmp.Or(form.Get("step"), "0"))
	}
	if err != nil {
		return fault.Newf(fault.Usage, "a note needs the numbers of an attempt and a step")
	}
	if err := s.openIn(o, form.Get("run")); err != nil {
		return err
	}
	if id := form.Get("remove"); id != "" {
		return notes.Remove(o.run.Dir, id, s.c.User)
	}
	if step < 0 || step > len(o.view.Marks) {
		return fault.Newf(fault.Usage, "%s has no step %d", o.id, step)
	}
	_, err = notes.Add(o.run.Dir, notes.Note{
		Instance: o.id, Attempt: o.view.Attempt, Step: step, Who: s.c.User,
		Label: strings.TrimSpace(form.Get("label")), Text: o.mask.Text(strings.TrimSpace(strings.ReplaceAll(form.Get("text"), "\r\n", "\n"))),
	})
	return err
}
