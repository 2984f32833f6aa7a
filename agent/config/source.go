package config

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"batch.example/batch/fault"
	"go.yaml.in/yaml/v3"
)

//go:embed builtin/*.yaml
var builtinFiles embed.FS

// builtins are names of configurations that need no file. Those of the peer
// stand for ours of the same form.
var builtins = map[string]string{
	"default": "default", "text": "text", "tools": "tools",
	"swebench": "default", "swebench_backticks": "text",
}

// Options say where configurations are looked for. The zero value knows the
// current directory and the built-in names.
type Options struct {
	Dirs       []string // looked into after the current directory
	Builtins   fs.FS    // name.yaml files used when no file is found; nil is our own
	AllowBinds bool     // let run_args mount directories of this machine
}

// readSpec reads one -c argument: a file's name or key=value.
func readSpec(spec string, opts Options) (v *value, warning string, err error) {
	if key, text, ok := strings.Cut(spec, "="); ok {
		v, err = keyValue(spec, key, text)
		return v, "", err
	}
	if spec == "" {
		return nil, "", fault.Newf(fault.Usage, "reading the configuration: a name is empty")
	}
	for _, name := range candidates(spec, opts.Dirs) {
		data, err := os.ReadFile(name)
		if err == nil {
			v, err = parseYAML(name, data)
			return v, "", err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, "", fault.New(fault.Usage, "reading the configuration", err)
		}
	}
	return readBuiltin(spec, opts)
}

// candidates are the files a name may mean: as given, with .yaml in place of
// another ending, and both in each directory.
func candidates(spec string, dirs []string) []string {
	names := []string{spec}
	if ext := filepath.Ext(spec); ext != ".yaml" {
		if ext != "" {
			names = append(names, strings.TrimSuffix(spec, ext)+".yaml")
		} else {
			names = []string{spec + ".yaml", spec}
		}
	}
	all := append([]string{}, names...)
	if filepath.IsAbs(spec) {
		return all
	}
	for _, dir := range dirs {
		for _, name := range names {
			all = append(all, filepath.Join(dir, name))
		}
	}
	return all
}

func readBuiltin(spec string, opts Options) (*value, string, error) {
	stem := strings.TrimSuffix(filepath.Base(spec), ".yaml")
	if opts.Builtins != nil {
		if data, err := fs.ReadFile(opts.Builtins, stem+".yaml"); err == nil {
			v, err := parseYAML(spec, data)
			return v, "", err
		}
	}
	name, ok := builtins[stem]
	if !ok {
		return nil, "", fault.Newf(fault.Usage, "reading the configuration: %s: no such file", spec).
			WithHint("give a file, key=value, or one of the built-in names default, text, tools")
	}
	data, err := builtinFiles.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		return nil, "", fault.New(fault.Bug, "reading the built-in configuration", err)
	}
	warning := ""
	if name != stem {
		warning = fmt.Sprintf("%s: there is no such file, batch's own configuration %q is used in its place", spec, name)
	}
	v, err := parseYAML("built-in "+name+".yaml", data)
	return v, warning, err
}

// keyValue reads a.b.c=value: JSON where it is JSON, else the text.
func keyValue(spec, key, text string) (*value, error) {
	leaf := &value{v: text, text: text, origin: spec}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var parsed any
	if json.Valid([]byte(text)) && d.Decode(&parsed) == nil {
		leaf = fromJSON(parsed, spec)
	}
	keys := strings.Split(key, ".")
	for i := len(keys) - 1; i >= 0; i-- {
		if keys[i] == "" {
			return nil, fault.Newf(fault.Usage, "reading the configuration %q: empty config key", spec)
		}
		leaf = &value{v: map[string]*value{keys[i]: leaf}, origin: spec}
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
		return nil, fault.Newf(fault.Usage, "reading the configuration %s: expected keys like agent and model", v.origin)
	}
	return v, nil
}
