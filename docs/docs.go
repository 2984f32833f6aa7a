// Package docs has the pages that describe batch's use, formats and rules: as Markdown
// files in this folder, and in the program as batch help TOPIC. A page is written by hand,
// or it is the comment of a package, so that there is one text; go generate writes the
// comments' pages and README.md, the index. The package's test checks that these are
// current, and internal/readme runs the transcripts of the other pages.
//
// Its API is not promised to other programs: see package batch.
package docs

import "embed"

//go:generate go test . -run TestPagesAreCurrent -update

//go:embed *.md
var files embed.FS

// Page is one page.
type Page struct {
	Name  string // of the topic, and of the file without .md
	Title string
	// Packages are paths below the module. Their comments are the page; a page without
	// packages is written by hand.
	Packages []string
}

// Pages are all pages. Pages written by hand come first, in the order in which their
// transcripts run.
var Pages = []Page{
	{Name: "migrating", Title: "Coming from mini-swe-agent, and how both compare"},
	{Name: "providers", Title: "Models, keys, rate limits, costs and telemetry"},
	{Name: "checks", Title: "What to check before a run costs money"},
	{Name: "grading", Title: "Grading, and how the harness compares"},
	{Name: "sweeps", Title: "Sweeps, several attempts and comparisons"},
	{Name: "viewing", Title: "Runs in a browser: batch view"},
	{Name: "auditing", Title: "Audit: signs that a result is not the agent's own work"},
	{Name: "shards", Title: "Shards: one dataset on several machines, and Slurm"},
	{Name: "resuming", Title: "Watch, resume, retry and compare runs"},
	{Name: "control", Title: "Watch and change a run while it works"},
	{Name: "talk", Title: "Talk with an agent, and serve it to programs"},
	{Name: "promises", Title: "What batch promises, and what it does not"},
	{Name: "install", Title: "Install batch, or run it in a container"},
	{Name: "environment", Title: "Environment variables that batch reads"},
	{Name: "events", Title: "Events of batch run, sweep and grade with --json"},
	{Name: "exit-codes", Title: "Exit codes of batch"},
	{Name: "formats", Title: "Files in a run directory"},
	{Name: "mcp", Title: "Tools of MCP servers for the agent"},
	{Name: "designs", Title: "The designs behind batch, and what became of each statement"},
	{"row", "The columns of a row, and a dataset of your own", []string{"dataset"}},
	{"templates", "The language of prompt templates", []string{"agent/template"}},
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
	{"engines", "Engines: addresses, and several in one run", []string{"run/engines"}},
	{"kubernetes", "Pods of a Kubernetes cluster as sandboxes", []string{"kube"}},
	{"program", "Models, configurations, images, outcomes, grading and signals", []string{"cmd/batch"}},
}

// ByHand says whether the page is written by hand.
func (p Page) ByHand() bool { return len(p.Packages) == 0 }

// Markdown returns the page's file.
func (p Page) Markdown() string {
	text, err := files.ReadFile(p.Name + ".md")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// Text returns the page for a terminal.
func (p Page) Text() string { return p.Title + ".\n\n" + forTerminal(p.Markdown()) }
