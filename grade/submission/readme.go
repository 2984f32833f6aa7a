package submission

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// readme returns README.md: the result, its authors and their tools, and the checklist of the
// repository of entries. A point is ticked if the run shows it.
func readme(r *Run, t Target, m Metadata) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", m.Name)
	if t.Board.Name != "multimodal" {
		resultsTable(&b, r, t)
	}
	fmt.Fprintf(&b, "## System\n\n- Report: <%s>\n- Site: <%s>\n- Authors: %s\n- Organization: %s\n", m.Report, m.Site,
		strings.Join(m.Authors, ", "), strings.Join(m.Org, ", "))
	if models := r.models(); len(models) > 0 {
		fmt.Fprintf(&b, "- Model: %s\n", strings.Join(models, ", "))
	}
	if r.own() {
		fmt.Fprintf(&b, "- Run by: batch %s, prompts: %s\n", r.Batch, r.Prompts)
	}
	b.WriteString("\n## Checklist\n\n")
	for _, p := range checklist(r) {
		tick := " "
		if p.shown {
			tick = "x"
		}
		fmt.Fprintf(&b, "- [%s] %s\n", tick, p.text)
		fmt.Fprintf(&b, "  - %s\n", p.why)
	}
	return b.Bytes()
}

func resultsTable(b *bytes.Buffer, r *Run, t Target) {
	title := r.Dataset
	if t.Board.Title != "" {
		title = t.Board.Title
	}
	all, done := map[string]int{}, map[string]int{}
	for _, in := range r.Instances {
		all[in.Repo]++
		if resolved(in) {
			done[in.Repo]++
		}
	}
	fmt.Fprintf(b, "## Results\n\nResolved %s of %s.\n\n| repository | resolved | instances |\n|---|---|---|\n", share(r.Resolved(), len(r.Instances)), title)
	for _, repo := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(b, "| %s | %d | %d |\n", repo, done[repo], all[repo])
	}
	b.WriteString("\n")
}

func share(n, of int) string {
	return fmt.Sprintf("%d of the %d instances (%.2f%%)", n, of, 100*float64(n)/float64(max(of, 1)))
}

type point struct {
	text  string
	shown bool // by the run
	why   string
}

// checklist returns the points of the repository's checklist.md, literally, since the pull request
// must repeat them.
func checklist(r *Run) []point {
	own := r.own()
	why := func(ok bool, yes, no string) string {
		if ok {
			return yes
		}
		return no
	}
	const foreign = "made by another tool: tick it where it is so"
	network := r.network()
	return []point{
		{
			"Is a pass@1 submission (does not attempt the same task instance more than once)", own,
			why(own, "no instance was attempted again after a result; only infrastructure failures were", foreign),
		},
		{
			"Does not use SWE-bench test knowledge (`PASS_TO_PASS`, `FAIL_TO_PASS`)", own,
			why(own, "the agent is given the problem statement and no other column of the row", foreign),
		},
		{
			"Does not use the `hints` field in SWE-bench", own,
			why(own, "the agent is given the problem statement and no other column of the row", foreign),
		},
		{
			"Does not have web-browsing OR has taken steps to prevent lookup of SWE-bench solutions via web-browsing",
			network == "none",
			why(network == "none", "the containers had no network", "network of the agent: "+network+"; say what kept solutions out of reach"),
		},
	}
}
