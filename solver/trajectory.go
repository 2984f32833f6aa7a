package solver

import (
	"encoding/json"
	"maps"
	"slices"

	"batch.example/batch/llm"
	"batch.example/batch/results"
)

// peerVersion is the version of mini-swe-agent whose trajectory format
// (mini-swe-agent-1.1) and keys a trajectory carries.
const peerVersion = "2.4.6"

// trajectory builds the instance's trajectory from what is known so far.
func (t *attempt) trajectory() *results.Trajectory {
	rec := &t.result.Record
	tr := &results.Trajectory{
		Format:     results.TrajectoryFormat,
		InstanceID: t.in.ID,
		Messages:   t.messages(),
		Info: results.Info{
			ModelStats:     results.ModelStats{Cost: rec.Cost, Calls: rec.Steps},
			Config:         t.settings(),
			MiniVersion:    peerVersion,
			BatchVersion:   t.Version,
			ExitStatus:     rec.Status,
			Submission:     t.result.Prediction,
			Salvage:        t.notes.salvage,
			PredictionNote: t.notes.prediction,
			Record:         rec,
		},
	}
	return tr
}

func (t *attempt) messages() []json.RawMessage {
	if t.past != nil {
		// What was written before the resume is taken as it stands.
		if h, err := t.journalled(); err == nil {
			return slices.Concat(h.Messages, h.Later)
		}
	}
	if t.ending == nil {
		return []json.RawMessage{}
	}
	return rawMessages(t.ending.Messages)
}

// journalled is the attempt as its journal tells it.
func (t *attempt) journalled() (*results.History, error) {
	if err := t.journal.Flush(); err != nil {
		return nil, err
	}
	return t.Store.History(t.in.ID)
}

// rawMessages are messages as they stand in a trajectory.
func rawMessages(messages []llm.Message) []json.RawMessage {
	list := make([]json.RawMessage, 0, len(messages))
	for _, m := range messages {
		list = append(list, rawMessage(m))
	}
	return list
}

func rawMessage(m llm.Message) json.RawMessage {
	raw, err := m.MarshalJSON() // json.Marshal would escape < and > in it
	if err != nil {
		// A provider's message that is not an object: keep what was understood of it.
		m.Raw = nil
		raw, _ = m.MarshalJSON()
	}
	return raw
}

// settings is the run's config with the environment as it was for this instance.
func (t *attempt) settings() map[string]any {
	c := maps.Clone(t.Settings)
	if c == nil {
		c = map[string]any{}
	}
	env := map[string]any{}
	if base, ok := c["environment"].(map[string]any); ok {
		maps.Copy(env, base)
	}
	maps.Copy(env, t.box.Settings)
	env["image"] = t.box.Image
	c["environment"] = env
	c["agent_type"], c["model_type"], c["environment_type"] = "batch.agent.Loop", "batch.llm", "batch.docker"
	return c
}
