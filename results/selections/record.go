package selections

// Selection is the attempt that was chosen for an instance.
type Selection struct {
	InstanceID string `json:"instance_id"`
	// Key identifies everything that the choice depends on: the selector and the candidates.
	Key     string `json:"key"`
	By      string `json:"by"`      // "majority" or "program"; in directories of earlier versions also "tests" and "judge"
	Decided string `json:"decided"` // likewise; "majority" if there was nothing to choose
	Why     string `json:"why"`     // for a person: "3 of 4 attempts made this patch"

	Attempt int    `json:"attempt"`      // the chosen one, from 1
	Dir     string `json:"dir"`          // its run directory
	Patch   string `json:"patch_sha256"` // the PatchDigest (package grades) of its model_patch

	Candidates []Candidate `json:"candidates"` // all attempts, in order
	Choices    int         `json:"choices"`    // different patches among which the selector had to choose

	AttemptsCost *float64 `json:"attempts_cost"` // US dollars of all attempts; null if the cost of one is unknown

	Program string `json:"program_sha256,omitempty"` // digest of the program that decided
	Stderr  string `json:"stderr,omitempty"`         // the end of what it wrote to standard error
}

// Candidate is one attempt at an instance.
type Candidate struct {
	Attempt int      `json:"attempt"`
	Dir     string   `json:"dir"`
	Patch   string   `json:"patch_sha256"`       // empty: the patch is empty, or there is none
	Cost    *float64 `json:"cost"`               // US dollars; null: not known
	LeftOut string   `json:"left_out,omitempty"` // why it could not be chosen: "infrastructure", "no result"
	Votes   int      `json:"votes"`              // attempts with the same patch
}
