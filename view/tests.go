package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results/grades"
)

// testsPage is the data of a page about an attempt's verdict.
type testsPage struct {
	Run      string        `json:"run"`
	Instance string        `json:"instance_id"`
	Attempt  int           `json:"attempt"`
	Grade    *grades.Grade `json:"grade"` // nil: it is not graded
	Lists    []testList    `json:"tests"`
	Log      string        `json:"log,omitempty"` // path of the log in the run directory
	NoLog    string        `json:"no_log,omitempty"`
	tabs
}

// testList is the tests of one kind with one result.
type testList struct {
	Kind  string     `json:"kind"`  // FAIL_TO_PASS or PASS_TO_PASS
	Ends  string     `json:"ended"` // passed or failed
	Open  bool       `json:"-"`
	Tests []testView `json:"tests"`
}

// testView is a test, with the lines of the log that name it. If it failed, lines around these are there too.
type testView struct {
	Name  string    `json:"name"`
	Lines []logLine `json:"lines,omitempty"`
	More  int       `json:"more_lines,omitempty"` // lines that name it and are left out

	failed bool
	last   int // number of the last line that names it
}

type logLine struct {
	Number int    `json:"line"`
	Text   string `json:"text"`
	Around bool   `json:"around,omitempty"` // it does not name the test
	Gap    bool   `json:"-"`                // lines before it are left out
}

// tests answers with the tests of an attempt's grade and their lines in the log.
func (s *Server) tests(w http.ResponseWriter, r *http.Request) {
	o, err := s.open(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d := testsPage{Run: o.run.Name, Instance: o.id, Attempt: o.view.Attempt, tabs: o.tabs("tests")}
	if rec := o.record(); rec != nil && rec.Grade != nil {
		d.Grade = rec.Grade
		d.Lists = listsOf(rec.Grade)
		if d.Log = logOf(rec.Grade); d.Log != "" {
			if err := o.quote(r.Context(), d.Lists); err != nil {
				d.NoLog = err.Error()
			}
		}
	}
	s.show(w, r, "tests", o.id+": tests", d)
}

// testLog answers with the log of an attempt's tests as text, without secrets.
func (s *Server) testLog(w http.ResponseWriter, r *http.Request) {
	o, err := s.open(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	f, err := o.openLog()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer f.Close()
	download(w, "", true, nil)
	_ = o.copyLog(w, f) // the reader has left
}

// openLog opens the log of an attempt's tests. A link in a run directory of somebody else must not show
// another file of this machine.
func (o *opened) openLog() (*os.File, error) {
	if rec := o.record(); rec != nil && rec.Grade != nil {
		if path := logOf(rec.Grade); path != "" {
			return regular.OpenIn(o.run.Dir, path)
		}
	}
	return nil, fault.New(fault.Usage, o.id+" in "+o.run.Name, missing("no log of tests"))
}

// copyLog copies a log without secrets.
func (o *opened) copyLog(to io.Writer, log io.Reader) error {
	out := o.mask.Writer(to)
	_, err := io.Copy(out, log)
	return errors.Join(err, out.Flush())
}

// logOf returns the path of a grade's log in the run directory; "" if there is none.
func logOf(g *grades.Grade) string {
	if g.Log == "" {
		return ""
	}
	return filepath.Join(filepath.FromSlash(g.Log), swebench.OutputName)
}

func listsOf(g *grades.Grade) (list []testList) {
	add := func(kind, ends string, names []string, open bool) {
		l := testList{Kind: kind, Ends: ends, Open: open}
		for _, name := range names {
			l.Tests = append(l.Tests, testView{Name: name, failed: ends == "failed"})
		}
		if len(names) > 0 {
			list = append(list, l)
		}
	}
	add("FAIL_TO_PASS", "failed", g.FailToPass.Failed, true)
	add("PASS_TO_PASS", "failed", g.PassToPass.Failed, true)
	add("FAIL_TO_PASS", "passed", g.FailToPass.Passed, true)
	add("PASS_TO_PASS", "passed", g.PassToPass.Passed, false)
	return list
}

// Limits for quotes of a log.
const (
	mostLines   = 3 // of a test that passed
	mostQuoted  = 40
	linesBefore = 2    // a line that names a failed test
	linesAfter  = 12   // such a line
	mostAround  = 4000 // for all tests
	longestLine = 400
	mostRead    = 16 << 10 // bytes of a line, which may be a patch's output
)

// quote adds the lines of the log about each test. It ends with ctx.
func (o *opened) quote(ctx context.Context, lists []testList) error {
	f, err := o.openLog()
	if err != nil {
		return fmt.Errorf("the log of the tests is not there: %w", err)
	}
	defer f.Close()
	lines := &logLines{ctx: ctx, named: newNamed(lists)}
	if err := o.copyLog(lines, f); err != nil { // as a whole: a secret may have several lines
		return fmt.Errorf("reading the log of the tests: %w", err)
	}
	if len(lines.line) > 0 {
		lines.end()
	}
	return nil
}

// logLines cuts a log into lines.
type logLines struct {
	ctx    context.Context
	named  *named
	number int
	line   []byte // the beginning of a line that has not ended
}

// Write implements [io.Writer]. It fails once the reader of the page has left.
func (l *logLines) Write(text []byte) (int, error) {
	for part := range bytes.Lines(text) {
		l.line = append(l.line, part[:min(len(part), mostRead-len(l.line))]...)
		if part[len(part)-1] == '\n' {
			l.end()
		}
	}
	return len(text), l.ctx.Err()
}

func (l *logLines) end() {
	l.number++
	l.named.see(strings.TrimRight(string(l.line), "\r\n"), l.number)
	l.line = l.line[:0]
}

// endLength is the length of a name's end by which it is found, in bytes.
const endLength = 8

// named finds the tests that a line names. The time does not depend on the number of tests.
type named struct {
	byEnd  map[string][]*testView
	short  []*testView            // tests whose names are shorter than endLength
	byHead map[string][]*testView // as pytest heads what a test printed: Class.method of file.py::Class::method

	before []logLine         // the last lines
	until  map[*testView]int // number of the last line to quote after one that names a failed test
	around int               // number of lines that name no test
}

func newNamed(lists []testList) *named {
	n := &named{byEnd: map[string][]*testView{}, byHead: map[string][]*testView{}, until: map[*testView]int{}}
	for _, l := range lists {
		for i := range l.Tests {
			t := &l.Tests[i]
			if at := len(t.Name) - endLength; at >= 0 {
				n.byEnd[t.Name[at:]] = append(n.byEnd[t.Name[at:]], t)
			} else if t.Name != "" {
				n.short = append(n.short, t)
			}
			if _, name, ok := strings.Cut(t.Name, "::"); ok {
				head := strings.ReplaceAll(name, "::", ".")
				n.byHead[head] = append(n.byHead[head], t)
			}
		}
	}
	return n
}

func (n *named) see(text string, number int) {
	line, names := logLine{Number: number, Text: cut(text, longestLine)}, false
	for end := endLength; end <= len(text); end++ {
		for _, t := range n.byEnd[text[end-endLength:end]] {
			if strings.HasSuffix(text[:end], t.Name) {
				n.quote(t, line)
				names = true
			}
		}
	}
	for _, t := range n.short {
		if strings.Contains(text, t.Name) {
			n.quote(t, line)
			names = true
		}
	}
	if strings.HasPrefix(text, "_") {
		for _, t := range n.byHead[strings.Trim(text, "_ ")] {
			n.quote(t, line)
			names = true
		}
	}
	if names { // a list of results explains no failure
		n.before = n.before[:0]
		return
	}
	line.Around = true
	for t, until := range n.until {
		if number > until {
			delete(n.until, t)
			continue
		}
		n.add(t, line)
	}
	n.before = append(n.before[max(0, len(n.before)-linesBefore+1):], line)
}

// quote adds a line that names the test. The same line may come again.
func (n *named) quote(t *testView, line logLine) {
	if t.last == line.Number {
		return
	}
	t.last = line.Number
	if len(t.Lines) >= mostQuoted || !t.failed && len(t.Lines) == mostLines {
		t.More++
		return
	}
	if t.failed {
		for _, before := range n.before {
			n.add(t, before)
		}
		n.until[t] = line.Number + linesAfter
	}
	n.add(t, line)
}

// add adds a line, unless the test has it.
func (n *named) add(t *testView, line logLine) {
	last := 0
	if len(t.Lines) > 0 {
		last = t.Lines[len(t.Lines)-1].Number
	}
	if line.Number <= last || line.Around && (len(t.Lines) >= mostQuoted || n.around >= mostAround) {
		return
	}
	if line.Around {
		n.around++
	}
	line.Gap = last > 0 && line.Number > last+1
	t.Lines = append(t.Lines, line)
}
