package logparse

import (
	"fmt"
	"maps"
	"slices"

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
