package scripted

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// recorded is the ending of trajectory files' names.
const recorded = ".traj.json"

// Load is [LoadFS] for a path of the operating system.
func Load(name string) (Script, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, fault.New(fault.Usage, "loading script "+name, err)
	}
	return LoadFS(os.DirFS(filepath.Dir(abs)), filepath.Base(abs))
}

// LoadFS reads a script of one of the forms in the package comment. Errors are Usage faults
// that name the file and the place in it.
func LoadFS(fsys fs.FS, name string) (Script, error) {
	script, err := load(fsys, name)
	if err != nil {
		return nil, fault.New(fault.Usage, "loading script", err)
	}
	return script, nil
}

// Read reads a script from the content of the file name, like [LoadFS].
func Read(name string, data []byte) (Script, error) {
	script, err := parse(name, data)
	if err != nil {
		return nil, fault.New(fault.Usage, "loading script", fmt.Errorf("%s: %w", name, err))
	}
	return script, nil
}

func load(fsys fs.FS, name string) (Script, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return loadFolder(fsys, name)
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	script, err := parse(name, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return script, nil
}

func loadFolder(fsys fs.FS, dir string) (Script, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	script := Script{}
	for _, e := range entries {
		id, isFile := strings.CutSuffix(e.Name(), recorded)
		file := path.Join(dir, e.Name())
		if e.IsDir() {
			id, file = e.Name(), path.Join(file, e.Name()+recorded)
			if _, err := fs.Stat(fsys, file); err != nil {
				continue // a folder of something else
			}
		} else if !isFile {
			continue
		}
		one, err := load(fsys, file)
		if err != nil {
			return nil, err
		}
		for key, replies := range one {
			if key == Anyone {
				key = id
			}
			if _, twice := script[key]; twice {
				return nil, fmt.Errorf("%s: a second trajectory of instance %s", file, key)
			}
			script[key] = replies
		}
	}
	if len(script) == 0 {
		return nil, fmt.Errorf("%s: no <id>/<id>%s in this folder", dir, recorded)
	}
	return script, nil
}

// parse detects the form of a file by its content. Only JSON is detected by the name, because YAML reads its
// escapes differently.
func parse(name string, data []byte) (Script, error) {
	if !strings.HasSuffix(name, ".json") {
		return parseYAML(data)
	}
	var top json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, jsonError(data, err)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(top, &members) != nil {
		return parseTrajectory(data)
	}
	_, isTrajectory := members["messages"]
	if _, tagged := members["trajectory_format"]; isTrajectory || tagged {
		return parseTrajectory(data)
	}
	return parseReplies(members)
}

func parseReplies(members map[string]json.RawMessage) (Script, error) {
	script := Script{}
	for id, raw := range members {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil || list == nil {
			return nil, fmt.Errorf("%q: expected a list of replies", id)
		}
		replies := make([]Reply, len(list))
		for i, raw := range list {
			if err := replies[i].read(raw); err != nil {
				return nil, fmt.Errorf("%q, reply %d: %w", id, i+1, err)
			}
		}
		script[id] = replies
	}
	return script, nil
}

func parseYAML(data []byte) (Script, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("expected a mapping of instance ids to lists of replies")
	}
	script := Script{}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		id, list := pairs[i].Value, target(pairs[i+1])
		if _, twice := script[id]; twice {
			return nil, fmt.Errorf("line %d: duplicate instance %q", pairs[i].Line, id)
		}
		if list.Kind != yaml.SequenceNode {
			return nil, fmt.Errorf("line %d: %q: expected a list of replies", list.Line, id)
		}
		replies := make([]Reply, len(list.Content))
		for j, node := range list.Content {
			if err := replies[j].readYAML(target(node)); err != nil {
				return nil, fmt.Errorf("line %d: %q, reply %d: %w", node.Line, id, j+1, err)
			}
		}
		script[id] = replies
	}
	return script, nil
}

// target follows an alias.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// jsonError adds the line to an error of the JSON decoder.
func jsonError(data []byte, err error) error {
	if syntax, ok := err.(*json.SyntaxError); ok {
		at := min(int(syntax.Offset), len(data))
		return fmt.Errorf("line %d: %w", 1+strings.Count(string(data[:at]), "\n"), err)
	}
	return err
}

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
