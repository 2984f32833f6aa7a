package trajectory

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/fault"
	"batch.example/batch/internal/python"
	"batch.example/batch/vocab"
)

// readSWEAgent reads a trajectory of SWE-agent: its steps are in the member trajectory, and the
// messages before them in history, or in the first step.
func readSWEAgent(text []byte) (*View, error) {
	t := gjson.ParseBytes(text)
	v := &View{Form: "swe-agent"}
	if err := json.Unmarshal([]byte(objectOr(t.Get("info"))), &v.Info); err != nil {
		return nil, fault.Newf(fault.Usage, "it is not a trajectory of SWE-agent: info: %w", err)
	}
	v.Model = gjson.Parse(t.Get("replay_config").String()).Get("agent.model.name").String()
	b := builder{}
	for _, m := range promptsIn(t) {
		role := m.Get("role").String()
		if m.Get("is_demo").Bool() {
			role = "demonstration"
		}
		b.add(map[string]any{"role": role, "content": textOf(m)})
	}
	var seconds []float64
	for _, s := range t.Get("trajectory").Array() {
		b.swe(s)
		seconds = append(seconds, s.Get("execution_time").Float())
	}
	v.Messages = b.messages
	v.split()
	for i := range v.Steps {
		if len(v.Steps[i].Actions) == 1 && i < len(seconds) {
			v.Steps[i].Actions[0].Seconds = max(0, seconds[i])
		}
	}
	v.endedAs(v.Info.ExitStatus)
	return v, nil
}

// endedAs sets how an attempt of SWE-agent ended.
func (v *View) endedAs(status vocab.Status) {
	if status == "" {
		return
	}
	if status == "submitted" {
		status = vocab.StatusSubmitted
	}
	v.Info.ExitStatus, v.Exit = status, &Exit{Status: status}
}

// promptsIn returns the messages before the first step.
func promptsIn(t gjson.Result) (list []gjson.Result) {
	history := t.Get("history").Array()
	if len(history) == 0 {
		if history = t.Get("trajectory.0.query").Array(); len(history) == 0 {
			history = t.Get("trajectory.0.messages").Array()
		}
	}
	for _, m := range history {
		if m.Get("role").String() == "assistant" && !m.Get("is_demo").Bool() {
			break
		}
		if textOf(m) != "" {
			list = append(list, m)
		}
	}
	return list
}

// builder makes messages of a conversation in batch's form.
type builder struct{ messages []json.RawMessage }

func (b *builder) add(m map[string]any) {
	text, err := python.Compact(m)
	if err == nil {
		b.messages = append(b.messages, text)
	}
}

// swe adds a step of SWE-agent: a reply and what the model was shown after it.
func (b *builder) swe(s gjson.Result) {
	thought, action := s.Get("thought").String(), strings.TrimRight(s.Get("action").String(), "\n")
	if thought == "" {
		thought = WithoutCommand(s.Get("response").String(), action)
	}
	reply := map[string]any{"role": "assistant", "content": strings.TrimSpace(thought)}
	var reasoning []string
	for _, block := range s.Get("thinking_blocks").Array() {
		reasoning = append(reasoning, block.Get("thinking").String())
	}
	if reasoning != nil {
		reply["reasoning_content"] = strings.Join(reasoning, "\n")
	}
	actions := []any{}
	if action != "" {
		actions = append(actions, map[string]any{"command": action})
	}
	reply["extra"] = map[string]any{"actions": actions}
	b.add(reply)
	if answer := s.Get("observation").String(); action != "" {
		b.add(map[string]any{"role": "tool", "content": answer})
	} else if answer != "" {
		b.add(map[string]any{"role": "user", "content": answer})
	}
}

func objectOr(v gjson.Result) string {
	if v.IsObject() {
		return v.Raw
	}
	return "{}"
}
