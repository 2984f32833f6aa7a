package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
)

// card is the file whose head says which files of a dataset belong together:
// huggingface.co/docs/hub/datasets-manual-configuration.
const card = "README.md"

// configuration is an item of configs in the head of the card. As for load_dataset, files that no
// item names are not data.
type configuration struct {
	Name    string `yaml:"config_name"`
	Default bool   `yaml:"default"`
	Dir     string `yaml:"data_dir"`
	Splits  splits `yaml:"data_files"` // nil: as the names of the files in Dir say
}

// splits are the values that data_files may have: a pattern, patterns, or patterns for each split.
type splits []splitFiles

type splitFiles struct {
	Split string   `yaml:"split"`
	Path  patterns `yaml:"path"`
}

type patterns []string

// UnmarshalYAML implements [yaml.Unmarshaler].
func (p *patterns) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*p = patterns{n.Value}
		return nil
	}
	return n.Decode((*[]string)(p))
}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (s *splits) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || n.Content[0].Kind != yaml.MappingNode {
		all := splitFiles{Split: "train"}
		err := n.Decode(&all.Path)
		*s = splits{all}
		return err
	}
	if err := n.Decode((*[]splitFiles)(s)); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, f := range *s {
		if f.Split == "" || f.Path == nil || seen[f.Split] {
			return fmt.Errorf("line %d: each item of data_files needs a path and a split of its own", n.Line)
		}
		seen[f.Split] = true
	}
	return nil
}

var (
	cardHead    = lazy.Regexp(`^\s*---[\r\n]+((?s:.*?))[\r\n]+---(\r?\n|$)`)
	cardConfigs = lazy.Regexp(`(?m)^["']?configs["']?\s*:`)
)

// readConfigs returns the configurations in the text of a card.
func readConfigs(text []byte) ([]configuration, error) {
	m := cardHead().FindSubmatch(text)
	if m == nil || !cardConfigs().Match(m[1]) {
		return nil, nil
	}
	var head struct {
		Configs []configuration `yaml:"configs"`
	}
	if err := yaml.Unmarshal(m[1], &head); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(head.Configs, func(c configuration) bool { return c.Name == "" }) {
		return nil, errors.New("an item of configs has no config_name")
	}
	return head.Configs, nil
}

// defaultConfig is the name of the only configuration of a dataset whose card names none, and of
// one that is the default without saying so.
const defaultConfig = "default"

// configure returns the configuration of a dataset that load_dataset would read, by the text of its
// card: the one of that name or, without a name, the only one or the default. It is nil if the card
// has no configurations. The hint says how to choose one.
func configure(where, name string, text []byte, hint string) (*configuration, error) {
	list, err := readConfigs(text)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading the configurations in "+card+" of "+where, err).WithHint("%s", hint)
	}
	if len(list) == 0 && (name == "" || name == defaultConfig) {
		return nil, nil
	}
	var found []*configuration
	names := make([]string, len(list))
	for i := range list {
		c := &list[i]
		names[i] = c.Name
		if c.Name == name || name == "" && (c.Default || c.Name == defaultConfig || len(list) == 1) {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	what := "no configuration " + strconv.Quote(name)
	switch {
	case name == "":
		what = "several configurations, and not one that is the default"
	case len(found) > 1:
		what = "several configurations " + strconv.Quote(name)
	}
	return nil, fault.Newf(fault.Usage, "opening %s: it has %s; its configurations: %s", where, what, cmp.Or(strings.Join(names, ", "), "none")).
		WithHint("%s", hint)
}

// choose returns the files of the requested split in reading order, and the split's name. Whole
// means that names are all files of the dataset.
func (c *configuration) choose(where, split string, names []string, whole bool) ([]string, string, error) {
	names = slices.Sorted(slices.Values(names))
	if c.Splits == nil {
		dir := path.Clean(c.Dir)
		return chooseSplit(where, split, slices.DeleteFunc(names, func(name string) bool { return dir != "." && !strings.HasPrefix(name, dir+"/") }))
	}
	found := make([]string, len(c.Splits))
	for i, f := range c.Splits {
		found[i] = f.Split
	}
	chosen, ok := pick(split, found)
	if !ok {
		return nil, "", noSplit(where, split, found)
	}
	var files, globbed []dataFile
	for _, pattern := range c.Splits[slices.Index(found, chosen)].Path {
		pattern = path.Join(c.Dir, pattern)
		if !strings.ContainsAny(pattern, "*?[") {
			if whole && !slices.Contains(names, pattern) {
				return nil, "", fault.Newf(fault.Usage, "opening %s: its %s names %s, which it does not have", where, card, pattern)
			}
			if f, _ := parseName(pattern); f.format >= 0 {
				files = append(files, f)
			}
			continue
		}
		for _, name := range names {
			matches, err := matchPath(pattern, name)
			if err != nil {
				return nil, "", fault.New(fault.Usage, "opening "+where+": "+pattern+" in its "+card, err)
			}
			if f, isData := parseName(name); matches && isData {
				globbed = append(globbed, f)
				files = append(files, f)
			}
		}
	}
	if len(files) == 0 {
		return nil, "", noData(where, names)
	}
	if err := allShards(where, globbed); err != nil {
		return nil, "", err
	}
	var out []string
	for _, f := range bestFormat(files) {
		if !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out, chosen, nil
}

var errStars = errors.New("** must stand alone between slashes")

// matchPath reports whether a pattern matches a file, as the patterns of load_dataset do: ** is any
// number of folders, and hidden files and folders such as __pycache__ match only patterns that say
// so.
func matchPath(pattern, name string) (bool, error) {
	m := matcher{}
	return m.parts(strings.Split(strings.ReplaceAll(pattern, "[!", "[^"), "/"), strings.Split(name, "/"))
}

// matcher has what is left of a pattern and of a name, by length, where they do not match. Without it, a
// pattern with many ** would take for ever.
type matcher map[[2]int]bool

func (m matcher) parts(pattern, name []string) (ok bool, err error) {
	left := [2]int{len(pattern), len(name)}
	if m[left] {
		return false, nil
	}
	defer func() { m[left] = !ok }()
	if len(pattern) == 0 || len(name) == 0 {
		return len(pattern) == len(name), nil
	}
	first := pattern[0]
	special := strings.HasPrefix(name[0], ".") && !strings.HasPrefix(first, ".") ||
		len(name) > 1 && strings.HasPrefix(name[0], "__") && !strings.HasPrefix(first, "__")
	switch {
	case first == "**":
		if ok, err = m.parts(pattern[1:], name); ok || err != nil {
			return ok, err
		}
		if len(pattern) == 1 && len(name) == 1 {
			return !special, nil
		}
		if special {
			return false, nil
		}
		return m.parts(pattern, name[1:])
	case strings.Contains(first, "**"):
		return false, errStars
	case special:
		return false, nil
	}
	if ok, err = path.Match(first, name[0]); !ok || err != nil {
		return false, err
	}
	return m.parts(pattern[1:], name[1:])
}
