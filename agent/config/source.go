package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v3"

	"batch.example/batch/agent/config/yamlpos"
	"batch.example/batch/fault"
	"batch.example/batch/internal/abspath"
	"batch.example/batch/internal/near"
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

// readFile reads the file for a name, and returns the name of the file.
func readFile(spec string, opts Options) (name string, data []byte, err error) {
	if name, err = opts.find(spec); err != nil {
		return "", nil, err
	}
	if data, err = os.ReadFile(name); err != nil {
		return "", nil, fault.New(fault.Usage, "reading the configuration", err)
	}
	return name, data, nil
}

// find returns the name of the file for a name. It does not read the file: a pipe can be read
// only once.
func (o Options) find(spec string) (string, error) {
	missing, beside := "no such file", false
	for _, name := range o.candidates(spec) {
		info, err := os.Stat(name)
		switch {
		case err == nil && info.IsDir(): // a folder beside the file, swebench/ and swebench.yaml
			missing, beside = name+" is a directory", true
		case err == nil:
			return name, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fault.New(fault.Usage, "reading the configuration", err)
		}
	}
	if !filepath.IsAbs(spec) && !beside {
		missing += " in " + strings.Join(append([]string{cmp.Or(o.Dir, "the current directory")}, o.Dirs...), " or ")
	}
	return "", fault.Newf(fault.Usage, "reading the configuration: %s: %s", spec, missing).WithHint("%s", advice(spec))
}

// candidates are the files a name may mean: as given, with .yaml in place of
// another ending, and both in each directory.
func (o Options) candidates(spec string) []string {
	names := []string{spec}
	if ext := filepath.Ext(spec); ext != ".yaml" {
		if ext != "" {
			names = append(names, strings.TrimSuffix(spec, ext)+".yaml")
		} else {
			names = []string{spec + ".yaml", spec}
		}
	}
	if filepath.IsAbs(spec) {
		return names
	}
	var all []string
	for _, dir := range append([]string{o.Dir}, o.Dirs...) {
		for _, name := range names {
			if dir != "" {
				name = abspath.Join(dir, name)
			}
			all = append(all, name)
		}
	}
	return all
}

// shipped has the path of each of mini-swe-agent's configurations in its package, without the
// ending.
var shipped = map[string]string{
	"default": "config/default", "mini": "config/mini", "mini_textbased": "config/mini_textbased",
	"programbench":       "config/benchmarks/programbench",
	"swebench":           "config/benchmarks/swebench",
	"swebench_backticks": "config/benchmarks/swebench_backticks",
	"swebench_modal":     "config/benchmarks/swebench_modal",
	"swebench_xml":       "config/benchmarks/swebench_xml",
}

// shippedVersion is the version of mini-swe-agent that has these files.
const shippedVersion = "v2.4.6"

// advice returns a hint for a name without a file.
func advice(spec string) string {
	stem := strings.TrimSuffix(spec, filepath.Ext(spec))
	path, ofMini := shipped[stem]
	switch {
	case ofMini:
		path += ".yaml"
		return fmt.Sprintf(`this is one of mini-swe-agent's configurations; batch has no copy of it. To copy it from an installed mini-swe-agent:
  cp "$(python3 -c 'from importlib.util import find_spec; print(*find_spec("minisweagent").submodule_search_locations)')/%s" .
To download it:
  curl -fO https://raw.githubusercontent.com/SWE-agent/mini-swe-agent/%s/src/minisweagent/%s
batch's own prompts are a different configuration: `+"`-c default`"+`, or no -c`, path, shippedVersion, path)
	case slices.Contains(builtins, stem):
		return fmt.Sprintf("for batch's own configuration leave out the ending: `-c %s`", stem)
	}
	like := near.Name(spec, builtins)
	if like != "" {
		like = "`-c " + like + "`"
	}
	return near.Hint(like, "give a file, KEY=VALUE, or one of batch's own configurations: `-c default`, `-c text` or `-c tools`")
}

// place is where a value was set.
type place struct {
	source string // a file, a key=value with its secrets hidden, a flag, or one of batch's own
	line   int    // of a file, from 1; 0 elsewhere
	kind   placeKind
	text   *yamlpos.Text // of a text, the source that it was read from
}

type placeKind int

const (
	inFile placeKind = iota
	inBuiltin
	inKeyValue // of -c
	inFlag     // of a single value
	inVariable // of the environment
)

// builtinSource is the source of one of batch's own configurations.
func builtinSource(name string) string { return "batch's built-in " + name }

// compare orders places by source and line.
func (p place) compare(q place) int {
	return cmp.Or(strings.Compare(p.source, q.source), p.line-q.line)
}

// String names the place in a message.
func (p place) String() string {
	switch {
	case p.kind == inKeyValue:
		return "-c " + p.source
	case p.line == 0:
		return p.source
	default:
		return fmt.Sprintf("%s:%d", p.source, p.line)
	}
}

// who names the place in a list of values.
func (p place) who() string {
	switch p.kind {
	case inBuiltin:
		return strings.TrimPrefix(p.source, "batch's ")
	case inKeyValue:
		return "-c on the command line"
	case inVariable:
		return "environment variable " + p.source
	default:
		return p.String()
	}
}

// within names the place of the byte at offset of a text.
func (p place) within(offset int) string {
	if p.text == nil {
		return p.String()
	}
	line, column := p.text.Position(offset)
	switch {
	case p.kind == inFile || p.kind == inBuiltin:
		return fmt.Sprintf("%s:%d:%d", p.source, line, column)
	case p.text.Lines() == 1:
		return fmt.Sprintf("%s, column %d", p.key(), column)
	default:
		return fmt.Sprintf("%s, line %d, column %d", p.key(), line, column)
	}
}

// key names the place without the value, which may be long.
func (p place) key() string {
	if p.kind != inKeyValue {
		return p.source
	}
	key, _, _ := strings.Cut(p.source, "=")
	return "-c " + key + "=..."
}

// byHand reports whether a person set just this value.
func (p place) byHand() bool { return p.kind == inKeyValue || p.kind == inFlag }
