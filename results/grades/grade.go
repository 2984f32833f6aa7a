package grades

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/idlist"
	"batch.example/batch/internal/regular"
	"batch.example/batch/vocab"
)

// Grade is the result of one execution of an instance's tests for one prediction.
type Grade struct {
	InstanceID string `json:"instance_id"`
	Attempt    int    `json:"attempt"` // the attempt that made the prediction; 0: another tool
	Model      string `json:"model_name_or_path"`

	// Patch is the [PatchDigest] of the prediction's model_patch in preds.json, even if the
	// applied bytes came from <id>.patch.
	Patch string `json:"patch_sha256"`

	// What the patch was tested with. After an early failure, these may be empty.
	Script      string `json:"script_sha256,omitempty"` // of the eval script's bytes, in hex
	Image       string `json:"image,omitempty"`
	ImageID     string `json:"image_id,omitempty"`
	ImageDigest string `json:"image_digest,omitempty"` // in its registry; empty for a local one
	Engine      string `json:"engine,omitempty"`       // its address, if it was named
	Family      string `json:"family,omitempty"`       // of datasets
	Parser      string `json:"parser,omitempty"`
	Rules       string `json:"rules,omitempty"` // v5 or v4
	Basis       Basis  `json:"judged_by,omitzero"`

	Verdict    vocab.Verdict `json:"verdict"`
	Why        string        `json:"why,omitempty"`       // for a person, if it is not resolved
	Error      string        `json:"error,omitempty"`     // of an infrastructure failure
	Blame      string        `json:"blame,omitempty"`     // of an infrastructure failure: a fault.Kind's name
	Withdraws  bool          `json:"withdraws,omitempty"` // the verdict before it is known not to hold any more
	Suspicious []string      `json:"suspicious,omitempty"`
	Doubt      string        `json:"doubt,omitempty"` // why a verdict of the tests may be wrong: the log lost tests
	Notes      []string      `json:"notes,omitempty"` // for a person: how this grading differed from an ordinary one

	// FailedInstall is the line of the log with which the first install of the eval script failed:
	// the image's old build was tested.
	FailedInstall string `json:"failed_install,omitempty"`

	// Rewards are what a task's own verifier gave, by name; nil: it gave none, or tests judged.
	Rewards map[string]float64 `json:"rewards,omitempty"`

	FailToPass Tests  `json:"FAIL_TO_PASS,omitzero"`
	PassToPass Tests  `json:"PASS_TO_PASS,omitzero"`
	ExitCode   *int   `json:"exit_code,omitempty"` // of the test command; nil: not known
	Applied    string `json:"applied,omitempty"`   // the command that applied the patch

	// Repeat is the number of the execution with --repeat, from 1; 0 without it.
	Repeat int  `json:"repeat,omitempty"`
	Cached bool `json:"cached,omitempty"` // judged from the log of an earlier execution

	Started time.Time `json:"started"`
	Time    Seconds   `json:"seconds"`
	Log     string    `json:"log,omitempty"` // folder of the logs, relative to the run directory, with slashes

	// Verdicts has the verdicts of the repeated executions, in order, and Unstable says
	// that they differ. [Latest] sets both; they are not in the file.
	Verdicts []vocab.Verdict `json:"verdicts,omitempty"`
	Unstable bool            `json:"unstable,omitempty"`
}

// Tests are the names of the expected tests, in the dataset's order.
type Tests struct {
	Passed []string `json:"passed,omitempty"`
	Failed []string `json:"failed,omitempty"`
}

// Seconds has the durations of the parts of a grading. Pull, Start, Apply, Tests, Judge and
// Close are parts of Total.
type Seconds struct {
	Queue float64 `json:"queue"` // waiting for a worker; before Total
	Pull  float64 `json:"pull"`  // of the image, or waiting for it
	Start float64 `json:"start"` // of the container
	Apply float64 `json:"apply"` // of the patch
	Tests float64 `json:"tests"`
	Judge float64 `json:"judge"` // parsing the log
	Close float64 `json:"close"` // until the removal of the container begins
	Total float64 `json:"total"`
}

// Resolved is nil if the verdict does not count.
func (g *Grade) Resolved() *bool {
	if !g.Verdict.Counts() {
		return nil
	}
	resolved := g.Verdict == vocab.VerdictResolved
	return &resolved
}

// Reward returns the reward that decides: the one with the name reward, or the only one; nil: there is
// none.
func (g *Grade) Reward() *float64 {
	r, found := g.Rewards["reward"]
	if !found && len(g.Rewards) == 1 {
		for _, r = range g.Rewards {
			found = true
		}
	}
	if !found {
		return nil
	}
	return &r
}

// PatchDigest identifies a model_patch: its SHA-256 in hex, or "" for an empty one.
func PatchDigest(patch string) string {
	if patch == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(patch))
	return hex.EncodeToString(sum[:])
}

// Basis identifies everything that a verdict depends on, except the patch, the eval script,
// the rules and the image, which a [Grade] names itself. Each member is a digest, or a short
// value itself. A zero Basis means that an old version of batch did not record it.
type Basis struct {
	Tests   string `json:"tests"`            // the expected tests, in order, and how they are checked
	Parser  string `json:"parser,omitempty"` // the bytes of the program that reads the log; empty: batch reads it
	Setup   string `json:"setup,omitempty"`  // the commands before the patch is applied
	Files   string `json:"files"`            // the files that are put back, to which commit, and what the tests need beside the script
	Gold    string `json:"gold"`             // the patch that resolves the instance, with its version of files that a run leaves out
	Limits  string `json:"limits"`           // of time and of the container, and the container's user and settings
	Network string `json:"network"`          // of the tests
	Rules   int    `json:"rules"`            // number of batch's own rules about what decides a verdict, see package evaluate
}

// Changed names the differences between b and an earlier basis, for a person; empty: there
// are none.
func (b Basis) Changed(was Basis) string {
	switch {
	case was == (Basis{}):
		return "what it was judged by was not recorded"
	case b.Rules != was.Rules:
		return "this version of batch has other rules about what decides a verdict"
	}
	for _, part := range []struct{ now, was, text string }{
		{b.Tests, was.Tests, "the expected tests have changed"},
		{b.Parser, was.Parser, "the program that reads the log has changed"},
		{b.Setup, was.Setup, "what prepares the repository has changed"},
		{b.Files, was.Files, "the files of the tests have changed"},
		{b.Gold, was.Gold, "the gold patch has changed"},
		{b.Limits, was.Limits, "the limits or settings of its container have changed"},
		{b.Network, was.Network, "the network of the tests has changed"},
	} {
		if part.now != part.was {
			return part.text
		}
	}
	return ""
}

// QuarantineFile is the name of the list of quarantined instances in a run directory.
const QuarantineFile = "quarantine.txt"

// Quarantined returns the ids in the quarantine.txt of the run directory dir, sorted;
// none if there is no file.
func Quarantined(dir string) ([]string, error) {
	path := filepath.Join(dir, QuarantineFile)
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, atomicfile.Fault("reading "+QuarantineFile, err)
	}
	return ParseQuarantine(path, string(text))
}

// ParseQuarantine returns the ids in the text of such a list, sorted. The error, a Usage
// fault, has name and the line's number.
func ParseQuarantine(name, text string) ([]string, error) {
	ids, err := idlist.Parse(name, text)
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
