package logparse

import (
	"maps"
	"slices"
	"strings"
)

// neighborParsers can be used by name like the registered ones, but [Names] leaves them out: they
// belong to other datasets.
var neighborParsers = map[string]parser{
	// The value of the column log_parser in SWE-bench-Live's Python rows.
	"pytest": livePytest,
	// R2E-Gym's rows name no parser, since they all have this one.
	"r2e_gym": r2eGym,
	// SWE-Gym's rows name no parser, see ForSWEGymRepo.
	"parse_log_pytest_pydantic": pydantic,
}

// livePytest is default_pytest_parser of microsoft/SWE-bench-Live, evaluation/evaluation.py:
// pytest's summary by v4 rules, in which everything but a pass or a skip is a failure.
func livePytest(log string, in input, out *results) error {
	in.rules = V4
	for line := range lines(log) {
		name, status, ok := summaryLine(line, in)
		lower := strings.ToLower(status)
		switch {
		case !ok:
		case strings.Contains(lower, "pass"):
			out.set(name, Passed)
		case strings.Contains(lower, "skip"):
			out.set(name, Skipped)
		default:
			out.set(name, Failed)
		}
	}
	return nil
}

// r2eGym is parse_log_pytest of R2E-Gym/R2E-Gym, src/r2egym/repo_analysis/execution_log_parser.py,
// followed by the reward's change of names; see [NormalizeR2EGym].
func r2eGym(log string, _ input, out *results) error {
	const heading = "short test summary info"
	_, summary, _ := strings.Cut(log, heading)
	summary, _, _ = strings.Cut(summary, heading)
	raw := Statuses{}
	for line := range lines(strip(summary)) {
		_, name, _ := strings.Cut(line, "::") // "" for a line without a test, which counts
		name = strings.ReplaceAll(name, "::", ".")
		short, _, _ := strings.Cut(name, " - ")
		switch {
		case strings.Contains(line, Passed):
			raw[name] = Passed
		case strings.Contains(line, Failed):
			raw[short] = Failed
		case strings.Contains(line, Error):
			raw[short] = Error
		}
	}
	named := NormalizeR2EGym(raw)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		out.set(name, named[name])
	}
	return nil
}

var r2eColor = expression(`\x1b\[\d+m`)

// NormalizeR2EGym removes colors and " - message" from names. R2E-Gym's reward does this with the
// statuses of a run and of the row's expected_output_json before it compares them. If names become
// equal, the last in the order of code points wins.
func NormalizeR2EGym(s Statuses) Statuses {
	plain := make(Statuses, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		plain[r2eColor().ReplaceAllString(name, "")] = s[name]
	}
	short := make(Statuses, len(s))
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		before, _, _ := strings.Cut(name, " - ")
		short[before] = plain[name]
	}
	return short
}
