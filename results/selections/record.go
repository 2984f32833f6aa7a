package selections

import "batch.example/batch/vocab"

// Selection is the attempt that was chosen for an instance.
type Selection struct {
	InstanceID string `json:"instance_id"`
	// Key identifies everything that the choice depends on: the selector and the candidates.
	Key     string `json:"key"`
	By      string `json:"by"`      // selector that was asked for
	Decided string `json:"decided"` // selector that decided; another one than By after a fallback
	Why     string `json:"why"`     // for a person: "3 of 4 attempts made this patch"

	Attempt int    `json:"attempt"`      // the chosen one, from 1
	Dir     string `json:"dir"`          // its run directory
	Patch   string `json:"patch_sha256"` // the PatchDigest (package grades) of its model_patch

	Candidates []Candidate `json:"candidates"` // all attempts, in order
	Choices    int         `json:"choices"`    // different patches among which the selector had to choose

	AttemptsCost  *float64 `json:"attempts_cost"`  // US dollars of all attempts; null if the cost of one is unknown
	SelectionCost float64  `json:"selection_cost"` // US dollars of the judge
	Calls         int      `json:"calls"`          // of the judge
	Unreadable    int      `json:"unreadable"`     // replies of the judge that name no candidate
}

// Candidate is one attempt at an instance.
type Candidate struct {
	Attempt int      `json:"attempt"`
	Dir     string   `json:"dir"`
	Patch   string   `json:"patch_sha256"`       // empty: the patch is empty, or there is none
	Cost    *float64 `json:"cost"`               // US dollars; null: not known
	LeftOut string   `json:"left_out,omitempty"` // why it could not be chosen: "infrastructure", "no result"
	Votes   int      `json:"votes"`              // attempts with the same patch
	Tests   bool     `json:"tests,omitempty"`    // it adds or changes tests
	Passed  *int     `json:"passed,omitempty"`   // tests of all candidates that its code passed
	Number  int      `json:"number,omitempty"`   // under which the judge saw it
}

// Asked says that a judge is about to be asked about an instance. The call may be charged:
// until a [Reply] or an [Unpaid] of the instance follows, it counts with its reserved
// amount.
type Asked struct {
	InstanceID string  `json:"instance_id"`
	Prompt     string  `json:"prompt_sha256"` // of the text that is asked
	Model      string  `json:"model"`         // as it was asked for
	Reserved   float64 `json:"reserved"`      // US dollars
}

// Unpaid says that the last call about an instance failed, and was not charged.
type Unpaid struct {
	InstanceID string `json:"instance_id"`
}

// Reply is the reply of a judge.
type Reply struct {
	InstanceID string      `json:"instance_id"`
	Prompt     string      `json:"prompt_sha256"` // of the text that was asked
	Model      string      `json:"model"`         // as it was asked for
	ModelID    string      `json:"model_id,omitempty"`
	Try        int         `json:"try"` // from 1; the second one follows a reply without a number
	Text       string      `json:"text"`
	Chosen     int         `json:"chosen"`             // number of a candidate; 0: the reply names none
	Cost       float64     `json:"cost"`               // US dollars
	Unpriced   bool        `json:"unpriced,omitempty"` // the cost is unknown: the reserved amount counts
	Usage      vocab.Usage `json:"usage"`
	Seconds    float64     `json:"seconds"`
}

// Tested is a run of one attempt's tests on another attempt's code.
type Tested struct {
	InstanceID string `json:"instance_id"`
	// Key identifies the run: both patches, the script and the image.
	Key     string  `json:"key"`
	Code    int     `json:"code_of"`  // attempt
	Tests   int     `json:"tests_of"` // attempt
	Passed  int     `json:"passed"`
	Failed  int     `json:"failed"`
	Note    string  `json:"note,omitempty"` // why nothing passed, for a person: "the patch does not apply"
	Seconds float64 `json:"seconds"`
}
