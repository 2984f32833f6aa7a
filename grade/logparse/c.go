package logparse

import (
	"errors"
	"strings"
	"unicode"
)

var redisMarks = []mark{{"[ok]:", Passed}, {"[err]:", Failed}, {"[skip]:", Skipped}, {"[ignore]:", Skipped}}

var redisPlace = expression(`\s+in\s+\S+$`)

// redis reads "[ok]: name (12 ms)". The name of a failed test is followed by its file.
func redis(line string, out *results) {
	name, status := cutMarked(line, redisMarks)
	if name == "" {
		return
	}
	name = cutDuration(name)
	if status == Failed {
		name = redisPlace().ReplaceAllLiteralString(name, "")
	}
	out.set(name, status)
}

// cutDuration cuts `\s\(\d+\s*m?s\)` from the end, if that leaves something.
func cutDuration(name string) string {
	inner, ok := strings.CutSuffix(name, "s)")
	open := strings.LastIndexByte(inner, '(')
	if !ok || open < 0 {
		return name
	}
	number := stripRight(strings.TrimSuffix(inner[open+1:], "m"))
	before, ok := cutLastSpace(name[:open])
	if !ok || before == "" || number == "" || strings.TrimLeftFunc(number, unicode.IsDigit) != "" {
		return name
	}
	return before
}

// googletest reads "[       OK ] Suite.Name (3 ms)". It is
// `^.*\[\s*(OK|FAILED)\s*\]\s(.*)\s\(.*\)$`.
func googletest(line string, out *results) {
	if !strings.HasSuffix(line, ")") {
		return
	}
	for end := strings.LastIndexByte(line, '('); end >= 0; end = strings.LastIndexByte(line[:end], '(') {
		head, ok := cutLastSpace(line[:end])
		if !ok {
			continue
		}
		for open := strings.LastIndexByte(head, '['); open >= 0; open = strings.LastIndexByte(head[:open], '[') {
			rest, status := cutMark(stripLeft(head[open+1:]), googleMarks)
			if name, ok := cutSteps(stripLeft(rest), literal("]"), cutSpace); ok && status != "" {
				out.set(name, status)
				return
			}
		}
		return
	}
}

var googleMarks = []mark{{"OK", Passed}, {"FAILED", Failed}}

// doctest reads the report of a doctest binary run with -s -r=xml, from the first
// "<doctest" to the first "</doctest>": "case > subcase" passed if all expressions in the
// subcase did, at any depth. A report that is cut off or not well formed is an error.
func doctest(log string, _ input, out *results) error {
	const endTag = "</doctest>"
	start := strings.Index(log, "<doctest")
	if start < 0 {
		return nil
	}
	size := strings.Index(log[start:], endTag)
	if size < 0 {
		return errors.New("the XML report has no </doctest>")
	}
	var d doctestReport
	if err := scanXML(log[start:start+size+len(endTag)], &d); err != nil {
		return err
	}
	for _, c := range d.cases {
		for _, s := range d.subcases[c.from:c.to] {
			status := Passed
			if s.failed {
				status = Failed
			}
			out.setJoined(status, c.name, " > ", s.name)
		}
	}
	return nil
}

// maxTestCases limits the nesting of test cases: doctest does not nest them at all, and each would
// repeat all subcases of the inner ones.
const maxTestCases = 64

type doctestCase struct {
	name     string
	from, to int // range of its subcases, at any depth, in the report's list
}

type doctestSubcase struct {
	name   string
	failed bool
}

// doctestReport collects the cases and subcases, in the order of the report, as an xmlHandler.
type doctestReport struct {
	cases    []doctestCase
	subcases []doctestSubcase
	open     []int // the cases that are not closed yet
	nested   []int // the subcases that are not closed yet
}

func (d *doctestReport) startElement(tag string, attr map[string]string) error {
	switch tag {
	case "TestCase":
		d.open = append(d.open, len(d.cases))
		d.cases = append(d.cases, doctestCase{name: orNone(attr, "name"), from: len(d.subcases)})
		if len(d.open) > maxTestCases {
			return errors.New("the XML report has test cases too deep in each other")
		}
	case "SubCase":
		d.nested = append(d.nested, len(d.subcases))
		d.subcases = append(d.subcases, doctestSubcase{name: orNone(attr, "name")})
	case "Expression":
		if n := len(d.nested); n > 0 && attr["success"] != "true" {
			d.subcases[d.nested[n-1]].failed = true
		}
	}
	return nil
}

func (d *doctestReport) endElement(tag string) {
	switch tag {
	case "TestCase":
		last := len(d.open) - 1
		d.cases[d.open[last]].to = len(d.subcases)
		d.open = d.open[:last]
	case "SubCase":
		last := len(d.nested) - 1
		if last > 0 && d.subcases[d.nested[last]].failed {
			d.subcases[d.nested[last-1]].failed = true
		}
		d.nested = d.nested[:last]
	}
}

// orNone returns an attribute as Python formats it.
func orNone(attr map[string]string, key string) string {
	if value, ok := attr[key]; ok {
		return value
	}
	return "None"
}
