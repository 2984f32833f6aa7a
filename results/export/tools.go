package export

import (
	"encoding/json"
	"slices"
)

// Tool describes a tool that models are offered, in the form of chat completions.
type Tool struct {
	Type     string   `json:"type"` // function
	Function Function `json:"function"`
}

// Function is the description of a tool.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON schema
}

// ask is the name of the tool that asks a person.
const ask = "ask"

// offered returns the tools that the model was offered: all for the tool set, and bash for
// tool calls; ask only if the configuration says so. A model that writes its commands in its
// text is offered none. If the form is unknown, as in other tools' trajectories, offered
// returns the tools that the model called.
func (o Options) offered(a *attempt) (list []Tool) {
	setting := func(section, key string) any {
		m, _ := a.view.Info.Config[section].(map[string]any)
		return m[key]
	}
	called := a.called()
	for _, t := range o.Tools {
		name := t.Function.Name
		var was bool
		switch form, _ := setting("model", "action_form").(string); form {
		case "tools", "toolcall":
			was = name == ask && setting("agent", "ask") == true || name != ask && (form == "tools" || name == shell)
		case "text":
		default:
			was = slices.Contains(called, name)
		}
		if was {
			list = append(list, t)
		}
	}
	return list
}

// called returns the names of the called tools.
func (a *attempt) called() (names []string) {
	for _, list := range a.chats {
		for _, c := range list {
			for _, call := range c.Calls {
				names = append(names, call.Name)
			}
		}
	}
	return names
}
