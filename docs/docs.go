// Package docs has the pages that describe batch's formats and rules to its users: as
// Markdown files in this folder, and in the program as batch help TOPIC. Each page is the
// comment of a package, or the comments of some, so that there is one text; go generate writes
// them, and the package's test holds that they are current.
package docs

import (
	"embed"
	"io"
	"strings"
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
	{"statuses", "Exit statuses, verdicts, and the kinds of faults", []string{"vocab", "fault"}},
	{"data", "What batch export writes", []string{"results/export"}},
	{"graders", "How rows of each family of datasets are graded", []string{"grade/family"}},
	{"statistics", "The statistics of reports and comparisons", []string{"report/stats"}},
	{"secrets", "Which secrets are hidden, and where", []string{"internal/mask"}},
	{"containers", "How commands run in containers", []string{"docker"}},
	{"program", "Models, configurations, images, outcomes, grading and signals", []string{"cmd/batch"}},
	{"designs", "The designs behind batch, and what became of each statement", []string{"designs"}},
}

// Text returns the page as Markdown, with lines for a terminal. It copies the page only once:
// each start of batch help needs all of them.
func (p Page) Text() string {
	f, err := files.Open(p.Name + ".md")
	if err != nil {
		panic(err) // it is embedded
	}
	defer f.Close()
	var text strings.Builder
	if info, err := f.Stat(); err == nil {
		text.Grow(int(info.Size()))
	}
	if _, err := io.CopyBuffer(&text, f, make([]byte, 1024)); err != nil {
		panic(err) // from memory
	}
	return text.String()
}
