package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/abspath"
	"batch.example/batch/internal/near"
)

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
