// Package docs has the pages that describe batch's formats and rules to its users: as
// Markdown files in this folder, and in the program as batch help TOPIC. Each page is the
// comment of a package, so that there is one text; go generate writes them, and the package's
// test holds that they are current.
package docs

import (
	"embed"
	"strings"
	"unicode/utf8"
)

//go:generate go test . -run TestPagesAreCurrent -update

//go:embed *.md
var files embed.FS

// Page is one page.
type Page struct {
	Name  string // of the topic, and of the file without .md
	Title string
	// Packages have the comments, by their paths below the module.
	Packages []string
}

// Pages are all pages, in the order in which they are listed.
var Pages = []Page{
	{"row", "The columns of a row, and a dataset of your own", []string{"dataset"}},
	{"scripts", "The scripts of -m scripted/FILE and batch stub --script", []string{"llm/scripted"}},
	{"results", "The files of a run directory, in detail", []string{"results"}},
	{"trajectory", "The trajectory of an attempt: INSTANCE.traj.json", []string{"results/trajectory"}},
	{"journal", "The journal of an instance: journal.jsonl", []string{"journal"}},
	{"manifest", "What was asked for and what ran: manifest.json", []string{"results/manifest"}},
	{"grades", "What grading found: grades.jsonl and quarantine.txt", []string{"results/grades"}},
	{"statuses", "Exit statuses, verdicts, and the kinds of faults", []string{"vocab", "fault"}},
	{"data", "What batch export writes", []string{"results/export"}},
	{"graders", "How rows of each family of datasets are graded", []string{"grade/family"}},
	{"statistics", "The statistics of reports and comparisons", []string{"report/stats"}},
	{"secrets", "Which secrets are hidden, and where", []string{"internal/mask"}},
	{"containers", "How commands run in containers", []string{"docker"}},
	{"program", "Models, configurations, images, outcomes, grading and signals", []string{"cmd/batch"}},
	{"designs", "The designs behind batch, and what became of each statement", []string{"designs"}},
}

// endOfMark ends what only a person who edits the file needs.
const endOfMark = " -->\n"

// Text returns the page for a terminal.
func (p Page) Text() string {
	text, err := files.ReadFile(p.Name + ".md")
	if err != nil {
		panic(err) // it is embedded
	}
	_, body, _ := strings.Cut(string(text), endOfMark)
	var b strings.Builder
	b.WriteString(p.Title + ".\n")
	for line := range strings.Lines(body) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			line = heading + strings.Repeat("-", utf8.RuneCountInString(heading)-1) + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
