package search

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/journal"
)

// Place is a kind of text.
type Place string

// The places.
const (
	Thought Place = "thought" // the model's text and reasoning, without commands
	Command Place = "command" // also the arguments of another tool
	Output  Place = "output"  // output of a command
	Patch   Place = "patch"   // the submission, otherwise the working tree's diff
)

// Places returns all places, in the order of hits within a step.
func Places() []Place { return []Place{Thought, Command, Output, Patch} }

// Query is what to look for. Exactly one of Text, Regexp, Ran and Edits is set.
type Query struct {
	Text   string `json:"text,omitempty"`   // a part of a text
	Regexp string `json:"regexp,omitempty"` // in Go's syntax
	Ran    string `json:"ran,omitempty"`    // the first words of a command: "git log" also finds "git -C x log -1"
	Edits  string `json:"edits,omitempty"`  // "tests": changes of files that look like tests

	Fold  bool    `json:"fold,omitempty"`  // ignore case in Text, Regexp and Ran
	In    []Place `json:"in,omitempty"`    // empty: everywhere; Ran and Edits have their own
	Limit int     `json:"limit,omitempty"` // hits at most; 0: DefaultLimit
}

// DefaultLimit is how many hits there are at most if no number is given.
const DefaultLimit = 500

// EditsTests is the value of Query.Edits.
const EditsTests = "tests"

// matcher finds the matches in a text.
type matcher struct {
	in   map[Place]bool
	find func(text []byte) []int // returns the first match, like regexp.FindIndex
}

// compile checks a query.
func (q Query) compile() (*matcher, error) {
	set := 0
	for _, s := range []string{q.Text, q.Regexp, q.Ran, q.Edits} {
		if s != "" {
			set++
		}
	}
	if set != 1 {
		return nil, fault.Newf(fault.Usage, "a search needs one of a text, a regular expression, ran and edits").
			WithHint("give a text to look for")
	}
	m := &matcher{in: map[Place]bool{}}
	for _, p := range q.places() {
		if !slices.Contains(Places(), p) {
			return nil, fault.Newf(fault.Usage, "unknown place %q to search", p).WithHint("use thought, command, output or patch")
		}
		m.in[p] = true
	}
	return m, q.finder(m)
}

func (q Query) places() []Place {
	switch {
	case q.Ran != "":
		return []Place{Command}
	case q.Edits != "":
		return []Place{Command, Patch}
	case len(q.In) > 0:
		return q.In
	}
	return Places()
}

// finder sets how the query finds a match.
func (q Query) finder(m *matcher) error {
	switch {
	case q.Edits != "" && q.Edits != EditsTests:
		return fault.Newf(fault.Usage, "unknown edits %q", q.Edits).WithHint("use %s", EditsTests)
	case q.Edits != "":
		m.find = editsOfTests
		return nil
	case q.Text != "" && !q.Fold:
		text := []byte(q.Text)
		m.find = func(in []byte) []int { return at(bytes.Index(in, text), len(text)) }
		return nil
	case q.Text != "" && isASCII(q.Text):
		m.find = foldFinder(q.Text)
		return nil
	}
	return q.regexp(m)
}

func (q Query) regexp(m *matcher) error {
	expr := q.Regexp
	switch {
	case q.Text != "":
		expr = regexp.QuoteMeta(q.Text)
	case q.Ran != "":
		expr = ranExpr(q.Ran)
	}
	if q.Fold {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return fault.Newf(fault.Usage, "the regular expression cannot be used: %w", err)
	}
	part := requiredIn(expr)
	m.find = func(in []byte) []int {
		if len(part) > 0 && !bytes.Contains(in, part) {
			return nil
		}
		at := re.FindSubmatchIndex(in)
		if at != nil && q.Ran != "" {
			return at[2:4]
		}
		return at[:min(2, len(at))]
	}
	return nil
}

// at returns the match at index i, which may be -1.
func at(i, n int) []int {
	if i < 0 {
		return nil
	}
	return []int{i, i + n}
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c >= 0x80 }) < 0
}

// foldFinder finds an ASCII text in either case, several times as fast as a regular expression.
func foldFinder(text string) func([]byte) []int {
	lower := lowerASCII([]byte(text))
	return func(in []byte) []int { return at(bytes.Index(lowerASCII(in), lower), len(lower)) }
}

// lowerASCII returns text with ASCII letters in lower case; no byte changes its place.
func lowerASCII(text []byte) []byte {
	lower := make([]byte, len(text))
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return lower
}

// ranExpr returns an expression for a command that begins with words, possibly with options between them, at
// the beginning of a line or after a separator.
func ranExpr(words string) string {
	var quoted []string
	for _, w := range strings.Fields(words) {
		quoted = append(quoted, regexp.QuoteMeta(w))
	}
	options := `(?:\s+-\S+(?:\s+[^\s-]\S*)?)*?\s+`
	return `(?:^|[\n;&|(` + "`" + `/$]|\b(?:sudo|exec|time|xargs|then|do|else|env)\s)\s*(` + strings.Join(quoted, options) + `)(?:$|[^\w-])`
}

// editsOfTests finds the name of a test file in a command that seems to change it, or in the header lines of
// a patch.
func editsOfTests(text []byte) []int {
	if bytes.HasPrefix(text, []byte("diff --git ")) || bytes.Contains(text, []byte("\ndiff --git ")) {
		if at := testInPatch().FindSubmatchIndex(text); at != nil {
			return at[2:4]
		}
		if !journal.ChangesFile("", string(text)) {
			return nil
		}
	}
	if at := testFile().FindSubmatchIndex(text); at != nil && journal.ChangesFile("", string(text)) {
		return at[2:4]
	}
	return nil
}

// testName matches the name of a file that looks like a test, in the languages of the datasets.
const testName = `(?:[\w.@+-]+/)*(?:` +
	`(?:tests?|testing|__tests__|spec|specs)/[\w.@+/-]*[\w@+-]+\.\w+|` +
	`(?:test_[\w.-]+|[\w.-]+_tests?)\.\w+|` +
	`conftest\.py|` +
	`[\w-]+\.(?:test|spec)\.\w+|` +
	`[A-Z]\w*Tests?\.(?:java|kt|scala|cs|php|groovy)|` +
	`[\w-]+_spec\.rb)`

var (
	testFile    = lazy.Regexp(`(?:^|[\s"'=:>(/])(` + testName + `)(?:$|[^\w./-])`)
	testInPatch = lazy.Regexp(`(?m)^(?:\+\+\+ b/|--- a/|rename to )(` + testName + `)\s*$`)
)

// requiredIn returns a text that every match of an expression contains: the longest one that is easy to find.
// Looking for it first is many times as fast as the expression, and most texts do not contain it.
func requiredIn(expr string) []byte {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	return []byte(required(re))
}

func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if text := required(sub); len(text) > len(longest) {
				longest = text
			}
		}
		return longest
	}
	return ""
}
