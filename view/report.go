package view

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results/scores"
	"batch.example/batch/view/report"
)

// alone is what a page has in itself that is one file.
type alone struct {
	Policy string // allows only the style and the script, by their digests
	Style  template.CSS
	Script template.JS
}

// generator is the generator in the metadata of a page that is one file.
const generator = `<meta name="generator" content="batch report">`

// Report returns a page as one HTML file that needs no network and no other file. Without scripts,
// everything in it can be read; only sorting, filtering and keys are missing. The same page gives the same
// bytes.
func Report(page report.Page) ([]byte, error) {
	style, err := files.ReadFile("pages/view.css")
	if err != nil {
		return nil, fault.New(fault.Bug, "reading the style", err)
	}
	script, err := files.ReadFile("pages/view.js")
	if err != nil {
		return nil, fault.New(fault.Bug, "reading the script", err)
	}
	f := frame{Title: page.Title, Body: page, Alone: &alone{
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(style), digest(script)),
		Style:  template.CSS(style), Script: template.JS(script), //nolint:gosec // they are embedded
	}}
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, "report", f); err != nil {
		return nil, fault.New(fault.Bug, "making the page", err)
	}
	return b.Bytes(), nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// IsReport reports whether a file is a page of [Report]. head is its first kilobyte, or the whole file if it
// is smaller.
func IsReport(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) && bytes.Contains(head[:min(len(head), 1024)], []byte(generator))
}

// reportPage is the data of the page that compares runs.
type reportPage struct {
	report.Page
	masks []*mask.Masker
}

// MarshalJSON hides the secrets of all its runs.
func (p reportPage) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(p.Page)
	for _, m := range p.masks {
		text = m.JSON(text)
	}
	return text, err
}

// mostEntries is how many entries a page compares: each is compared with each other one.
const mostEntries = 16

// report answers with the comparison of the chosen runs. The cells of a sweep with the same model and
// configuration are the attempts of one entry.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	all, err := s.runStates()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	names := map[string]string{} // of runs, by directory
	masks := []*mask.Masker{s.c.Mask}
	var d report.Data
	for _, st := range all {
		if chosen := r.URL.Query()["run"]; len(st.ids) == 0 || st.scores.Scores == nil || len(chosen) > 0 && !slices.Contains(chosen, st.Name) {
			continue
		}
		names[st.scores.Path] = st.Name
		if !slices.Contains(masks, st.mask) {
			masks = append(masks, st.mask)
		}
		name := st.Name
		if st.Sweep != "" {
			name = path.Join(st.Sweep, st.Entry)
		}
		i := slices.IndexFunc(d.Entries, func(e scores.Side) bool { return e.Name == name })
		if i < 0 {
			i = len(d.Entries)
			d.Entries = append(d.Entries, scores.Side{Name: name, Model: st.row.Model})
		}
		d.Entries[i].Runs = append(d.Entries[i].Runs, st.scores)
	}
	d.Link = func(dir, id string) string { return attemptLink(names[dir], id) }
	d.Hide = func(text string) string {
		for _, m := range masks {
			text = m.Text(text)
		}
		return text
	}
	var many []string
	if n := len(d.Entries); n > mostEntries {
		d.Entries = nil
		many = []string{fmt.Sprintf("%d runs are too many to compare here: choose %d at most in the list of runs, or use batch report", n, mostEntries)}
	}
	page, err := s.compared(r.Context(), d)
	if err != nil {
		return // the reader has left
	}
	page.Warnings = append(page.Warnings, many...)
	s.show(w, r, "report", page.Title, reportPage{page, masks})
}

// compared makes the page, unless ctx ends before the pages of earlier requests are made.
func (s *Server) compared(ctx context.Context, d report.Data) (report.Page, error) {
	s.comparing.Lock()
	defer s.comparing.Unlock()
	if err := ctx.Err(); err != nil {
		return report.Page{}, err
	}
	return report.New(d), nil
}
