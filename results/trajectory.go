package results

import (
	"encoding/json"

	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// TrajectoryFormat is the format tag that existing tools look for.
const TrajectoryFormat = "mini-swe-agent-1.1"

// Trajectory is the content of <id>/<id>.traj.json. Members stand in the
// peer's order; Info holds the peer's keys (model_stats, config, mini_version,
// exit_status, submission, traceback, exception_str) and ours beside them.
type Trajectory struct {
	Info       Info              `json:"info"`
	Messages   []json.RawMessage `json:"messages"`
	Format     string            `json:"trajectory_format"`
	InstanceID string            `json:"instance_id"`
}

// Info is a trajectory's head.
type Info struct {
	ModelStats     ModelStats          `json:"model_stats"`
	Config         map[string]any      `json:"config"`
	MiniVersion    string              `json:"mini_version"` // the peer's version whose format this is
	BatchVersion   string              `json:"batch_version"`
	ExitStatus     vocab.Status        `json:"exit_status"`
	Submission     string              `json:"submission"`
	Exception      string              `json:"exception_str,omitempty"`
	Traceback      string              `json:"traceback,omitempty"`
	Salvage        string              `json:"salvaged_patch,omitempty"`  // work tree's diff of a run that did not submit
	PredictionNote string              `json:"prediction_note,omitempty"` // why the prediction's text is not the submission's bytes
	ImageCommit    *journal.CommitData `json:"image_commit,omitempty"`    // where the image is not at the row's base_commit
	Record         *Record             `json:"batch,omitempty"`
}

// ModelStats is what the peer counts.
type ModelStats struct {
	Cost  float64 `json:"instance_cost"`
	Calls int     `json:"api_calls"`
}
