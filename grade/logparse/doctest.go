package logparse

import (
	"errors"
	"strings"
)

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
