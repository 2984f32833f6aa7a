// Command agentwires is an agent that a test puts into a container, as a user's own would be. It speaks the
// protocol that it is told, without streams, and sends the model's answers back as they came.
//
//	agentwires chat|responses|gemini URL KEY MODEL
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

type object = map[string]any

// wire is how a protocol is spoken.
type wire struct {
	path    string // after the URL
	key     string // the header of the key
	first   func(model, task string) object
	grow    string // the member that grows
	answer  func(whole object) (turn []any, calls []call)
	results func(calls []call, said []string) []any
}

// call is a call of the tool.
type call struct{ id, name, arguments string }

func at(v any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			o, _ := v.(object)
			v = o[key]
		case int:
			list, _ := v.([]any)
			if key >= len(list) {
				return nil
			}
			v = list[key]
		}
	}
	return v
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

var schema = object{"type": "object", "properties": object{"command": object{"type": "string"}}}

var wires = map[string]wire{
	"chat": {
		path: "/v1/chat/completions", key: "Authorization", grow: "messages",
		first: func(model, task string) object {
			return object{
				"model": model, "max_tokens": 4096, "messages": []any{object{"role": "system", "content": "You are an agent."}, object{"role": "user", "content": task}},
				"tools": []any{object{"type": "function", "function": object{"name": "bash", "parameters": schema}}},
			}
		},
		answer: func(whole object) (turn []any, calls []call) {
			message := at(whole, "choices", 0, "message")
			for _, c := range list(at(message, "tool_calls")) {
				calls = append(calls, call{text(at(c, "id")), "bash", text(at(c, "function", "arguments"))})
			}
			return []any{message}, calls
		},
		results: func(calls []call, said []string) (turn []any) {
			for i, c := range calls {
				turn = append(turn, object{"role": "tool", "tool_call_id": c.id, "content": said[i]})
			}
			return turn
		},
	},
	"responses": {
		path: "/v1/responses", key: "Authorization", grow: "input",
		first: func(model, task string) object {
			return object{
				"model": model, "max_output_tokens": 4096, "instructions": "You are an agent.", "include": []any{"reasoning.encrypted_content"},
				"input": []any{object{"role": "user", "content": task}},
				"tools": []any{object{"type": "function", "name": "bash", "parameters": schema, "strict": false}, object{"type": "web_search"}},
			}
		},
		answer: func(whole object) (turn []any, calls []call) {
			turn = list(whole["output"])
			for _, item := range turn {
				if at(item, "type") == "function_call" {
					calls = append(calls, call{text(at(item, "call_id")), "bash", text(at(item, "arguments"))})
				}
			}
			return turn, calls
		},
		results: func(calls []call, said []string) (turn []any) {
			for i, c := range calls {
				turn = append(turn, object{"type": "function_call_output", "call_id": c.id, "output": said[i]})
			}
			return turn
		},
	},
	"gemini": {
		path: "/v1beta/models/some-flash:generateContent", key: "X-Goog-Api-Key", grow: "contents",
		first: func(_, task string) object {
			return object{
				"systemInstruction": object{"parts": []any{object{"text": "You are an agent."}}}, "contents": []any{object{"role": "user", "parts": []any{object{"text": task}}}},
				"tools": []any{object{"functionDeclarations": []any{object{"name": "bash", "parameters": schema}}}, object{"googleSearch": object{}}},
			}
		},
		answer: func(whole object) (turn []any, calls []call) {
			content := at(whole, "candidates", 0, "content")
			for _, p := range list(at(content, "parts")) {
				if c := at(p, "functionCall"); c != nil {
					arguments, _ := json.Marshal(at(c, "args"))
					calls = append(calls, call{text(at(c, "id")), text(at(c, "name")), string(arguments)})
				}
			}
			return []any{content}, calls
		},
		results: func(calls []call, said []string) []any {
			var parts []any
			for i, c := range calls {
				parts = append(parts, object{"functionResponse": object{"id": c.id, "name": c.name, "response": object{"output": said[i]}}})
			}
			return []any{object{"role": "user", "parts": parts}}
		},
	},
}

func main() {
	if err := run(wires[os.Args[1]], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w wire, address, key, model string) error {
	task, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	body := w.first(model, string(task))
	for {
		whole, err := ask(w, address, key, body)
		if err != nil {
			return err
		}
		turn, calls := w.answer(whole)
		var said []string
		ended := len(calls) == 0
		for _, c := range calls {
			var input struct{ Command string }
			_ = json.Unmarshal([]byte(c.arguments), &input)
			out, failed := exec.Command("bash", "-c", input.Command).CombinedOutput()
			said = append(said, fmt.Sprintf("%s\n(%v)", out, failed))
			ended = ended || strings.HasPrefix(string(out), "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
		}
		if ended {
			return nil
		}
		body[w.grow] = append(append(list(body[w.grow]), turn...), w.results(calls, said)...)
	}
}

func ask(w wire, address, key string, body object) (whole object, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, address+w.path, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	if w.key == "Authorization" {
		key = "Bearer " + key
	}
	req.Header.Set(w.key, key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, said)
	}
	if err != nil {
		return nil, err
	}
	return whole, json.Unmarshal(said, &whole)
}
