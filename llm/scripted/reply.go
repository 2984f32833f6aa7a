package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// replyFile is a reply in a file.
type replyFile struct {
	Content      string          `json:"content"`
	Bash         string          `json:"bash"`
	ToolCalls    []callFile      `json:"tool_calls"`
	Cost         float64         `json:"cost"`
	FinishReason string          `json:"finish_reason"`
	InputTokens  int64           `json:"input_tokens"`
	OutputTokens int64           `json:"output_tokens"`
	Delay        json.RawMessage `json:"delay"`
}

type callFile struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (r *Reply) readYAML(node *yaml.Node) error {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!str":
		r.Content = node.Value
		return nil
	case node.Kind != yaml.MappingNode:
		return fmt.Errorf("expected a string or a mapping; quote a string that is a number or empty")
	}
	var members map[string]any
	if err := node.Decode(&members); err != nil {
		return err
	}
	data, err := json.Marshal(members)
	if err != nil {
		return err
	}
	return r.read(data)
}

// read reads a reply from JSON.
func (r *Reply) read(data json.RawMessage) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, &r.Content)
	case '{':
	default:
		return fmt.Errorf("expected a string or an object")
	}
	var f replyFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return fieldError(err)
	}
	return r.set(f)
}

// fieldNames lists the fields of a reply and of a tool call.
var fieldNames = []string{"content", "bash", "tool_calls", "cost", "finish_reason", "input_tokens", "output_tokens", "delay", "id", "name", "arguments"}

// fieldError rewrites an error of the JSON decoder in the words of the file's format.
func fieldError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: expected %s, got %s", wrong.Field, expected(wrong.Type.Kind()), jsonKind(wrong.Value))
	}
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name, _ := strconv.Unquote(quoted)
		return fault.Newf(fault.Usage, "unknown field %s", quoted).
			WithHint("%s", near.Hint(near.Name(name, fieldNames), "a reply has "+strings.Join(fieldNames[:8], ", ")+"; a tool call has "+strings.Join(fieldNames[8:], ", ")))
	}
	return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
}

// expected names the values of a field of this kind.
func expected(kind reflect.Kind) string {
	switch kind {
	case reflect.String:
		return "a text"
	case reflect.Float64:
		return "a number"
	case reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

// jsonKind names the decoder's description of a value, such as "string" or "number 1.5".
func jsonKind(value string) string {
	switch value {
	case "string":
		return "a text"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	case "number":
		return "a number"
	default:
		return value
	}
}

func (r *Reply) set(f replyFile) (err error) {
	if f.Cost < 0 || f.InputTokens < 0 || f.OutputTokens < 0 {
		return fmt.Errorf("cost, input_tokens and output_tokens cannot be negative")
	}
	*r = Reply{
		Content: f.Content, Bash: f.Bash, Cost: f.Cost, FinishReason: f.FinishReason,
		Usage: vocab.Usage{Input: f.InputTokens, Output: f.OutputTokens},
	}
	if r.Delay, err = readDelay(f.Delay); err != nil {
		return err
	}
	for i, c := range f.ToolCalls {
		if c.Name == "" {
			return fmt.Errorf("tool_calls[%d]: no name", i)
		}
		call := llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)}
		switch {
		case len(c.Arguments) == 0:
			call.Arguments = "{}"
		case c.Arguments[0] == '"':
			if err := json.Unmarshal(c.Arguments, &call.Arguments); err != nil {
				return fmt.Errorf("tool_calls[%d]: %w", i, err)
			}
		}
		r.ToolCalls = append(r.ToolCalls, call)
	}
	return nil
}

func readDelay(raw json.RawMessage) (time.Duration, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, nil
	}
	var d time.Duration
	var s string
	var seconds float64
	err := fmt.Errorf("not a time")
	if json.Unmarshal(raw, &s) == nil {
		d, err = time.ParseDuration(s)
	} else if json.Unmarshal(raw, &seconds) == nil && math.Abs(seconds) < math.MaxInt32 {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf(`delay: expected a time such as "250ms", or seconds`)
	}
	return d, nil
}
