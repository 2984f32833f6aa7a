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
var texts embed.FS

// Page is one page.
type Page struct {
	Part  string // of the manual
	Name  string // of the topic, and of the file without .md
	Title string
	// Packages are paths below the module. Their comments are the page; a page without
	// packages is written by hand.
	Packages []string
}

// Developers is the part that the lists of pages leave out.
const Developers = "For developers"

// Pages are all pages, in an order to read them in. The transcripts of those that are written by
// hand run in it.
var Pages = []Page{
	{"First steps", "install", "Install batch, or run it in a container", nil},
	{"First steps", "migrating", "Coming from mini-swe-agent, and how both compare", nil},
	{"First steps", "providers", "Models, keys, rate limits, costs and telemetry", nil},
	{"First steps", "configuration", "The configuration: sources, templates, all keys", nil},
	{"First steps", "checks", "What to check before a run costs money", nil},
	{"First steps", "troubleshooting", "Messages, what they mean and what to do", nil},
	{"First steps", "promises", "What batch promises, and what it does not", nil},

	{"Run", "resuming", "Watch, resume, retry and compare runs", nil},
	{"Run", "control", "Watch and change a run while it works", nil},
	{"Run", "agents", "A program of your own as the agent", nil},
	{"Run", "viewing", "Runs in a browser: batch view", nil},

	{"Score", "row", "The columns of a row, and a dataset of your own", []string{"dataset"}},
	{"Score", "task-folders", "Task folders in Harbor's format", []string{"dataset/harbor"}},
	{"Score", "grading", "Grading, and how the harness compares", nil},
	{"Score", "custom-graders", "How each family of datasets is graded, and your own", []string{"grade/family"}},
	{"Score", "sweeps", "Sweeps, several attempts and comparisons", nil},
	{"Score", "statistics", "The statistics of reports and comparisons", []string{"report/stats"}},
	{"Score", "auditing", "Audit: signs that a result is not the agent's own work", nil},

	{"Where it runs", "engines", "Engines: addresses, and several in one run", []string{"run/engines"}},
	{"Where it runs", "containers", "How commands run in containers", []string{"docker"}},
	{"Where it runs", "kubernetes", "Pods of a Kubernetes cluster as sandboxes", []string{"kube"}},
	{"Where it runs", "shards", "Shards: one dataset on several machines, and Slurm", nil},
	{"Where it runs", "ci", "In CI: a job that fails when a score falls", nil},

	{"With people and programs", "talk", "Talk with an agent, and serve it to programs", nil},
	{"With people and programs", "mcp", "Tools of MCP servers for the agent", nil},
	{"With people and programs", "library", "Batch as a library: run, results, compare", nil},
	{"With people and programs", "events", "Events of batch run, sweep and grade with --json", nil},
	{"With people and programs", "scripts", "The scripts of -m scripted/FILE and batch stub --script", []string{"llm/scripted"}},

	{"Files", "run-directory", "The run directory: files, results.parquet, crashes", []string{"results"}},
	{"Files", "trajectory", "The trajectory of an attempt: INSTANCE.traj.json", []string{"results/trajectory"}},
	{"Files", "journal", "The journal of an instance: journal.jsonl", []string{"journal"}},
	{"Files", "manifest", "What was asked for and what ran: manifest.json", []string{"results/manifest"}},
	{"Files", "verdict-files", "What grading found: grades.jsonl, logs, quarantine.txt", []string{"results/grades"}},
	{"Files", "training-data", "What batch export writes", []string{"results/export"}},

	{"Look up", "exit-codes", "Exit codes of batch", nil},
	{"Look up", "statuses", "Exit statuses, verdicts, and the kinds of faults", []string{"vocab", "fault"}},
	{"Look up", "environment", "Environment variables that batch reads", nil},
	{"Look up", "templates", "The language of prompt templates", []string{"agent/template"}},
	{"Look up", "secrets", "Which secrets are hidden, and where", []string{"internal/mask"}},
	{"Look up", "program", "How a run treats images, commits, verdicts and signals", []string{"cmd/batch"}},

	{Developers, "designs", "The designs behind batch, and what became of each statement", nil},
}

// ByHand says whether the page is written by hand.
func (p Page) ByHand() bool { return len(p.Packages) == 0 }

// Markdown returns the page's file.
func (p Page) Markdown() string {
	text, err := texts.ReadFile(p.Name + ".md")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// Text returns the page for a terminal.
func (p Page) Text() string { return p.Title + ".\n\n" + forTerminal(p.Markdown()) }
