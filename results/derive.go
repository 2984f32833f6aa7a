package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/journal"
)

// Only this file derives an instance's files, when its attempt ends, after a crash, and
// from a journal without other files. The patches and the trajectory follow from the
// journal's [journal.History] and the [Result], and the Result from the journal.

// resultOf returns the result in the journal, as it was given to [Store.Put].
func resultOf(h *journal.History) (*Result, error) {
	var end endData
	if err := json.Unmarshal(h.End, &end); err != nil {
		return nil, fault.New(fault.Instance, "reading the end record", err)
	}
	r := &Result{Record: end.Record, Notes: end.Notes}
	if h.Prediction != nil {
		var p predictionData
		if err := json.Unmarshal(h.Prediction, &p); err != nil {
			return nil, fault.New(fault.Instance, "reading the prediction record", err)
		}
		r.Prediction = p.Patch
	}
	r.Submission, r.Salvage = patchesOf(h)
	return r, nil
}

// patchesOf returns the patches in the journal; nil means none.
func patchesOf(h *journal.History) (submission, salvage []byte) {
	if h.Submission != nil {
		submission = h.Submission.Submission
	}
	if h.Salvage != nil {
		salvage = h.Salvage.Patch
	}
	return submission, salvage
}

// peerVersion is the version of mini-swe-agent that defines a trajectory's format
// (mini-swe-agent-1.1) and keys.
const peerVersion = "2.4.6"

// headOf returns a trajectory's head.
func headOf(h *journal.History, r *Result) Info {
	info := Info{
		ModelStats:     ModelStats{Cost: r.Record.Cost, Calls: r.Record.Steps},
		MiniVersion:    peerVersion,
		ExitStatus:     r.Record.Status,
		Submission:     r.Prediction,
		Exception:      r.Record.Error,
		Traceback:      r.Notes.Traceback,
		Salvage:        r.Notes.Salvage,
		PredictionNote: r.Notes.Prediction,
		ImageCommit:    r.Notes.Commit,
		Record:         &r.Record,
		Rewrites:       rewritesOf(h),
	}
	if info.Salvage == "" && utf8.Valid(r.Salvage) {
		info.Salvage = string(r.Salvage)
	}
	image := r.Record.Image
	if h.Container != nil { // the record of an attempt that broke off has no image
		image = cmp.Or(image, h.Container.Image)
	}
	info.BatchVersion, info.Config = ConfigOf(h.Opened, image)
	return info
}

// ConfigOf returns the version of batch and the config that an attempt had last, as its trajectory has them,
// from the data of the records that began and resumed it. The config is empty if these have no settings.
func ConfigOf(opened []json.RawMessage, image string) (version string, config map[string]any) {
	var made struct {
		Settings struct {
			Config           map[string]any `json:"config"`
			Prompts, Version string
		}
	}
	for _, data := range opened {
		var d struct{ Settings json.RawMessage }
		if json.Unmarshal(data, &d) == nil && d.Settings != nil {
			made.Settings.Config = nil
			_ = decodeExactly(data, &made) // settings that are not an object are not reported
		}
	}
	version, config = made.Settings.Version, map[string]any{}
	if made.Settings.Config == nil && version == "" {
		return version, config
	}
	maps.Copy(config, made.Settings.Config)
	if made.Settings.Prompts != "" {
		config["prompts"] = made.Settings.Prompts
	}
	env := map[string]any{}
	if base, ok := config["environment"].(map[string]any); ok {
		maps.Copy(env, base)
	}
	env["image"] = image
	config["environment"] = env
	if agent, ok := config["agent"].(map[string]any); ok && agent["cost_limit"] != nil {
		agent["cost_limit"] = floating(agent["cost_limit"])
	}
	config["agent_type"], config["model_type"], config["environment_type"] = "batch.agent.Loop", "batch.llm", "batch.docker"
	if of, _ := config["agent"].(map[string]any); of["program"] != nil {
		config["agent_type"] = "batch.agent.Program"
	}
	return version, config
}

// floating writes a number as Python writes a float. In mini-swe-agent a limit in dollars
// is a float: a template shows 3.0.
func floating(v any) any {
	if n, ok := v.(json.Number); ok && !strings.ContainsAny(n.String(), ".eE") {
		return n + ".0"
	}
	return v
}

// historyOf returns the journal's history.
func (s *Store) historyOf(id string) *journal.History {
	h, err := s.History(id)
	return s.orEmpty(id, h, err)
}

// shownOf returns what people may read of the history in the journal.
func (s *Store) shownOf(id string, h *journal.History) *journal.History {
	if !h.Copies {
		return h
	}
	shown, err := journal.ReadShown(s.path(id, journalFile), h.Attempt)
	return s.orEmpty(id, shown, err)
}

// orEmpty returns a history that could be read. An unreadable journal must not lose a result: the
// history is then empty.
func (s *Store) orEmpty(id string, h *journal.History, err error) *journal.History {
	if err == nil {
		return h
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.log.Load().Warn("a trajectory is written without messages", "instance", id, "err", err)
	}
	return &journal.History{}
}

// writeInstanceFiles replaces the instance's patches and its trajectory, which people may read, durably.
func (s *Store) writeInstanceFiles(r *Result, shown *journal.History, shownResult *Result) error {
	id := r.Record.InstanceID
	err := s.writeOrRemove(s.path(id, id+".patch"), r.Submission)
	if err == nil {
		err = s.writeOrRemove(s.path(id, id+".salvaged.patch"), r.Salvage)
	}
	if err == nil {
		err = s.writeTrajectory(s.trajectoryPath(id), shown, shownResult)
	}
	if err == nil {
		err = s.files.SyncDir(s.path(id, ""))
	}
	return atomicfile.Fault("saving "+id, err)
}

// rederive writes an instance's files from its journal alone, after its attempt has ended.
func (s *Store) rederive(id string) error {
	h, err := s.History(id)
	if err != nil {
		return err
	}
	r, err := resultOf(h)
	if err != nil {
		return err
	}
	shown, shownResult := s.shownOf(id, h), r
	if shown.End != nil {
		if shownResult, err = resultOf(shown); err != nil {
			return err
		}
	}
	return s.writeInstanceFiles(r, shown, shownResult)
}

// together calls do for each id, a few at once since they wait for the disk, and tell for
// each failure. A failure loses nothing, because the journals have everything.
func together(ids []string, do func(id string) error, tell func(id string, err error)) {
	errs := make([]error, len(ids))
	var group errgroup.Group
	group.SetLimit(8)
	for i, id := range ids {
		group.Go(func() error {
			errs[i] = do(id)
			return nil
		})
	}
	_ = group.Wait() // none fails
	for i, err := range errs {
		if err != nil {
			tell(ids[i], err)
		}
	}
}

// writeInterrupted writes, from their journals, the trajectories of attempts that broke off
// and were not resumed.
func (s *Store) writeInterrupted() {
	s.mu.Lock()
	records := map[string]Record{}
	for id, in := range s.instances {
		if in.state.brokenOff() {
			records[id] = in.past[len(in.past)-1].Record
		}
	}
	s.mu.Unlock()
	ids := slices.Collect(maps.Keys(records))
	together(ids, func(id string) error { return s.writeBrokenOff(records[id]) }, func(id string, err error) {
		s.log.Load().Warn("writing the trajectory of an interrupted attempt", "instance", id, "err", err)
	})
}

// writeBrokenOff writes the trajectory of an attempt that broke off, unless there is one
// newer than the journal.
func (s *Store) writeBrokenOff(r Record) error {
	path := s.trajectoryPath(r.InstanceID)
	written, err := os.Stat(s.path(r.InstanceID, journalFile))
	if err != nil {
		return err
	}
	if there, err := os.Stat(path); err == nil && there.ModTime().After(written.ModTime()) {
		return nil
	}
	h := s.shownOf(r.InstanceID, s.historyOf(r.InstanceID))
	return s.writeTrajectory(path, h, unended(h, r))
}

// unended returns the result so far of an attempt that has no end record.
func unended(h *journal.History, r Record) *Result {
	result := &Result{Record: r}
	result.Submission, result.Salvage = patchesOf(h)
	if h.Container != nil {
		result.Notes.Commit = h.Container.Commit
	}
	return result
}

// decodeExactly keeps numbers as they are written.
func decodeExactly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}
