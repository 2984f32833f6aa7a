package results

import (
	"encoding/json"
	"io"

	"batch.example/batch/internal/regular"
	"batch.example/batch/vocab"
)

// foreignEntry describes a prediction that another tool made.
type foreignEntry struct {
	model      string
	patchBytes int
	unfit      error // why it cannot be used as a prediction; nil: it can be
	imported   bool  // into a directory of predictions alone: an empty patch is all that its tool said

	read bool // info below has been looked for
	info foreignInfo
}

type foreignInfo struct {
	ExitStatus vocab.Status `json:"exit_status"`
	ModelStats ModelStats   `json:"model_stats"`
}

// foreignRecord returns another tool's prediction as a record of attempt 0, and whether it
// counts as done. Reader.mu is held.
func (rd *Reader) foreignRecord(p *prediction) (Record, bool) {
	f := p.foreign
	if !f.read {
		f.read = true
		if checkID(p.id) == nil {
			f.info, _ = readTrajectoryInfo(rd.trajectoryPath(p.id)) //nolint:errcheck // no trajectory, no status
		}
	}
	r := Record{
		InstanceID: p.id, Status: f.info.ExitStatus, Model: f.model, PatchBytes: f.patchBytes,
		Steps: f.info.ModelStats.Calls, Cost: f.info.ModelStats.Cost,
	}
	r.Outcome = foreignOutcome(r.Status, f.patchBytes)
	if f.unfit != nil && f.patchBytes == 0 {
		r.Outcome = vocab.OutcomeInfrastructure
	}
	if f.imported && f.unfit == nil && r.Status == "" && f.patchBytes == 0 {
		r.Outcome = vocab.OutcomeEmpty
	}
	if r.Status == "" {
		r.Status = vocab.StatusUnknown
	}
	return r, r.Outcome.Final()
}

// replaced returns another tool's attempt at an instance that batch has attempted since, by its
// trajectory, which was kept; false: there is none. Reader.mu is held.
func (rd *Reader) replaced(in *instance) (Record, bool) {
	if rd.preds.foreignOf(in.id) != nil {
		return Record{}, false
	}
	info, err := readTrajectoryInfo(EarlierTrajectory(rd.dir, in.id, 0))
	if err != nil {
		return Record{}, false
	}
	r := Record{InstanceID: in.id, Status: info.ExitStatus, Steps: info.ModelStats.Calls, Cost: info.ModelStats.Cost, Replaced: true}
	if r.Outcome = foreignOutcome(r.Status, 0); r.Status == "" {
		r.Status = vocab.StatusUnknown
	}
	return r, true
}

// foreignOutcome reads another tool's exit status. A patch is a result with any status;
// without a patch, the attempt has a result only if the agent itself ended it.
func foreignOutcome(status vocab.Status, patchBytes int) vocab.Outcome {
	switch o := status.Outcome(); {
	case o.Final() && o != vocab.OutcomeSubmitted:
		return o
	case patchBytes > 0:
		return vocab.OutcomeSubmitted
	case o == vocab.OutcomeSubmitted:
		return vocab.OutcomeEmpty
	}
	return vocab.OutcomeInfrastructure
}

// readTrajectoryInfo reads the head of a trajectory without its messages,
// which every tool writes behind it.
func readTrajectoryInfo(path string) (foreignInfo, error) {
	f, err := regular.Open(path)
	if err != nil {
		return foreignInfo{}, err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	if _, err := d.Token(); err != nil {
		return foreignInfo{}, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return foreignInfo{}, err
		}
		if key == "info" {
			var info foreignInfo
			err := d.Decode(&info)
			return info, err
		}
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return foreignInfo{}, err
		}
	}
	return foreignInfo{}, io.ErrUnexpectedEOF
}

// TrajectoryStats returns the number and the cost of the calls in a trajectory file. ok is
// false if the file or these facts are missing.
func TrajectoryStats(path string) (stats ModelStats, ok bool) {
	info, err := readTrajectoryInfo(path)
	return info.ModelStats, err == nil && info.ModelStats != (ModelStats{})
}
