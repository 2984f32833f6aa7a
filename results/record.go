package results

import (
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// Record is the outcome of one attempt at one instance: the row of
// results.parquet and the last record of an attempt in the journal.
type Record struct {
	InstanceID  string        `json:"instance_id" parquet:"instance_id"`
	Attempt     int           `json:"attempt" parquet:"attempt"` // from 1, over all runs into the directory
	Status      vocab.Status  `json:"exit_status" parquet:"exit_status"`
	Outcome     vocab.Outcome `json:"outcome" parquet:"outcome"`
	Blame       string        `json:"blame,omitempty" parquet:"blame"` // a fault.Kind's name; empty for a result
	Error       string        `json:"error,omitempty" parquet:"error"` // of a result: what the provider or the container said that ended it
	Model       string        `json:"model" parquet:"model"`           // as asked for: model_name_or_path
	ModelID     string        `json:"model_id,omitempty" parquet:"model_id"`
	Image       string        `json:"image,omitempty" parquet:"image"`
	ImageID     string        `json:"image_id,omitempty" parquet:"image_id"`
	ImageDigest string        `json:"image_digest,omitempty" parquet:"image_digest"` // in its registry; empty for a local one
	Steps       int           `json:"steps" parquet:"steps"`                         // model calls, billed ones included
	Usage       vocab.Usage   `json:"usage" parquet:"usage"`
	Cost        float64       `json:"cost" parquet:"cost"` // US dollars
	PatchBytes  int           `json:"patch_bytes" parquet:"patch_bytes"`
	Salvaged    bool          `json:"salvaged,omitempty" parquet:"salvaged"` // the prediction is the work tree's diff
	// Of an attempt that was resumed after a crash or a stop: how often,
	// and how many of its actions had another output when they ran again.
	Resumed     int `json:"resumed,omitempty" parquet:"resumed"`
	Differences int `json:"differences,omitempty" parquet:"differences"`

	Started  time.Time `json:"started" parquet:"started,optional,timestamp(microsecond)"`
	Time     Phases    `json:"seconds" parquet:"seconds"`
	Resolved *bool     `json:"resolved,omitempty" parquet:"resolved,optional"`
}

// Phases says where an attempt's time went, in seconds.
type Phases struct {
	Queue float64 `json:"queue" parquet:"queue"` // for a worker, or before another go
	Pull  float64 `json:"pull" parquet:"pull"`
	Start float64 `json:"start" parquet:"start"`
	Scrub float64 `json:"scrub" parquet:"scrub"` // of the git history, which goes on beside the first call
	// ScrubWait is what of Scrub, and of the wait for its turn, the first action waited for.
	ScrubWait float64 `json:"scrub_wait" parquet:"scrub_wait"`
	Model     float64 `json:"model" parquet:"model"` // in calls, RateWait included
	RateWait  float64 `json:"rate_wait" parquet:"rate_wait"`
	Commands  float64 `json:"commands" parquet:"commands"`
	Save      float64 `json:"save" parquet:"save"` // making the journal durable
	Total     float64 `json:"total" parquet:"total"`
}

// Latest returns, by instance id, the record that counts: that of the last
// attempt. Another tool's prediction, attempt 0, stands in preds.json, and so
// counts when it is a result and the last attempt is none.
func Latest(records []Record) map[string]Record {
	last := map[string]Record{}
	for _, r := range records {
		old, ok := last[r.InstanceID]
		if !ok || supersedes(r, old) {
			last[r.InstanceID] = r
		}
	}
	return last
}

func supersedes(r, old Record) bool {
	if (r.Attempt == 0) != (old.Attempt == 0) && r.Outcome.Final() != old.Outcome.Final() {
		return r.Outcome.Final()
	}
	return r.Attempt > old.Attempt
}

// Result is all that one attempt leaves behind. The store owns it after Put.
type Result struct {
	Record     Record
	Submission []byte // byte for byte what the agent submitted; nil when it did not
	Salvage    []byte // byte for byte the work tree's diff, of a run that did not submit; nil when there is none
	Prediction string // model_patch: valid UTF-8 that applies to the same effect as Submission
	Notes      Notes
}

// Notes is what a trajectory says of an attempt beside its record and its messages.
type Notes struct {
	Salvage    string              `json:"salvaged_patch,omitempty"`  // text of the same effect as Result.Salvage; empty where that is text itself
	Prediction string              `json:"prediction_note,omitempty"` // why the prediction's text is not the submission's bytes
	Commit     *journal.CommitData `json:"image_commit,omitempty"`    // where the image is not at the row's base_commit
	Traceback  string              `json:"traceback,omitempty"`
}
