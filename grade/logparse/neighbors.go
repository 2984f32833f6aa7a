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

// ForSWEGymRepo returns the name of the parser for a row of SWE-Gym, by its repo. The table is from
// SWE-Gym/SWE-Bench-Fork, swebench/harness/log_parsers.py: SWE-bench's, and pytest for the
// repositories that it adds. The parsers follow [V4] rules.
func ForSWEGymRepo(repo string) (name string, ok bool) {
	if name, ok = sweGymByRepo[strings.ToLower(repo)]; ok {
		return name, true
	}
	return ForRepo(repo)
}

var sweGymByRepo = map[string]string{
	"bokeh/bokeh":                "parse_log_pytest",
	"conan-io/conan":             "parse_log_pytest",
	"dask/dask":                  "parse_log_pytest",
	"facebookresearch/hydra":     "parse_log_pytest",
	"getmoto/moto":               "parse_log_pytest",
	"hypothesisworks/hypothesis": "parse_log_pytest",
	"iterative/dvc":              "parse_log_pytest",
	"mne-tools/mne-python":       "parse_log_pytest",
	"modin-project/modin":        "parse_log_pytest",
	"pandas-dev/pandas":          "parse_log_pytest",
	"project-monai/monai":        "parse_log_pytest",
	"pydantic/pydantic":          "parse_log_pytest_pydantic",
	"python/mypy":                "parse_log_pytest",
}

var pydanticProgress = expression(`FAILED\s*\[.*?\]`)

// pydantic is v4's pytestV2 for lines "FAILED [ 12%] name". A line with only a status is an error.
func pydantic(log string, in input, out *results) error {
	in.rules = V4
	for line := range lines(log) {
		line = stripColors(line)
		if strings.Contains(line, Failed) {
			line = pydanticProgress().ReplaceAllLiteralString(line, Failed)
		}
		if err := lineOfTwoWords(line, startsWithStatus(line), endsWithStatus(line), in, out); err != nil {
			return err
		}
	}
	return nil
}

// lineOfTwoWords replaces pytestV2's check of the number of words in the forks.
func lineOfTwoWords(line string, starts, ends bool, in input, out *results) error {
	switch {
	case starts:
		name, status, ok := summaryLine(line, in)
		if !ok {
			return errOneWord
		}
		out.set(name, status)
	case ends:
		if _, rest := cutWord(line); strip(rest) == "" {
			return errOneWord
		}
		trailingV2(line, in, out)
	}
	return nil
}
