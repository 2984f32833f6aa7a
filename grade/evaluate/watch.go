package evaluate

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/lazy"
)

// Written is a file that what the eval script runs before the tests, such as setup.py, has created
// or changed: in the working tree, or in a library folder of a Python in the image.
type Written struct {
	Path string // relative to the working tree, or absolute
	Sum  string // of its content
}

// pythonLibs are patterns of the library folders of Python.
const pythonLibs = `/usr/lib/python* /usr/local/lib/python* /opt/*/lib/python* /opt/*/envs/*/lib/python* /root/*/lib/python* /root/.[!.]*/lib/python* /root/.pyenv/versions/*/lib/python* ` +
	`/root/.local/share/uv/python/*/lib/python* /home/*/*/lib/python* /home/*/.[!.]*/lib/python* .venv/lib/python* venv/lib/python* .tox/*/lib/python* "${VIRTUAL_ENV:-/nonexistent}"/lib/python*`

// These parts of the script print files and their sums for [watched], between two lines with the
// markers' nonce: first the files that an install writes anew with the same content, and before the
// tests the files that were written since: in the working tree, and in the folders of the Python
// that is then in use. Tests of names come first, since they need no stat. A link counts as the file
// behind it. Caches of Python that were written since are removed: one that is marked as unchecked
// would run instead of its file. Without GNU's find, nothing is seen. A list that fails must not end
// a script with `set -e`.
const (
	watchFirst = `{ BATCH_BEGAN=$(date +%s.%N) || :; echo; echo FENCE
( cd DIR; shopt -s nullglob; packages=(/nonexistent *.egg-info */*.egg-info)
for lib in LIBS; do packages+=("$lib"/*-packages); done
find -H "${packages[@]}" -maxdepth 2 \( -name '*.pth' -o -name entry_points.txt \) -type f -exec sha256sum {} + ) || :
echo FENCE; } 2>/dev/null`

	watchSecond = `{ echo; echo FENCE
( cd DIR; shopt -s nullglob; libs=(/nonexistent ~/.local/lib/python*) seen=
since=(-newerct "@$BATCH_BEGAN" -xtype f) names=(-name '*.py' -o -name '*.pth' -o -name entry_points.txt)
for python in "$(command -v python)" "$(command -v python3)" "$(readlink -f "$(command -v python)")" "$(readlink -f "$(command -v python3)")"; do
    lib=$(readlink -f "${python%/bin/*}/lib")
    case $seen in *":$lib:"*) continue ;; esac
    seen=$seen:$lib: libs+=("$lib"/python*)
done
find . -name .git -prune -o -path '*/__pycache__/*' "${since[@]}" -exec rm -f {} + -o \( "${names[@]}" -o -name '*.ini' -o -name '*.toml' -o -name '*.cfg' -o -name '*.sh' -o ! -name '*.*' -size -1000k \) "${since[@]}" -exec sha256sum {} +
found=$(find -H "${libs[@]}" -path '*/__pycache__/*' "${since[@]}" -exec rm -f {} + -o \( "${names[@]}" \) "${since[@]}" -exec sha256sum {} +)
printf '%s\n' "$found"
mapfile -t links < <(find -H "${libs[@]}" -type l -name '*.py' -exec readlink -f {} +)
find /nonexistent "${links[@]}" -maxdepth 0 ! -path "$PWD/*" "${since[@]}" -exec sha256sum {} +
case $found in *.py*) echo TREE; find . -name .git -prune -o -name '*.py' -type f -exec sha256sum {} + ;; esac ) || :
echo FENCE; } 2>/dev/null`
)

func (r *runner) fence() string { return "batch " + r.nonce + " files" }

// watch returns a part of the script.
func (r *runner) watch(part string) []string {
	if r.job.Command != "" { // the tests run before the markers
		return nil
	}
	text := strings.NewReplacer("FENCE", bash.Quote(r.fence()), "LIBS", pythonLibs, "DIR", bash.Quote(r.job.Workdir)).Replace(part)
	return strings.Split(text, "\n")
}

// sumLine matches a line of sha256sum. A backslash before it says that the name is escaped.
var (
	sumLine     = lazy.Regexp(`^(\\?)([0-9a-f]{64})  (.*)$`)
	escapedName = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r")
)

// watched takes what the two parts printed out of the script's output, and returns the files that
// were written with another content. A file of a library folder that equals one of the tree is an
// installed copy of it. What runs before the tests could print such lines too, to hide its files:
// then all of them count.
func (r *runner) watched(output []byte) (log []byte, list []Written) {
	const whole, first, second = 5, 1, 3 // the segments of the output, and those that list files
	segments := bytes.Split(output, []byte("\n"+r.fence()))
	for _, i := range []int{2, 4} { // the log's own segments begin behind the line of a list's end
		if i < len(segments) {
			segments[i] = bytes.TrimPrefix(segments[i], []byte("\n"))
		}
	}
	if len(segments) < whole { // the script did not come to its tests
		for i, text := range segments {
			if i != first && i != second {
				log = append(log, text...)
			}
		}
		return log, nil
	}
	written, tree, _ := bytes.Cut(segments[second], []byte("\nTREE\n"))
	log = bytes.Join([][]byte{segments[0], segments[2], segments[4]}, nil)
	if len(segments) > whole {
		written, tree = bytes.Join(segments[second-1:], []byte("\n")), nil
		log = slices.Concat(segments[0], written)
	}
	known, own := map[Written]bool{}, map[string]bool{}
	for _, w := range sums(segments[first]) {
		known[w] = true
	}
	for _, w := range sums(tree) {
		own[w.Sum+path.Base(w.Path)] = true
	}
	for _, w := range sums(written) {
		if copied := path.IsAbs(w.Path) && own[w.Sum+path.Base(w.Path)]; !known[w] && !copied {
			list = append(list, w)
		}
	}
	return log, list
}

func sums(text []byte) (list []Written) {
	for line := range strings.Lines(string(text)) {
		if m := sumLine().FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			name := m[3]
			if m[1] != "" {
				name = escapedName.Replace(name)
			}
			list = append(list, Written{Path: path.Clean(name), Sum: m[2]})
		}
	}
	return list
}

// builds matches files in the tree that builds of code write, and that are the code under test or
// describe it. Of those that an install puts into a library folder, editable matches the ones that
// are no copies.
var (
	builds   = lazy.Regexp(`(^|/)(build|dist|node_modules|bower_components|vendor|target|\.eggs)/|(^|/)_?version\.py$|(^|/)__editable__`)
	editable = lazy.Regexp(`/__editable__[^/]*$`)
)

// WrittenDeciders returns the files among those that a run of the job wrote before the tests that
// can determine the reported results.
func WrittenDeciders(job Job, written []Written) []Decider {
	var inTree []Change
	var list []Decider
	for _, w := range written {
		switch {
		case !path.IsAbs(w.Path):
			if !builds().MatchString(w.Path) {
				inTree = append(inTree, Change{Path: w.Path, Created: true})
			}
		case !editable().MatchString(w.Path):
			list = append(list, Decider{Path: w.Path, Tier: TierRunner, Why: "Python runs it, or can"})
		}
	}
	job.Gold = nil
	return append(list, slices.DeleteFunc(Deciders(job, inTree), func(d Decider) bool { return d.Tier != TierRunner })...)
}
