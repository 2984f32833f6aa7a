package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"sync"

	"batch.example/batch/results/scores"
)

// Data is the input of a page.
type Data struct {
	Entries []scores.Side // with different names

	// Folder returns the path from the page's folder to an attempt's folder, for links to
	// trajectories; "" if there are none. It may be nil: then the page has no links.
	Folder func(path string) string

	// Hide replaces the secrets in a text: an error, a setting, a note. It may be nil.
	Hide func(text string) string

	// Audit has the findings of an audit. Nil: the page says that there was none.
	Audit *Audit
}

// generator is the page's generator in its metadata.
const generator = "batch report"

var (
	//go:embed page.html
	html string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

var whole = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(html)) })

// Write writes the page. The same data gives the same bytes.
func Write(w io.Writer, d Data) error {
	return whole().Execute(w, newStudy(d).view(d))
}

// Is reports whether a file is a page that [Write] wrote. head is its first kilobyte, or the whole
// file if it is smaller.
func Is(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) &&
		bytes.Contains(head[:min(len(head), 1024)], []byte(`<meta name="generator" content="`+generator+`">`))
}

// policy allows only the style and the script of a page, by their digests.
func policy() string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		digest(style), digest(script))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// view is the data of page.html.
type view struct {
	Generator, Policy, Title string
	Style                    template.CSS
	Script                   template.JS
	Facts, Warnings          []string
	Sections                 []section
	Findings                 []string
	Rates                    ratesView
	Pairs                    *pairsView
	Scatter                  *scatterView
	Phases                   *phasesView
	Repos                    *reposView
	Distributions            []distribution
	Coverage                 coverageView
	Audit                    auditView
	Settings                 *settingsView
	Table                    tableView
	Runs                     []runView
	Footer                   string
}

// section is an entry of the table of contents.
type section struct{ ID, Name string }

const methods = "Made by batch report. Intervals of rates and of differences are from resampling repositories. " +
	"Differences are paired by instance and always second minus first; p is of the test that their interval is of; its correction is over all pairs."

func (s study) view(d Data) view {
	pairs := s.compared(d.Entries)
	v := view{
		Generator: generator, Policy: policy(), Style: template.CSS(style), Script: template.JS(script), //nolint:gosec // they are embedded
		Title: s.title(), Facts: s.facts(), Warnings: s.warnings(), Findings: s.findings(pairs),
		Rates: s.ratesView(), Pairs: s.pairsView(pairs), Scatter: s.scatter(), Phases: s.phases(), Repos: s.reposView(),
		Distributions: s.distributions(), Coverage: s.coverage(), Audit: s.audit(d.Audit), Settings: s.settings(), Table: s.table(), Runs: s.runs(), Footer: methods,
	}
	add := func(there bool, id, name string) {
		if there {
			v.Sections = append(v.Sections, section{id, name})
		}
	}
	add(true, "rates", "Resolved")
	add(v.Pairs != nil, "pairs", "Where they differ")
	add(v.Scatter != nil, "cost", "Cost")
	add(v.Phases != nil, "phases", "Time")
	add(v.Repos != nil, "repositories", "Repositories")
	add(v.Distributions != nil, "distributions", "Distributions")
	add(true, "coverage", "Who is counted")
	add(v.Audit.Rows != nil, "audit", "Audit")
	add(v.Settings != nil, "settings", "Settings")
	add(true, "instances", "Instances")
	add(true, "runs", "Runs")
	return v
}
