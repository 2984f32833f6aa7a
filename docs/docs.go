// Package docs has the pages that describe batch's formats and rules to its users: as
// Markdown files in this folder, and in the program as batch help TOPIC. Each page is the
// comment of a package, so that there is one text; go generate writes them, and the package's
// test holds that they are current.
package docs

import "embed"

//go:generate go test . -run TestPagesAreCurrent -update

//go:embed *.md
var files embed.FS

// Page is one page.
type Page struct {
	Name  string // of the topic, and of the file without .md
	Title string
	// Package has the comment, by its path below the module.
	Package string
}

// Pages are all pages, in the order in which they are listed.
var Pages = []Page{
	{"row", "The columns of a row, and a dataset of your own", "dataset"},
	{"scripts", "The scripts of -m scripted/FILE and batch stub --script", "llm/scripted"},
	{"results", "The files of a run directory, in detail", "results"},
	{"data", "What batch export writes", "results/export"},
	{"graders", "How rows of each family of datasets are graded", "grade/family"},
	{"statistics", "The statistics of reports and comparisons", "report/stats"},
	{"secrets", "Which secrets are hidden, and where", "internal/mask"},
	{"containers", "How commands run in containers", "docker"},
	{"program", "Models, configurations, images, outcomes, grading and signals", "cmd/batch"},
	{"designs", "The designs behind batch, and what became of each statement", "designs"},
}

// Text returns the page as Markdown, with lines for a terminal.
func (p Page) Text() string {
	text, err := files.ReadFile(p.Name + ".md")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}
