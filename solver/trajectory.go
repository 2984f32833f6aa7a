package solver

import (
	"encoding/json"
	"maps"

	"batch.example/batch/llm"
	"batch.example/batch/results"
)

// peerVersion is the version of mini-swe-agent whose trajectory format
// (mini-swe-agent-1.1) and keys a trajectory carries.
const peerVersion = "2.4.6"

// info is the head of the trajectory; the messages are the journal's.
func (t *attempt) info() results.Info {
	rec := &t.result.Record
	return results.Info{
		ModelStats:     results.ModelStats{Cost: rec.Cost, Calls: rec.Steps},
		Config:         t.settings(),
		MiniVersion:    peerVersion,
		BatchVersion:   t.Version,
		ExitStatus:     rec.Status,
		Submission:     t.result.Prediction,
		Exception:      rec.Error,
		Salvage:        t.notes.salvage,
		PredictionNote: t.notes.prediction,
		ImageCommit:    t.commit,
		Record:         rec,
	}
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
		m.Chat = nil
		raw, _ = m.MarshalJSON()
	}
	return raw
}

// settings is the run's config with the environment as it was for this instance.
func (t *attempt) settings() map[string]any {
	c := map[string]any{}
	if all, ok := t.config.(map[string]any); ok {
		maps.Copy(c, all)
	}
	if t.Prompts != "" {
		c["prompts"] = t.Prompts
	}
	env := map[string]any{}
	if base, ok := c["environment"].(map[string]any); ok {
		maps.Copy(env, base)
	}
	env["image"] = t.box.Image
	c["environment"] = env
	c["agent_type"], c["model_type"], c["environment_type"] = "batch.agent.Loop", "batch.llm", "batch.docker"
	return c
}
