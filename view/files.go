package view

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/results/trajectory"
)

// output answers with the bytes of a command's output, without secrets.
func (s *Server) output(w http.ResponseWriter, r *http.Request) {
	o, err := s.open(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	q := r.URL.Query()
	step, err1 := strconv.Atoi(q.Get("step"))
	action, err2 := strconv.Atoi(q.Get("action"))
	if err := errors.Join(err1, err2); err != nil {
		s.fail(w, r, fault.Newf(fault.Usage, "expected the numbers of a step and an action"))
		return
	}
	out, err := o.attempt.Output(step, action)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	download(w, fmt.Sprintf("%s-step-%d-%d.txt", o.id, step, action), q.Has("text"), out.Bytes)
}

// download answers with bytes as a file, or on request as plain text. Neither is ever shown as a page.
func download(w http.ResponseWriter, name string, text bool, data []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	if text {
		h.Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	}
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	_, _ = w.Write(data) // the reader has left
}

// patchPage is the data of a page about a patch.
type patchPage struct {
	Run      string     `json:"run"`
	Instance string     `json:"instance_id"`
	Attempt  int        `json:"attempt"`
	Salvaged bool       `json:"salvaged,omitempty"` // the working tree's diff
	None     bool       `json:"none,omitempty"`
	Files    []fileDiff `json:"files"`
	Gold     []fileDiff `json:"gold,omitempty"`
	NoGold   string     `json:"no_gold,omitempty"` // why there is no gold patch, if it was requested
	Pairs    []filePair `json:"-"`
	HasGold  bool       `json:"-"` // it can be requested
	AsksGold bool       `json:"-"`
	tabs
}

// filePair has the changes of one file in the patch and in the gold patch.
type filePair struct {
	Name      string
	Own, Gold *fileDiff
}

// patch answers with an attempt's patch, by file or as bytes.
func (s *Server) patch(w http.ResponseWriter, r *http.Request) {
	o, err := s.open(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d := patchPage{Run: o.run.Name, Instance: o.id, Attempt: o.view.Attempt, HasGold: s.c.Row != nil && !r.URL.Query().Has("all"), tabs: o.tabs("patch")}
	text, salvaged, err := o.attempt.Patch()
	switch {
	case errors.Is(err, trajectory.ErrNoPatch):
		d.None = true
	case err != nil:
		s.fail(w, r, err)
		return
	}
	if r.URL.Query().Has("download") {
		download(w, o.id+".patch", false, text)
		return
	}
	d.Salvaged, d.Files = salvaged, filesIn(string(text))
	if s.c.Row != nil && r.URL.Query().Has("gold") {
		d.AsksGold = true
		row, why := s.row(r.Context(), o)
		if d.NoGold = why; row != nil {
			d.Gold = filesIn(row.Patch)
		}
	}
	d.Pairs = paired(d.Files, d.Gold)
	s.show(w, r, "patch", o.id+": patch", d)
}

// row returns an instance's row of the dataset, or the reason why there is none.
func (s *Server) row(ctx context.Context, o *opened) (row *dataset.Instance, why string) {
	snap := o.state.scores.Snapshot
	if s.c.Row == nil || snap == nil || snap.Manifest == nil {
		return nil, "the run's dataset is not known"
	}
	if row, why = s.c.Row(ctx, snap.Manifest, o.id); row == nil && why == "" {
		why = "the dataset has no such row"
	}
	return row, o.mask.Text(why)
}

// paired pairs the changes of two patches by file, in the order of the first patch.
func paired(own, gold []fileDiff) []filePair {
	var list []filePair
	index := map[string]int{}
	for i := range own {
		index[own[i].Name] = len(list)
		list = append(list, filePair{Name: own[i].Name, Own: &own[i]})
	}
	for i := range gold {
		if at, known := index[gold[i].Name]; known {
			list[at].Gold = &gold[i]
		} else {
			list = append(list, filePair{Name: gold[i].Name, Gold: &gold[i]})
		}
	}
	return list
}

// fileDiff is a patch's part about one file.
type fileDiff struct {
	Name    string     `json:"name"`
	Added   int        `json:"added"`
	Removed int        `json:"removed"`
	Lines   []diffLine `json:"-"`
	Text    string     `json:"text"`
}

// diffLine is a line of a patch.
type diffLine struct {
	Class string // add, del, at or empty
	Text  string
}

// filesIn splits a patch into its files, in order. Lines before the first file belong to a file without a
// name.
func filesIn(patch string) []fileDiff {
	files := append([]diff.File{{Text: patch}}, diff.Read(patch)...)
	if len(files) > 1 {
		files[0].Text = patch[:files[1].Start]
	}
	var list []fileDiff
	for _, f := range files {
		if f.Text != "" {
			list = append(list, newFileDiff(f))
		}
	}
	return list
}

// newFileDiff counts the lines of a file's part by their first bytes: a model's patch may have hunks
// that git would not read.
func newFileDiff(f diff.File) fileDiff {
	d := fileDiff{Name: f.Path(), Text: f.Text}
	head := len(f.Head()) // still to come
	for line := range strings.Lines(f.Text) {
		class := ""
		switch {
		case head > 0 && headLine().MatchString(line), strings.HasPrefix(line, "@@"):
			class = "at"
		case line[0] == '+':
			d.Added++
			class = "add"
		case line[0] == '-':
			d.Removed++
			class = "del"
		}
		head -= len(line)
		d.Lines = append(d.Lines, diffLine{class, strings.TrimSuffix(line, "\n")})
	}
	return d
}

// headLine matches the lines before a hunk that are shown as such.
var headLine = lazy.Regexp(`^(?:\+\+\+|---|diff|index) `)
