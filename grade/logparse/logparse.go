package logparse

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
)

// The statuses of a test. Parsers of pytest's summary keep the first word of the line unchanged, so
// that a status can also be another text, such as "ERROR:".
const (
	Passed  = "PASSED"
	Failed  = "FAILED"
	Skipped = "SKIPPED"
	Error   = "ERROR"
	XFail   = "XFAIL"
)

// statusWords is in the order in which the reference defines them.
var statusWords = [...]string{Failed, Passed, Skipped, Error, XFail}

// Statuses maps a test's name to its status.
type Statuses = map[string]string

// Rules is a generation of the reference's rules.
type Rules int

const (
	// V5 is release 5.0.2 (August 2026).
	V5 Rules = iota
	// V4 is release 4.1.0 (September 2025), which graded results until 17 August 2026.
	V4
)

// String returns "v5" or "v4".
func (r Rules) String() string {
	if r == V4 {
		return "v4"
	}
	return "v5"
}

// ParseRules is the inverse of [Rules.String]. The error is a usage fault.
func ParseRules(s string) (Rules, error) {
	switch s {
	case "v5":
		return V5, nil
	case "v4":
		return V4, nil
	}
	return V5, fault.Newf(fault.Usage, "rules %q: want v5 or v4", s)
}

// Row has the columns that some parsers need beside the log.
type Row struct {
	InstanceID, Repo, Version string
}

// Parse runs the named parser on log. It also returns the names in the order of their first
// occurrence: the reference's choice between several tests that match a truncated id depends on it.
// A log without results gives an empty map, never nil. The error is a *[fault.Error]: of kind Usage
// for an unknown parser, of kind Instance for a log or row on which the reference's parser raises
// an exception.
func Parse(name, log string, row Row, r Rules) (Statuses, []string, error) {
	parse, ok := parsers[name]
	if !ok {
		parse, ok = neighborParsers[name]
	}
	if !ok {
		return nil, nil, unknown(name)
	}
	out, err := run(name, parse, log, input{row: row, rules: r})
	if err != nil {
		return nil, nil, err
	}
	return out.statuses, out.order, nil
}

func run(name string, parse parser, log string, in input) (*results, error) {
	out := newResults(len(log))
	err := parse(log, in, out)
	if err == nil {
		err = out.err
	}
	if err != nil {
		return nil, fault.New(fault.Instance, "reading the test log with "+name, err).
			WithHint("the official harness has no verdict for such a log either")
	}
	return out, nil
}

// Names returns the names of the 57 registered parsers, sorted. [Parse] also knows "pytest",
// the name in SWE-bench-Live's Python rows, "r2e_gym" for R2E-Gym's, and SWE-Gym's
// "parse_log_pytest_pydantic".
func Names() []string { return slices.Sorted(maps.Keys(parsers)) }

// bringOne is the hint for a test runner without a parser.
const bringOne = "for another test runner, give `--parser EXECUTABLE`:\n" +
	"a program that reads the log on standard input and prints {\"test name\": \"PASSED\", ...} as JSON"

func unknown(name string) error {
	return fault.Newf(fault.Usage, "no log parser has the name %q", name).WithHint("%s", near.Hint(near.Name(name, Names()),
		fmt.Sprintf("known are %d parsers, from parse_log_ant to parse_log_vitest; %s", len(parsers), bringOne)))
}

// A parser adds its results in log to out. Its error describes the reference's exception, in words
// that continue "reading the test log with parse_log_x: ".
type parser func(log string, in input, out *results) error

// input has what a parser may use beside the log.
type input struct {
	row   Row
	rules Rules
}

// parsers has every parser by its registered name.
var parsers = map[string]parser{
	"parse_log_pytest":      eachLine(pytest),
	"parse_log_astroid":     eachLine(pytest),
	"parse_log_flask":       eachLine(pytest),
	"parse_log_marshmallow": eachLine(pytest),
	"parse_log_pvlib":       eachLine(pytest),
	"parse_log_pyvista":     eachLine(pytest),
	"parse_log_sqlfluff":    eachLine(pytest),
	"parse_log_xarray":      eachLine(pytest),

	"parse_log_pytest_options": eachLine(pytestOptions),
	"parse_log_pydicom":        eachLine(pytestOptions),
	"parse_log_requests":       eachLine(pytestOptions),
	"parse_log_pylint":         eachLine(pytestOptions),

	"parse_log_pytest_v2": eachLine(pytestV2),
	"parse_log_astropy":   eachLine(pytestV2),
	"parse_log_scikit":    eachLine(pytestV2),
	"parse_log_sphinx":    eachLine(pytestV2),

	"parse_log_matplotlib": eachLine(matplotlib),
	"parse_log_seaborn":    seaborn,
	"parse_log_django":     django,
	"parse_log_sympy":      sympy,

	"parse_log_redis":            eachStripped(redis),
	"parse_log_jq":               eachStripped(jq),
	"parse_log_doctest":          doctest,
	"parse_log_micropython_test": eachStripped(micropython),
	"parse_log_googletest":       eachStripped(googletest),

	"parse_log_gotest": eachStripped(gotest),
	"parse_log_cargo":  eachStripped(cargo),

	"parse_log_maven":         maven,
	"parse_log_ant":           eachStripped(ant),
	"parse_log_gradle_custom": gradle,

	"parse_log_phpunit": phpunit,

	"parse_log_minitest":               eachStripped(minitest),
	"parse_log_cucumber":               eachStripped(cucumber),
	"parse_log_ruby_unit":              eachStripped(rubyUnit),
	"parse_log_rspec_transformed_json": eachStripped(rspec),
	"parse_log_jekyll":                 jekyll,

	"parse_log_bpmn_js":      bpmnJS,
	"parse_log_calypso":      calypso,
	"parse_log_carbon":       eachLine(passFail),
	"parse_log_chart_js":     chartJS,
	"parse_log_eslint":       eslint,
	"parse_log_grommet":      grommet,
	"parse_log_highlightjs":  highlightJS,
	"parse_log_immutable_js": immutableJS,
	"parse_log_jest":         eachLine(jest),
	"parse_log_jest_json":    eachStripped(jestJSON),
	"parse_log_karma":        karma,
	"parse_log_lighthouse":   lighthouse,
	"parse_log_marked":       eachLine(failedNumbered),
	"parse_log_next":         next,
	"parse_log_openlayers":   openLayers,
	"parse_log_p5js":         p5JS,
	"parse_log_prismjs":      prismJS,
	"parse_log_quarto_cli":   quarto,
	"parse_log_react_pdf":    eachLine(passFail),
	"parse_log_tap":          eachStripped(tap),
	"parse_log_vitest":       eachStripped(vitest),
}

// eachLine makes a parser from a function that handles one line.
func eachLine(line func(line string, in input, out *results)) parser {
	return func(log string, in input, out *results) error {
		for l := range lines(log) {
			line(l, in, out)
		}
		return nil
	}
}

// eachStripped is eachLine with lines that are trimmed on both sides.
func eachStripped(line func(line string, out *results)) parser {
	return func(log string, _ input, out *results) error {
		for l := range lines(log) {
			line(strip(l), out)
		}
		return nil
	}
}

// results collects a parser's results like a Python dict: a later status of a name replaces the
// earlier one, and the name keeps its first place.
type results struct {
	statuses Statuses
	order    []string
	room     int // number of bytes that names may still take
	err      error
}

// A name can be longer than its line, since some names include the suite's. One hostile suite name
// of megabytes before thousands of tests would take all memory; the names in real logs are shorter
// than the log.
const (
	nameBytesPerLogByte = 16
	nameBytesAnyway     = 64 << 20
)

var errNames = errors.New("the tests' names are much longer than the log itself")

func newResults(logBytes int) *results {
	return &results{statuses: Statuses{}, room: nameBytesAnyway + nameBytesPerLogByte*logBytes}
}

// set records a status.
func (r *results) set(name, status string) {
	before := len(r.statuses)
	r.statuses[name] = status
	if len(r.statuses) > before {
		r.order = append(r.order, name)
	}
}

// setFirst records a status unless the name already has one.
func (r *results) setFirst(name, status string) {
	if _, known := r.statuses[name]; !known {
		r.set(name, status)
	}
}

// setPass records a status, but a pass does not replace another status.
func (r *results) setPass(name, status string) {
	if status == Passed {
		r.setFirst(name, status)
	} else {
		r.set(name, status)
	}
}

// setJoined records a status for a name that consists of several parts.
func (r *results) setJoined(status string, parts ...string) {
	if name, ok := r.join(parts...); ok {
		r.set(name, status)
	}
}

// join must be used for every name that the parser builds and that could be longer than its
// line.
func (r *results) join(parts ...string) (name string, ok bool) {
	for _, p := range parts {
		r.room -= len(p)
	}
	if r.room < 0 {
		r.err = errNames
		return "", false
	}
	return strings.Join(parts, ""), true
}

// lines yields the lines of text until r has an error.
func (r *results) lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for r.err == nil {
			i := strings.IndexByte(text, '\n')
			if i < 0 {
				yield(text)
				return
			}
			if !yield(text[:i]) {
				return
			}
			text = text[i+1:]
		}
	}
}

// nested is the path of the suites that a test is in.
type nested struct {
	separator string
	path      []byte // the suites' names, each with separator after it
	starts    []int  // where each begins in path
	joined    string // path as a string, if current
	stale     bool
}

func (n *nested) enter(name string) {
	n.starts = append(n.starts, len(n.path))
	n.path = append(append(n.path, name...), n.separator...)
	n.stale = true
}

// leave leaves all suites except the outermost ones; depth is how many remain.
func (n *nested) leave(depth int) {
	if depth < len(n.starts) {
		n.path, n.starts, n.stale = n.path[:n.starts[depth]], n.starts[:depth], true
	}
}

// prefix returns the text before the name of a test.
func (n *nested) prefix() string {
	if n.stale {
		n.joined, n.stale = string(n.path), false
	}
	return n.joined
}

// suites tracks nesting that a report shows only by indents: a line belongs to the nearest line
// above with a smaller indent.
type suites struct {
	nested
	indents []int
}

const suiteSeparator = " - "

func newSuites() *suites { return &suites{nested: nested{separator: suiteSeparator}} }

// enterLine leaves the suites with the same or a larger indent, and enters the line.
func (s *suites) enterLine(line string) {
	indent := indentOf(line)
	n := len(s.indents)
	for n > 0 && s.indents[n-1] >= indent {
		n--
	}
	s.leave(n)
	s.indents = append(s.indents[:n], indent)
	s.enter(strip(line))
}
