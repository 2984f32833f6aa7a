package trajectory

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"batch.example/batch/vocab"
)

// readATIF reads a trajectory in Harbor's Agent Trajectory Interchange Format. Each step of the
// agent is a step; the members that batch adds in extra are read too.
func readATIF(text []byte) (*View, error) {
	t := gjson.ParseBytes(text)
	extra := t.Get("extra")
	v := &View{Form: "atif", Model: t.Get("agent.model_name").String(), Instance: extra.Get("instance_id").String()}
	b := builder{}
	var agent []gjson.Result // the steps of the agent
	for _, s := range t.Get("steps").Array() {
		if s.Get("source").String() == "agent" {
			agent = append(agent, s)
			b.atif(s)
			continue
		}
		b.add(map[string]any{"role": s.Get("source").String(), "content": partsOf(s.Get("message")), "extra": stamp(s)})
		b.results(s, false)
	}
	v.Messages = b.messages
	v.split()
	for i := range v.Steps {
		v.Steps[i].atif(agent[i])
	}
	v.Info.ModelStats.Calls = len(v.Steps)
	v.Info.ModelStats.Cost = t.Get("final_metrics.total_cost_usd").Float()
	if status := extra.Get("exit_status").String(); status != "" {
		v.Info.ExitStatus, v.Exit = vocab.Status(status), &Exit{Status: vocab.Status(status)}
	}
	if patch := extra.Get("patch").String(); patch != "" {
		v.Info.Submission = patch
	}
	return v, nil
}

// atif adds a step of the agent.
func (b *builder) atif(s gjson.Result) {
	actions, calls := []any{}, []any{}
	for _, c := range s.Get("tool_calls").Array() {
		actions = append(actions, actionOfCall(c))
		calls = append(calls, map[string]any{
			"id": c.Get("tool_call_id").String(), "type": "function",
			"function": map[string]any{"name": c.Get("function_name").String(), "arguments": c.Get("arguments").Raw},
		})
	}
	extra := stamp(s)
	extra["actions"] = actions
	if cost := s.Get("metrics.cost_usd"); cost.Exists() {
		extra["cost"] = cost.Float()
	}
	m := map[string]any{"role": "assistant", "content": partsOf(s.Get("message")), "extra": extra}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	if reasoning := s.Get("reasoning_content").String(); reasoning != "" {
		m["reasoning_content"] = reasoning
	}
	usage := map[string]any{}
	for name, of := range map[string]string{"prompt_tokens": "prompt_tokens", "completion_tokens": "completion_tokens", "cached_tokens": "cached_tokens", "reasoning_tokens": "extra.reasoning_tokens"} {
		if n := s.Get("metrics." + of); n.Type == gjson.Number {
			usage[name] = n.Int()
		}
	}
	extra["response"] = map[string]any{"usage": usage}
	b.add(m)
	b.results(s, len(calls) > 0)
}

// results adds what a step observed.
func (b *builder) results(s gjson.Result, called bool) {
	for _, r := range s.Get("observation.results").Array() {
		m := map[string]any{"role": "user", "content": partsOf(r.Get("content"))}
		if called {
			m["role"], m["tool_call_id"] = "tool", r.Get("source_call_id").String()
		}
		if code := r.Get("extra.exit_code"); code.Type == gjson.Number {
			m["extra"] = map[string]any{"returncode": code.Int()}
		}
		b.add(m)
	}
}

// shells are the names that agents give their shell. Other tools' calls are shown with their
// arguments.
var shells = map[string]bool{
	"bash": true, "bash_command": true, "execute_bash": true, "shell": true, "sh": true, "terminal": true,
	"run_shell_command": true, "run_terminal_cmd": true, "exec_command": true, "Bash": true,
}

// actionOfCall returns a call as an action of a message.
func actionOfCall(c gjson.Result) map[string]any {
	name, arguments := c.Get("function_name").String(), c.Get("arguments")
	action := map[string]any{"tool_call_id": c.Get("tool_call_id").String()}
	for _, member := range []string{"command", "keystrokes", "cmd"} {
		if command := arguments.Get(member); shells[name] && command.Type == gjson.String && command.String() != "" {
			action["command"] = command.String()
			return action
		}
	}
	action["command"], action["tool"], action["arguments"] = "", name, json.RawMessage(objectOr(arguments))
	return action
}

// stamp returns the extra of a message with its time.
func stamp(s gjson.Result) map[string]any {
	at, err := time.Parse(time.RFC3339Nano, s.Get("timestamp").String())
	if err != nil {
		return map[string]any{}
	}
	return map[string]any{"timestamp": float64(at.UnixMicro()) / 1e6}
}

// atif adds the members that a message has no place for.
func (s *Step) atif(from gjson.Result) {
	extra := from.Get("extra")
	s.Refused = extra.Get("refused").Bool()
	s.Seconds, s.Waited = extra.Get("seconds").Float(), extra.Get("waited").Float()
	for i, r := range from.Get("observation.results").Array() {
		id := r.Get("source_call_id").String()
		for j := range s.Actions {
			if a := &s.Actions[j]; a.id == id && id != "" || id == "" && i == j {
				a.Seconds = r.Get("extra.seconds").Float()
			}
		}
	}
}

// readerFor returns the reader of another tool's form; nil for the form of mini-swe-agent.
func readerFor(text []byte) func([]byte) (*View, error) {
	var version string
	list := map[string]bool{} // members that are lists
	info := false
	gjson.ParseBytes(text).ForEach(func(name, v gjson.Result) bool {
		switch name.String() {
		case "schema_version":
			version = v.String()
		case "info":
			info = v.IsObject()
		case "steps", "trajectory", "messages":
			list[name.String()] = v.IsArray()
		}
		return true
	})
	switch {
	case strings.HasPrefix(version, "ATIF") && list["steps"]:
		return readATIF
	case list["trajectory"] && info && !list["messages"]:
		return readSWEAgent
	}
	return nil
}
