package swebench

import "batch.example/batch/internal/python"

// Report is the content of an instance's report.json.
type Report struct {
	InstanceID string
	NoPatch    bool // the prediction's patch is null
	Found      bool // the log could be graded; otherwise Resolved and Tests are ignored
	Resolved   bool
	Failure    Failure // why the log could not be graded
	Tests      TestsStatus
	V4         bool // with the members of release 4.1.0
}

// Split divides a list of tests by their outcome, in the row's order. Tests with neither outcome
// are left out.
type Split struct {
	Success []string
	Failure []string
}

// MarshalJSON writes {"success": [...], "failure": [...]}, with [] for an empty list.
func (s Split) MarshalJSON() ([]byte, error) {
	return python.Compact(struct {
		Success []string `json:"success"`
		Failure []string `json:"failure"`
	}{orEmpty(s.Success), orEmpty(s.Failure)})
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// TestsStatus is "tests_status" of a report. The last two are always empty, as in the
// official reports.
type TestsStatus struct {
	FailToPass Split `json:"FAIL_TO_PASS"`
	PassToPass Split `json:"PASS_TO_PASS"`
	FailToFail Split `json:"FAIL_TO_FAIL"`
	PassToFail Split `json:"PASS_TO_FAIL"`
}

// Failure says that something other than the prediction may be the reason why a log could not be
// graded. The zero value says that nothing was found. As in the harness, it is advice that is
// derived from the log.
type Failure struct {
	Tier   string // [Environment] or [Ambiguous]
	Reason string // "out_of_memory"
}

// The tiers of a [Failure].
const (
	Environment = "environment" // a patch of the source is hardly the cause
	Ambiguous   = "ambiguous"   // a broken environment or a bad patch
)

// reportFile is the file's entry for an instance. The members have the harness's order.
type reportFile struct {
	PatchIsNone bool         `json:"patch_is_None"`
	PatchExists bool         `json:"patch_exists"`
	Applied     bool         `json:"patch_successfully_applied"`
	Resolved    bool         `json:"resolved"`
	Infra       *bool        `json:"infra_failure,omitempty"`
	Reason      string       `json:"infra_failure_reason,omitempty"`
	Tests       *TestsStatus `json:"tests_status,omitempty"`
}

// JSON returns the text of the file.
func (r Report) JSON() ([]byte, error) {
	f := reportFile{PatchIsNone: r.NoPatch, PatchExists: !r.NoPatch}
	var failure Failure
	switch {
	case r.NoPatch:
	case r.Found:
		f.Applied, f.Resolved, f.Tests = true, r.Resolved, &r.Tests
	default:
		failure = r.Failure
	}
	if !r.V4 {
		infra := failure.Tier == Environment
		f.Infra, f.Reason = &infra, failure.Reason
	}
	return python.Dumps(map[string]any{r.InstanceID: f}, indent)
}

const indent = 4
