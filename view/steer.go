package view

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
)

// formLimit bounds the size of a form, in bytes.
const formLimit = 2*control.MaxText + 4<<10

// steer carries out a form's command: a verb of package control, for the process of one of the runs. It needs
// Config.Control.
func (s *Server) steer(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formLimit)
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, fault.New(fault.Usage, "reading the form", err))
		return
	}
	reply, err := s.command(r.Context(), r.PostForm)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.now.forget()
	if r.URL.Query().Get("format") == "json" {
		s.show(w, r, "", "", reply)
		return
	}
	http.Redirect(w, r, back(r.PostForm.Get("back")), http.StatusSeeOther)
}

// back returns the page of this server to which a form leads back.
func back(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.HasPrefix(u.Path, `/\`) {
		return "/live"
	}
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery, Fragment: u.Fragment}).String()
}

// command sends the commands of a form, and returns the reply to the last one.
func (s *Server) command(ctx context.Context, form url.Values) (reply control.Reply, err error) {
	cmds, err := s.c.Control(control.Verb(form.Get("verb")), argsOf(form))
	if err != nil {
		return reply, err
	}
	dir, err := s.workOf(form.Get("work"))
	if err != nil {
		return reply, err
	}
	client, err := control.Dial(dir, sweeps.Of(dir))
	if err == nil && client.Dir() != dir {
		err = fault.Newf(fault.Usage, "%s is a cell of the sweep that works in %s", dir, client.Dir()).WithHint("show the sweep: its pages have the commands")
	}
	for i := 0; err == nil && i < len(cmds); i++ {
		cmds[i].Program = "batch view"
		if id := form.Get("id"); id != "" { // a form that is sent twice must act once
			cmds[i].ID = fmt.Sprintf("%s-%d", id, i)
		}
		reply, err = client.Do(ctx, cmds[i])
	}
	return reply, err
}

// argsOf returns a form's fields as the arguments of `batch ctl DIR VERB`.
func argsOf(form url.Values) (args []string) {
	if id := form.Get("instance"); id != "" {
		args = append(args, id)
	}
	if text := form.Get("text"); text != "" {
		return append(args, text)
	}
	return append(args, strings.Fields(form.Get("value"))...)
}

// workOf checks that work is the directory of a shown run or sweep.
func (s *Server) workOf(work string) (string, error) {
	list, err := s.runs.all()
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(list, func(r *run) bool { return cmp.Or(r.Sweep, r.Dir) == work }) {
		return "", fault.Newf(fault.Usage, "no run here is in %q", work)
	}
	return work, nil
}

// steering has the hidden fields of the forms for an instance.
type steering struct {
	Work     string
	Instance string // the process's name for it: with its cell in a sweep
	Back     string
}

// steering returns the data of the forms for an instance of work under way; nil if there are no forms.
func (s *Server) steering(o *opened) *steering {
	if s.c.Control == nil || o.state.row.Owner == "" {
		return nil
	}
	st := &steering{Work: cmp.Or(o.run.Sweep, o.run.Dir), Instance: o.id, Back: attemptLink(o.run.Name, o.id) + "?step=last"}
	if o.run.Sweep != "" {
		st.Instance = filepath.Base(o.run.Dir) + "/" + o.id
	}
	return st
}
