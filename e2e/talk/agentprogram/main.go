// Command agentprogram is an agent that a test puts into a container, as a user's own would be: it knows the
// Messages API and nothing of batch. It begins with a call for a title, then asks, runs what the model wants
// and asks again, until a command prints the demo's word for the end. OWN_AGENT_TRIES is how often it makes a call
// whose connection breaks, and OWN_AGENT_STUBBORN how often one that is refused.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

type object map[string]any

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, key, model string) error {
	task, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	body := object{
		"model": model, "max_tokens": 8192, "stream": true, "system": "You are an agent.", "metadata": object{"user_id": "nobody"},
		"messages": []object{{"role": "user", "content": "A title for: " + string(task)}},
	}
	if _, err := call(address, key, body); err != nil {
		return err
	}
	body["tools"] = []object{
		{"name": "bash", "input_schema": object{"type": "object", "properties": object{"command": object{"type": "string"}}}},
		{"name": "web_search", "type": "web_search_20250305"},
	}
	messages := []object{{"role": "user", "content": string(task)}}
	for {
		body["messages"] = messages
		blocks, err := call(address, key, body)
		if err != nil {
			return err
		}
		var results []object
		ended := false
		for _, b := range blocks {
			if b["type"] != "tool_use" {
				continue
			}
			input, _ := b["input"].(map[string]any)
			command, _ := input["command"].(string)
			said, failed := exec.Command("bash", "-c", command).CombinedOutput()
			text := fmt.Sprintf("%s\n(%v)", said, failed)
			results = append(results, object{"type": "tool_result", "tool_use_id": b["id"], "content": text})
			ended = ended || strings.HasPrefix(string(said), "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
		}
		if ended || len(results) == 0 {
			fmt.Println("the work is done")
			return nil
		}
		messages = append(messages, object{"role": "assistant", "content": blocks}, object{"role": "user", "content": results})
	}
}

// number returns the number in a variable.
func number(variable string, unset int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return unset
}

// call makes one call and returns the blocks of its streamed answer. It tries again as the providers' own
// libraries do: unless the server refuses the request.
func call(address, key string, body object) (blocks []object, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	refused := 0
	for n := range number("OWN_AGENT_TRIES", 60) {
		var final bool
		if blocks, final, err = try(address, key, text, n); err == nil {
			return blocks, nil
		}
		if final {
			if refused++; refused >= number("OWN_AGENT_STUBBORN", 1) {
				return nil, err
			}
		}
		time.Sleep(500 * time.Millisecond)
	}
	return nil, err
}

func try(address, key string, text []byte, n int) (blocks []object, final bool, err error) {
	req, err := http.NewRequest(http.MethodPost, address+"/v1/messages?beta=true", bytes.NewReader(text))
	if err != nil {
		return nil, true, err
	}
	req.Header = http.Header{
		"X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"a-feature"}, "X-Stainless-Retry-Count": {strconv.Itoa(n)},
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(resp.Body)
		return nil, true, fmt.Errorf("%s: %s", resp.Status, said)
	}
	blocks, err = readEvents(resp.Body)
	return blocks, false, err
}

func readEvents(r io.Reader) ([]object, error) {
	var blocks []object
	input := map[int]string{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type  string
			Index int
			Block object `json:"content_block"`
			Delta struct {
				Text, Thinking, Signature string
				Partial                   string `json:"partial_json"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return nil, err
		}
		switch e.Type {
		case "content_block_start":
			blocks = append(blocks, e.Block)
		case "content_block_delta":
			for name, more := range map[string]string{"text": e.Delta.Text, "thinking": e.Delta.Thinking, "signature": e.Delta.Signature} {
				if was, ok := blocks[e.Index][name].(string); ok {
					blocks[e.Index][name] = was + more
				}
			}
			input[e.Index] += e.Delta.Partial
		case "error":
			return nil, errors.New(data)
		case "message_stop":
			for i, text := range input {
				if blocks[i]["type"] == "tool_use" {
					blocks[i]["input"] = map[string]any{}
					var v map[string]any
					if json.Unmarshal([]byte(text), &v) == nil {
						blocks[i]["input"] = v
					}
				}
			}
			return blocks, nil
		}
	}
	return nil, errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}
