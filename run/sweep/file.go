package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
)

// Keys are the keys of a file that do not belong to the grid.
type Keys interface {
	// Names lists them, with - where a file may have _.
	Names() []string
	// Given reports whether the key already has values, which the file's do not replace.
	Given(name string) bool
	// Set gives the key with this name its values, one or a list. An error says what is wrong
	// with them.
	Set(name string, values []string) error
}

// file reads the YAML file of a sweep.
type file struct {
	path string
	keys Keys
	grid Grid
}

// ReadFile reads the YAML file of a sweep. It returns the grid and sets the other keys. A
// mistake is a Usage fault with the line.
func ReadFile(path string, keys Keys) (Grid, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Grid{}, fault.Newf(fault.Usage, "%s does not exist", path).WithHint("give the YAML file of a sweep, or the grid as flags: see `batch sweep --help`")
	}
	if err != nil {
		return Grid{}, fault.New(fault.Usage, "reading the sweep", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return Grid{}, fault.New(fault.Usage, "reading "+path, err)
	}
	r := &file{path: path, keys: keys}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return Grid{}, fault.Newf(fault.Usage, "reading %s: expected keys such as models and output", path)
	}
	members := doc.Content[0].Content
	seen := map[string]bool{}
	for i := 0; i+1 < len(members); i += 2 {
		key, value := members[i], members[i+1]
		if seen[key.Value] {
			return Grid{}, r.refuse(key, "%s is there twice", key.Value)
		}
		seen[key.Value] = true
		if err := r.set(key, value); err != nil {
			return Grid{}, err
		}
	}
	return r.grid, nil
}

func (r *file) refuse(at *yaml.Node, format string, args ...any) *fault.Error {
	return fault.Newf(fault.Usage, "reading %s, line %d: %s", r.path, at.Line, fmt.Sprintf(format, args...))
}

// set reads one member of the file.
func (r *file) set(key, value *yaml.Node) (err error) {
	switch key.Value {
	case "models":
		r.grid.Models, err = r.variants(key.Value, value)
	case "agents":
		r.grid.Agents, err = r.variants(key.Value, value)
	case "configs":
		r.grid.Configs, err = r.variants(key.Value, value)
	case "config":
		r.grid.Common, err = r.texts(key.Value, value)
	case "attempts":
		r.grid.Attempts, err = r.attempts(value)
	default:
		err = r.setKey(key, value)
	}
	return err
}

// setKey sets a key that is not of the grid.
func (r *file) setKey(key, value *yaml.Node) error {
	name, names := strings.ReplaceAll(key.Value, "_", "-"), r.keys.Names()
	if !slices.Contains(names, name) {
		refused := r.refuse(key, "unknown key %q", key.Value)
		if like := near.Name(name, append([]string{"models", "agents", "configs", "config", "attempts"}, names...)); like != "" {
			return refused.WithHint("did you mean %s?", like)
		}
		return refused.WithHint("keys are models, agents, configs, config, attempts and the flags of `batch sweep`")
	}
	if r.keys.Given(name) {
		return nil
	}
	values, err := r.texts(key.Value, value)
	if err != nil {
		return err
	}
	if err := r.keys.Set(name, values); err != nil {
		return r.refuse(value, "%s: %v", key.Value, err)
	}
	return nil
}

// texts reads a text, a number or a list of them.
func (r *file) texts(key string, n *yaml.Node) ([]string, error) {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	var texts []string
	for _, one := range list {
		if one.Kind != yaml.ScalarNode || one.Tag == "!!null" {
			return nil, r.refuse(one, "%s: expected a text, a number or a list of them", key)
		}
		texts = append(texts, one.Value)
	}
	return texts, nil
}

// variants reads the models, the agents or the configurations.
func (r *file) variants(what string, n *yaml.Node) ([]Variant, error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, r.refuse(n, "%s: expected a list", what)
	}
	var list []Variant
	for _, one := range n.Content {
		v, err := r.variant(what, one)
		if err != nil {
			return nil, err
		}
		if what == "models" && v.Model == "" {
			return nil, r.refuse(one, "models: expected a model's name, or {name, model, config}")
		}
		list = append(list, v)
	}
	return list, nil
}

func (r *file) variant(what string, n *yaml.Node) (Variant, error) {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		if what == "models" {
			return Variant{Model: n.Value}, nil
		}
		return Variant{Specs: []string{n.Value}}, nil
	}
	if n.Kind != yaml.MappingNode {
		return Variant{}, r.refuse(n, "%s: expected texts, or members with a name and a config", what)
	}
	var v Variant
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		texts, err := r.texts(what+"."+key.Value, value)
		if err != nil {
			return v, err
		}
		switch {
		case key.Value == "config":
			v.Specs = texts
		case len(texts) != 1 || texts[0] == "":
			return v, r.refuse(value, "%s.%s: expected a text", what, key.Value)
		case key.Value == "name":
			v.Name = texts[0]
		case key.Value == "model" && what == "models":
			v.Model = texts[0]
		default:
			return v, r.refuse(key, "%s: unknown member %q: expected name, config, and of models model", what, key.Value)
		}
	}
	return v, nil
}

// attempts reads the number of attempts, or the settings of each.
func (r *file) attempts(n *yaml.Node) ([][]string, error) {
	var count int
	if n.Kind == yaml.ScalarNode {
		if err := n.Decode(&count); err != nil || count < 1 || count > maxAttempts {
			return nil, r.refuse(n, "attempts: expected a number from 1 to %d, or a list with the values of each", maxAttempts)
		}
		return make([][]string, count), nil
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, r.refuse(n, "attempts: expected a number, or a list with the values of each")
	}
	var list [][]string
	for _, one := range n.Content {
		specs, err := r.texts("attempts", one)
		if err != nil {
			return nil, err
		}
		list = append(list, specs)
	}
	return list, nil
}

// maxAttempts is more than anyone can pay for.
const maxAttempts = 1000
