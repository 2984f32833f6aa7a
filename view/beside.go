package view

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/trajectory"
)

// sideBySide is the data of a page with several attempts at one instance.
type sideBySide struct {
	Instance string         `json:"instance_id"`
	Columns  []besideColumn `json:"attempts"`
	Rows     []besideRow    `json:"rows"`
	First    int            `json:"first_divergence"` // index of the row; -1: the attempts that have steps did the same
	Cut      bool           `json:"cut,omitempty"`    // only the first mostBeside steps are compared
	Files    []besideFile   `json:"files,omitempty"`
	Tests    []besideTest   `json:"tests,omitempty"` // tests that do not end the same everywhere
	Every    bool           `json:"-"`               // all attempts were requested, not only the last ones
	Others   []choice       `json:"-"`               // runs that can be shown
}

// besideColumn is the column of an attempt.
type besideColumn struct {
	Run     string          `json:"run"`
	Attempt int             `json:"attempt"`
	Link    string          `json:"link"`
	Steps   int             `json:"steps"`
	Name    string          `json:"-"` // for heads of tables
	Record  *results.Record `json:"record,omitempty"`
	Error   string          `json:"error,omitempty"` // why it cannot be read

	Unmasked bool   `json:"unmasked,omitempty"` // see trajectory.Overview
	NoFile   string `json:"-"`                  // for files that its patch does not change

	brief []stepSummary
	files []fileDiff
}

// besideRow has either steps that ran the same commands, or steps without a match.
type besideRow struct {
	Same  bool           `json:"same"` // all attempts that have steps have one here, with the same commands
	First bool           `json:"first_divergence,omitempty"`
	Steps []*stepSummary `json:"steps"` // by column; nil: none
}

// stepSummary is a summary of a step.
type stepSummary struct {
	Number   int      `json:"step"`
	Link     string   `json:"link"`
	Thought  string   `json:"thought,omitempty"`
	Commands []string `json:"commands"`
	Exit     *int     `json:"exit_code,omitempty"` // exit code of the last command
	Flags    []string `json:"flags,omitempty"`
	Equal    bool     `json:"equal,omitempty"` // the commands equal those of the first attempt in this row

	key string
}

// besideFile is a file that a patch changes.
type besideFile struct {
	Name    string   `json:"name"`
	Changes []change `json:"changes"` // by column
}

// change is how one attempt changed a file. Attempts with the same letter made the same change.
type change struct {
	Letter         string `json:"same_as,omitempty"` // empty: it did not change the file
	Added, Removed int    `json:"-"`
	Link           string `json:"-"`
}

// besideTest is a test with its result in each column: passed, failed or empty.
type besideTest struct {
	Name string   `json:"name"`
	Kind string   `json:"kind"`
	Ends []string `json:"ends"`
}

// mostBeside is the maximum number of compared steps of an attempt.
const mostBeside = 500

// beside answers with all attempts at an instance, side by side.
func (s *Server) beside(w http.ResponseWriter, r *http.Request) {
	all, err := s.runStates()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	q := r.URL.Query()
	d := sideBySide{Instance: r.PathValue("id"), Every: q.Has("every")}
	for _, st := range all {
		if !slices.Contains(st.ids, d.Instance) {
			continue
		}
		chosen := len(q["run"]) == 0 || slices.Contains(q["run"], st.Name)
		d.Others = append(d.Others, choice{st.Name, st.Name, chosen})
		if chosen {
			d.add(s, st)
		}
	}
	if len(d.Others) == 0 {
		s.fail(w, r, fault.Newf(fault.Usage, "no run has an instance %q", d.Instance))
		return
	}
	// The first attempt is the one that others are compared with: it has steps, if any has.
	slices.SortStableFunc(d.Columns, func(a, b besideColumn) int { return min(1, len(b.brief)) - min(1, len(a.brief)) })
	d.align()
	d.compareFiles()
	d.compareTests()
	s.show(w, r, "beside", d.Instance, d)
}

// add adds the attempts of a run.
func (d *sideBySide) add(s *Server, st *runState) {
	o := &opened{id: d.Instance, number: -1}
	if err := s.openIn(o, st.Name); err != nil {
		c := besideColumn{Run: st.Name, Name: st.Name, Link: attemptLink(st.Name, d.Instance), Error: s.c.Mask.Text(err.Error()), NoFile: "not read"}
		if why, ok := errors.AsType[missing](err); ok {
			c.Error, c.NoFile = string(why), string(why)
		}
		d.Columns = append(d.Columns, c)
		return
	}
	if d.Every {
		for _, a := range o.view.Attempts {
			if a.Number == o.view.Attempt {
				continue
			}
			earlier := &opened{id: d.Instance, number: a.Number}
			if s.openIn(earlier, st.Name) == nil {
				d.Columns = append(d.Columns, earlier.column())
			}
		}
	}
	d.Columns = append(d.Columns, o.column())
}

// Compared returns how many attempts have steps.
func (d sideBySide) Compared() (n int) {
	for _, c := range d.Columns {
		n += min(1, len(c.brief))
	}
	return n
}

// Unmasked reports whether one of the attempts is unmasked.
func (d sideBySide) Unmasked() bool {
	return slices.ContainsFunc(d.Columns, func(c besideColumn) bool { return c.Unmasked })
}

// column reads an attempt for a comparison.
func (o *opened) column() besideColumn {
	c := besideColumn{Unmasked: o.view.Unmasked, Run: o.run.Name, Attempt: o.view.Attempt, Steps: len(o.view.Marks), Record: o.record()}
	c.Link, c.Name = attemptLink(o.run.Name, o.id), c.Run
	if c.Attempt > 1 {
		c.Name += fmt.Sprintf(", attempt %d", c.Attempt)
	}
	if o.number >= 0 {
		c.Link += fmt.Sprintf("?attempt=%d", o.number)
	}
	page, err := o.attempt.Page(1, min(len(o.view.Marks), mostBeside), trajectory.Options{Clip: 1})
	if err != nil {
		c.Error, c.NoFile = err.Error(), "not read"
		return c
	}
	for _, st := range page.Steps {
		c.brief = append(c.brief, o.brief(st))
	}
	c.NoFile = "unchanged"
	patch, _, err := o.attempt.Patch()
	if c.files = filesIn(string(patch)); err != nil || c.files == nil {
		c.NoFile = "no patch"
	}
	return c
}

// Lengths of texts in a comparison, in bytes.
const (
	briefThought = 300
	briefCommand = 1500
)

func (o *opened) brief(st trajectory.Step) stepSummary {
	b := stepSummary{Number: st.Number, Link: o.link(st.Number), Thought: cut(strings.TrimSpace(st.Thought), briefThought), Flags: st.Flags.Names()}
	for _, a := range st.Actions {
		text := a.Command
		if text == "" {
			text = a.Tool
		}
		b.key += text + "\x00"
		b.Commands = append(b.Commands, cut(text, briefCommand))
		b.Exit = a.Exit
	}
	return b
}

// cut shortens a text to about most bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// align makes the rows: steps of the other attempts are put next to the steps of the first attempt that ran
// the same commands, as far as their order allows.
func (d *sideBySide) align() {
	d.First = -1
	if len(d.Columns) == 0 {
		return
	}
	base := d.Columns[0].brief
	matched := make([][]int, len(d.Columns)) // by column: the match of each step of the first attempt; -1: none
	for c := range d.Columns {
		matched[c] = common(base, d.Columns[c].brief)
		d.Cut = d.Cut || d.Columns[c].Steps > mostBeside
	}
	next := make([]int, len(d.Columns)) // by column: the first step without a row
	for d.row(matched, next) {
	}
	if d.First = slices.IndexFunc(d.Rows, func(r besideRow) bool { return !r.Same }); d.First >= 0 {
		d.Rows[d.First].First = true
	}
}

// row adds the next row. It pairs the next step of the first attempt with the matching steps of the others.
// Steps of the others before their match come first, in rows without the first attempt's step. An attempt
// without a match shows its next unmatched step.
func (d *sideBySide) row(matched [][]int, next []int) bool {
	i := next[0]
	row := besideRow{Steps: make([]*stepSummary, len(d.Columns))}
	waits := i == len(d.Columns[0].brief) // the first attempt has no step in this row
	for c := 1; c < len(d.Columns) && !waits; c++ {
		waits = matched[c][i] > next[c]
	}
	some := false
	for c := range d.Columns {
		at, beside := next[c], c == 0
		if c > 0 && !waits {
			beside = matched[c][i] >= 0
		}
		if c == 0 && waits || at >= d.until(matched, c, i) && !beside {
			continue
		}
		row.Steps[c], some = &d.Columns[c].brief[at], true
		next[c]++
	}
	if !some {
		return false
	}
	row.compare(d.Columns)
	d.Rows = append(d.Rows, row)
	return true
}

// compare marks the steps that ran the same commands as the first attempt's. An attempt without steps, such as
// one that has not begun, differs from none.
func (r *besideRow) compare(columns []besideColumn) {
	r.Same = r.Steps[0] != nil
	for i, b := range r.Steps[1:] {
		if b == nil || r.Steps[0] == nil || b.key != r.Steps[0].key {
			r.Same = r.Same && len(columns[i+1].brief) == 0
			continue
		}
		b.Equal = true
	}
}

// until returns the first step of a column that matches a step of the first attempt, from its step i on.
func (d *sideBySide) until(matched [][]int, column, i int) int {
	if at := slices.IndexFunc(matched[column][i:], func(at int) bool { return at >= 0 }); at >= 0 {
		return matched[column][i+at]
	}
	return len(d.Columns[column].brief)
}

// common finds a longest common subsequence of two lists of steps, by their commands. It returns the matching
// index in b for each step of a; -1: none.
func common(a, b []stepSummary) []int {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].key == b[j].key {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	at := make([]int, len(a))
	for i, j := 0, 0; i < len(a); i++ {
		at[i] = -1
		for j < len(b) && a[i].key != b[j].key && length[i][j+1] == length[i][j] {
			j++
		}
		if j < len(b) && a[i].key == b[j].key {
			at[i] = j
			j++
		}
	}
	return at
}

// compareFiles lists the files that the patches change, and marks equal changes.
func (d *sideBySide) compareFiles() {
	index := map[string]int{}
	changes := map[string]*[]string{}
	for c, col := range d.Columns {
		for _, f := range col.files {
			i, known := index[f.Name]
			if !known {
				i = len(d.Files)
				index[f.Name], changes[f.Name] = i, new([]string)
				d.Files = append(d.Files, besideFile{Name: f.Name, Changes: make([]change, len(d.Columns))})
			}
			base, query, _ := strings.Cut(col.Link, "?")
			d.Files[i].Changes[c] = change{Letter: letter(changes[f.Name], f), Added: f.Added, Removed: f.Removed, Link: base + "/patch?" + query}
		}
	}
}

// letter returns a letter for a change of a file; equal changes have the same letter.
func letter(known *[]string, f fileDiff) string {
	i := slices.Index(*known, f.Text)
	if i < 0 {
		i = len(*known)
		*known = append(*known, f.Text)
	}
	if i >= 26 {
		return fmt.Sprint(i + 1)
	}
	return string(rune('A' + i))
}

// compareTests lists the tests whose results differ between graded attempts.
func (d *sideBySide) compareTests() {
	type test struct{ kind, name string }
	ends := map[test][]string{}
	var order []test
	for c, col := range d.Columns {
		if col.Record == nil || col.Record.Grade == nil {
			continue
		}
		for _, l := range listsOf(col.Record.Grade) {
			for _, one := range l.Tests {
				k := test{l.Kind, one.Name}
				if ends[k] == nil {
					ends[k] = make([]string, len(d.Columns))
					order = append(order, k)
				}
				ends[k][c] = l.Ends
			}
		}
	}
	for _, k := range order {
		known := slices.DeleteFunc(slices.Clone(ends[k]), func(s string) bool { return s == "" })
		if len(slices.Compact(known)) > 1 {
			d.Tests = append(d.Tests, besideTest{k.name, k.kind, ends[k]})
		}
	}
}
