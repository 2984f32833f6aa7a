package stub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"batch.example/batch/llm"
	"batch.example/batch/llm/inbound"
)

// stores reports whether the provider keeps the response, which is the default.
func (r *Request) stores() bool {
	store := true
	_ = json.Unmarshal(r.Members["store"], &store)
	return store
}

// wantsEncrypted reports whether reasoning items come with their encrypted content.
func (r *Request) wantsEncrypted() bool {
	var include []string
	_ = json.Unmarshal(r.Members["include"], &include)
	return slices.Contains(include, "reasoning.encrypted_content")
}

// itemMembers lists the members that an item may have, by its type.
var itemMembers = map[string]map[string]bool{
	"message":              names(`type id role content status phase`),
	"reasoning":            names(`type id summary content encrypted_content status`),
	"function_call":        names(`type id call_id name arguments status namespace async caller`),
	"function_call_output": names(`type id call_id output status caller`),
}

// itemPrefix is the beginning of an item's id, by its type.
var itemPrefix = map[string]string{"message": "msg", "reasoning": "rs", "function_call": "fc", "function_call_output": "fc"}

// invalid returns the refusal of a parameter.
func invalid(code any, param, format string, args ...any) *refused {
	return &refused{http.StatusBadRequest, ErrorBody{
		Message: fmt.Sprintf(format, args...), Type: "invalid_request_error", Param: &param, Code: code,
	}}
}

// readResponses fills in a request and enforces the rules of the Responses API.
func readResponses(r *Request, sent *sent) *refused {
	if name := unknownMember(r.Members, responsesMembers); name != "" {
		return invalid("unknown_parameter", name, "Unknown parameter: '%s'.", name)
	}
	var head struct {
		Model    string          `json:"model"`
		Input    json.RawMessage `json:"input"`
		System   string          `json:"instructions"`
		Previous string          `json:"previous_response_id"`
		Tools    []struct {
			Type       string          `json:"type"`
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &head); err != nil {
		return invalid(nil, "", "%v", err)
	}
	r.Model = head.Model
	switch {
	case head.Model == "":
		return invalid("missing_required_parameter", "model", "Missing required parameter: 'model'.")
	case head.Previous != "":
		return invalid("previous_response_not_found", "previous_response_id", "Previous response with id '%s' not found.", head.Previous)
	}
	for i, t := range head.Tools {
		if t.Type == "function" && t.Name == "" {
			return invalid("missing_required_parameter", "tools", "Missing required parameter: 'tools[%d].name'.", i)
		}
		r.addTool(t.Name, t.Parameters)
	}
	var turns []llm.Message
	if head.System != "" {
		turns = append(turns, llm.Message{Role: llm.RoleSystem, Parts: llm.Say(head.System)})
	}
	var text string
	var items []json.RawMessage
	switch {
	case json.Unmarshal(head.Input, &text) == nil:
		r.set(append(turns, llm.Message{Role: llm.RoleUser, Parts: llm.Say(text)}))
		return nil
	case json.Unmarshal(head.Input, &items) != nil || len(items) == 0:
		return invalid("missing_required_parameter", "input", "Missing required parameter: 'input'.")
	}
	return r.readItems(turns, items, sent)
}

func (r *Request) readItems(turns []llm.Message, raws []json.RawMessage, sent *sent) *refused {
	var items []inbound.Item
	for i, raw := range raws {
		item, no := readItem(i, raw)
		if no != nil {
			return no
		}
		items = append(items, item)
		r.Messages = append(r.Messages, Message{Role: item.Type, Raw: raw})
		turns = item.Join(turns)
	}
	r.set(turns)
	return r.checkItems(items, sent)
}

func readItem(i int, raw json.RawMessage) (item inbound.Item, no *refused) {
	var members map[string]json.RawMessage
	at := fmt.Sprintf("input[%d]", i)
	if err := json.Unmarshal(raw, &members); err != nil {
		return item, invalid("invalid_type", at, "Invalid type for '%s': expected an object.", at)
	}
	if err := json.Unmarshal(raw, &item); err != nil {
		return item, invalid("invalid_type", at, "Invalid type in '%s': %v", at, err)
	}
	if item.Type == "" && item.Role != "" {
		item.Type = "message"
	}
	known, ok := itemMembers[item.Type]
	if !ok {
		return item, invalid("invalid_value", at, "Invalid value: '%s'. Supported values are: 'message', 'reasoning', 'function_call', 'function_call_output'.", item.Type)
	}
	if name := unknownMember(members, known); name != "" {
		return item, invalid("unknown_parameter", at+"."+name, "Unknown parameter: '%s.%s'.", at, name)
	}
	return item, checkItem(item, at)
}

// checkItem checks the required members of an item.
func checkItem(item inbound.Item, at string) *refused {
	missing := ""
	switch item.Type {
	case "message":
		if !slices.Contains([]string{"system", "developer", "user", "assistant"}, item.Role) {
			return invalid("invalid_value", at, "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", item.Role)
		}
		if len(item.Content) == 0 || string(item.Content) == "null" {
			missing = "content"
		}
	case "reasoning":
		if item.Summary == nil {
			missing = "summary"
		}
	case "function_call":
		if item.CallID == "" {
			missing = "call_id"
		} else if item.Arguments == nil {
			missing = "arguments"
		} else if item.Name == "" {
			missing = "name"
		}
	case "function_call_output":
		if item.CallID == "" {
			missing = "call_id"
		} else if len(item.Output) == 0 || bytes.Equal(item.Output, []byte("null")) {
			missing = "output"
		}
	}
	if missing != "" {
		return invalid("missing_required_parameter", at+"."+missing, "Missing required parameter: '%s.%s'.", at, missing)
	}
	if prefix := itemPrefix[item.Type]; item.ID != "" && !strings.HasPrefix(item.ID, prefix) {
		return invalid("invalid_value", at+".id", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", at, item.ID, prefix)
	}
	return nil
}

// checkItems checks the rules between items: each call has an output, each output a call, and reasoning is
// followed by its item.
func (r *Request) checkItems(items []inbound.Item, sent *sent) *refused {
	open, ids := map[string]bool{}, map[string]bool{}
	for i, item := range items {
		if item.ID != "" && ids[item.ID] {
			return invalid("duplicate_item_id", "input", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", item.ID)
		}
		ids[item.ID] = true
		switch item.Type {
		case "function_call":
			open[item.CallID] = true
		case "function_call_output":
			if !open[item.CallID] {
				return invalid(nil, "input", "No tool call found for function call output with call_id %s.", item.CallID)
			}
			open[item.CallID] = false
		case "reasoning":
			if no := r.checkReasoning(items, i, sent); no != nil {
				return no
			}
		}
	}
	for _, item := range items {
		if item.Type == "function_call" && open[item.CallID] {
			return invalid(nil, "input", "No tool output found for function call %s.", item.CallID)
		}
	}
	return sent.checkReasoningOf(items)
}

// checkReasoning checks that the server sent this reasoning item, and that the item it belongs to follows.
func (r *Request) checkReasoning(items []inbound.Item, i int, sent *sent) *refused {
	item := items[i]
	switch {
	case item.Encrypted == "" && !r.stores():
		no := invalid(nil, "input", "Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", item.ID)
		no.status = http.StatusNotFound
		return no
	case item.Encrypted != "" && !sent.sealed("reasoning", item.Encrypted):
		return invalid("invalid_encrypted_content", "input", "The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", item.ID)
	case i+1 == len(items) || items[i+1].Type == "function_call_output" || items[i+1].Type == "message" && items[i+1].Role != llm.RoleAssistant:
		return invalid(nil, "input", "Item '%s' of type 'reasoning' was provided without its required following item.", item.ID)
	}
	return nil
}
