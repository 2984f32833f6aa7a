package logparse

import "strings"

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
