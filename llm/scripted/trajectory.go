package scripted

import (
	"encoding/json"
	"fmt"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// recordedReply holds a recorded reply's data about the call, from its extra.
type recordedReply struct {
	Interrupt string          `json:"interrupt_type"`
	Cost      float64         `json:"cost"`
	Text      string          `json:"model_response"`
	Response  json.RawMessage `json:"response"`
}

type recordedResponse struct {
	Choices []struct {
		FinishReason string          `json:"finish_reason"`
		Message      json.RawMessage `json:"message"`
	} `json:"choices"`
	Usage struct {
		Input  int64 `json:"prompt_tokens"`
		Output int64 `json:"completion_tokens"`
	} `json:"usage"`
}

// parseTrajectory reads the formats mini-swe-agent-1 and -1.1, and bare lists
// of messages.
func parseTrajectory(data []byte) (Script, error) {
	var file struct {
		InstanceID string            `json:"instance_id"`
		Messages   []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(data, &file.Messages); err != nil {
		if err := json.Unmarshal(data, &file); err != nil {
			return nil, fmt.Errorf("expected a trajectory: %w", err)
		}
	}
	replies := []Reply{}
	for i, raw := range file.Messages {
		r, ok, err := replyOf(raw)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		if ok {
			replies = append(replies, r)
		}
	}
	if file.InstanceID == "" {
		file.InstanceID = Anyone
	}
	return Script{file.InstanceID: replies}, nil
}

// replyOf returns the model's reply that the message records, if there is one.
func replyOf(raw json.RawMessage) (Reply, bool, error) {
	msg, err := llm.AsWritten(raw)
	if err != nil {
		return Reply{}, false, err
	}
	// A user's message replaces a reply that the agent could not read, and has it in its extra.
	if msg.Role != llm.RoleAssistant && msg.Extra["interrupt_type"] != string(vocab.StatusFormatError) {
		return Reply{}, false, nil
	}
	var outer struct {
		Extra recordedReply `json:"extra"`
	}
	// Other tools use these names differently; data of another form is ignored.
	_ = json.Unmarshal(raw, &outer)
	var resp recordedResponse
	_ = json.Unmarshal(outer.Extra.Response, &resp)

	r := Reply{Cost: max(0, outer.Extra.Cost), Usage: vocab.Usage{Input: resp.Usage.Input, Output: resp.Usage.Output}}
	played := llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(outer.Extra.Text)}
	if len(resp.Choices) > 0 {
		r.FinishReason = resp.Choices[0].FinishReason
		if answered, err := llm.AsWritten(resp.Choices[0].Message); err == nil && answered.Role == llm.RoleAssistant {
			played = answered
		}
	}
	if msg.Role == llm.RoleAssistant {
		played = msg
		if llm.EndOf(r.FinishReason) != llm.EndWhole { // its commands were executed anyway
			r.FinishReason = ""
		}
	}
	played.Extra = nil
	r.message = &played
	return r, true, nil
}
