package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"go.yaml.in/yaml/v3"
)

// Options say where configurations are looked for. The zero value knows the
// current directory and the built-in names.
type Options struct {
	Dirs       []string // looked into after the current directory
	AllowBinds bool     // let run_args mount directories of this machine
}

// readSpec reads one -c argument: key=value, one of batch's own names, or a
// file's name.
func readSpec(spec string, opts Options) (v *value, warning string, err error) {
	switch key, text, ok := strings.Cut(spec, "="); {
	case ok:
		v, err = keyValue(spec, key, text)
		return v, "", err
	case spec == "":
		return nil, "", fault.Newf(fault.Usage, "reading the configuration: a name is empty")
	case slices.Contains(builtins, spec):
		v, err = readBuiltin(spec)
		return v, shadowed(spec, opts.Dirs), err
	}
	name, data, err := findFile(spec, opts.Dirs)
	if err != nil {
		return nil, "", err
	}
	v, err = parseYAML(name, data)
	return v, "", err
}

// shadowed tells of a file that a built-in name could be thought to mean.
func shadowed(name string, dirs []string) string {
	file, _, err := findFile(name+".yaml", dirs)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("-c %s: batch's built-in %s is meant, not the file %s; -c %s.yaml names the file", name, name, file, name)
}

// keyValue reads a.b.c=value: JSON where it is JSON, else the text.
func keyValue(spec, key, text string) (*value, error) {
	at := place{source: MaskSpec(spec)}
	leaf := &value{v: text, text: text, at: at}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var parsed any
	if json.Valid([]byte(text)) && d.Decode(&parsed) == nil {
		leaf = fromJSON(parsed, at)
	}
	keys := strings.Split(key, ".")
	for i := len(keys) - 1; i >= 0; i-- {
		if keys[i] == "" {
			return nil, fault.Newf(fault.Usage, "reading the configuration %q: empty config key", at)
		}
		leaf = &value{v: map[string]*value{keys[i]: leaf}, at: at}
	}
	return leaf, nil
}

func parseYAML(name string, data []byte) (*value, error) {
	d := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	var doc yaml.Node
	if err := d.Decode(&doc); err != nil {
		if len(bytes.TrimSpace(data)) == 0 {
			err = errors.New("the file is empty")
		}
		return nil, fault.New(fault.Usage, "reading the configuration "+name, err)
	}
	v, err := (&yamlReader{file: name}).read(&doc, 0)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading the configuration", err)
	}
	if _, ok := v.v.(map[string]*value); !ok {
		return nil, fault.Newf(fault.Usage, "reading the configuration %s: expected keys like agent and model", v.at)
	}
	return v, nil
}
