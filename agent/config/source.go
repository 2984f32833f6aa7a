package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v3"

	"batch.example/batch/agent/config/yamlpos"
	"batch.example/batch/fault"
)

// Options say where configurations are looked for. The zero value knows the
// current directory and the built-in names.
type Options struct {
	Dir  string    // where relative names start; empty: the current directory
	Dirs []string  // looked into after Dir
	Set  []Setting // win over all files

	// Earlier says that the files are those of a run that has been made: keys and values that batch
	// had then and does not have now are left out, not refused.
	Earlier bool
}

// Setting is a value that a flag or an environment variable sets.
type Setting struct {
	Path     string // section.key
	Value    any    // a string, a bool or a []any
	Flag     string // that set it, such as "--memory"; or
	Variable string // of the environment
}

// value is the setting as a part of a configuration.
func (s Setting) value() (*value, error) {
	at := place{source: s.Flag, kind: inFlag}
	if s.Variable != "" {
		at = place{source: s.Variable, kind: inVariable}
	}
	return under(s.Path, fromJSON(s.Value, at))
}

// IsKeyValue reports whether a -c argument is key=value. An absolute path may have an = too.
func IsKeyValue(spec string) bool { return strings.Contains(spec, "=") && !filepath.IsAbs(spec) }

var errNoName = fault.Newf(fault.Usage, "reading the configuration: -c \"\": the name is empty")

// OnlyKeys reports whether -c arguments only have values for keys, and name no file.
func OnlyKeys(specs []string) bool {
	return !slices.ContainsFunc(specs, func(spec string) bool { return !IsKeyValue(spec) })
}

// File returns the name of the file of a -c argument; "" for other arguments.
func File(spec string, opts Options) (string, error) {
	switch {
	case spec == "":
		return "", errNoName
	case IsKeyValue(spec) || slices.Contains(builtins, spec):
		return "", nil
	}
	return opts.find(spec)
}

// readSpec reads one -c argument: key=value, one of batch's own names, or a
// file's name.
func readSpec(spec string, opts Options) (v *value, warning string, err error) {
	switch {
	case IsKeyValue(spec):
		key, text, _ := strings.Cut(spec, "=")
		v, err = keyValue(spec, key, text)
		return v, "", err
	case spec == "":
		return nil, "", errNoName
	case slices.Contains(builtins, spec):
		v, err = readBuiltin(spec)
		return v, shadowed(spec, opts), err
	}
	name, data, err := readFile(spec, opts)
	if err != nil {
		return nil, "", err
	}
	v, err = parseYAML(name, data, inFile)
	return v, "", err
}

// shadowed warns of a file with the name of a built-in configuration.
func shadowed(name string, opts Options) string {
	file, err := opts.find(name + ".yaml")
	if err != nil {
		return ""
	}
	return fmt.Sprintf("-c %s: this is batch's built-in %s, not the file %s; for the file give -c %s.yaml", name, name, file, name)
}

// keyValue reads a.b.c=value. A value that is not JSON is text.
func keyValue(spec, key, text string) (*value, error) {
	if !utf8.ValidString(spec) {
		return nil, fault.Newf(fault.Usage, "reading the configuration: -c %q: this is not valid UTF-8", MaskSpec(spec))
	}
	at := place{source: MaskSpec(spec), kind: inKeyValue}
	leaf := &value{v: text, text: text, at: at}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var parsed any
	if json.Valid([]byte(text)) && d.Decode(&parsed) == nil {
		leaf = fromJSON(parsed, at)
		leaf.sortAs(gjson.Parse(text))
	}
	if s, ok := leaf.v.(string); ok {
		leaf.at.text = yamlpos.OfValue(text, s)
	}
	return under(key, leaf)
}

// under puts a value at a dotted path.
func under(key string, leaf *value) (*value, error) {
	at, keys := leaf.at, strings.Split(key, ".")
	at.text = nil
	for i := len(keys) - 1; i >= 0; i-- {
		if keys[i] == "" {
			return nil, fault.Newf(fault.Usage, "reading the configuration: %s: the key is empty", at)
		}
		leaf = &value{v: map[string]*value{keys[i]: leaf}, at: at}
	}
	return leaf, nil
}

func parseYAML(name string, data []byte, kind placeKind) (*value, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) || len(bytes.TrimSpace(data)) == 0 { // at most comments
			return nil, fault.Newf(fault.Usage, "reading the configuration %s: the file is empty", name)
		}
		return nil, misread(name, string(data), err)
	}
	v, err := (&yamlReader{file: name, kind: kind, source: string(data)}).read(&doc, 0)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading the configuration", err)
	}
	if _, ok := v.v.(map[string]*value); !ok {
		return nil, fault.Newf(fault.Usage, "reading the configuration %s: expected keys like agent and model", v.at)
	}
	return v, nil
}

// misread is the fault of a file that is not YAML.
func misread(name, source string, err error) error {
	line, column, text := yamlpos.Mistake(source, err)
	for _, n := range []int{line, column} {
		if n > 0 {
			name += fmt.Sprintf(":%d", n)
		}
	}
	return fault.Newf(fault.Usage, "reading the configuration: %s: %s", name, text)
}
