package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
)

// Change is an entry of the working tree, a file or a symbolic link, that applying a patch created,
// changed or removed. It comes from the tree itself, so that it does not depend on parsing the
// patch: git and patch(1) know more forms, and guess more names, than another parser could.
type Change struct {
	Path    string // relative to Workdir
	Created bool   // did not exist before
	Link    bool   // it is a symbolic link now
	Target  string // of the link, if the image's find can print it
	Shadows bool   // Python finds it before a module that is installed in the image
}

// MarshalJSON keeps the bytes of names that are not UTF-8.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(changeJSON{[]byte(c.Path), []byte(c.Target), c.Created, c.Link, c.Shadows})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Change) UnmarshalJSON(data []byte) error {
	var j changeJSON
	err := json.Unmarshal(data, &j)
	*c = Change{Path: string(j.Path), Target: string(j.Target), Created: j.Created, Link: j.Link, Shadows: j.Shadows}
	return err
}

type changeJSON struct {
	Path, Target           []byte
	Created, Link, Shadows bool
}

// treeLimit limits a list of the working tree, in bytes: about a million files.
const treeLimit = 128 << 20

// listTree prints every entry of the working tree except folders, as three texts that end with a
// NUL: the output of stat, its path, and the target of a link. Every write changes the time of the
// inode, which no program can set. If find has no -printf, like BusyBox's, the stat texts of all
// entries come first, one per line, and the paths after them. A folder that cannot be read counts
// as empty: no patch can write there either.
const listTree = `exec 2>/dev/null
if find . -maxdepth 0 -printf ''; then
    find . ! -type d -printf '%%y %%m %%i %%s %%C@\0%%p\0%%l\0'
else
    mkdir -p %[1]s || exit 2
    find . ! -type d -print0 > %[1]s/paths
    printf '\0'; xargs -0 -r stat -c '%%f %%i %%s %%Z' < %[1]s/paths && printf '\0' && cat %[1]s/paths
fi`

// treeFile has the compared properties of a file in the tree.
type treeFile struct {
	stat   string
	link   bool
	target string
}

// readTree returns the entries of the working tree by path.
func (r *runner) readTree(ctx context.Context) (map[string]treeFile, error) {
	out, err := r.setupWith(ctx, fmt.Sprintf(listTree, r.folder), treeLimit)
	if err != nil {
		return nil, err
	}
	tree, ok := parseTree(out.Bytes)
	if out.ExitCode > 1 || out.Total > int64(len(out.Bytes)) || !ok {
		return nil, fault.Newf(fault.Instance, "listing the files in %s: exit code %d: %s", r.job.Workdir, out.ExitCode, reason(out.Bytes[:min(len(out.Bytes), 1000)])).
			WithHint("the image needs find, and xargs and stat where its find has no -printf")
	}
	return tree, nil
}

// parseTree reads the output of listTree.
func parseTree(out []byte) (map[string]treeFile, bool) {
	tree := map[string]treeFile{}
	if bytes.HasPrefix(out, []byte{0}) {
		stats, paths, ok := bytes.Cut(out[1:], []byte{0})
		lines := strings.Split(strings.TrimSuffix(string(stats), "\n"), "\n")
		names := strings.Split(strings.TrimSuffix(string(paths), "\x00"), "\x00")
		if len(lines) != len(names) {
			return nil, false
		}
		for i, name := range names {
			const link, kind = "a", 4 // the mode's first of four hexadecimal digits
			tree[path.Clean(name)] = treeFile{stat: lines[i], link: strings.IndexByte(lines[i], ' ') == kind && strings.HasPrefix(lines[i], link)}
		}
		return tree, ok
	}
	texts := strings.Split(string(out), "\x00")
	if len(texts)%3 != 1 || texts[len(texts)-1] != "" {
		return nil, false
	}
	for i := 0; i+2 < len(texts); i += 3 {
		tree[path.Clean(texts[i+1])] = treeFile{stat: texts[i], link: strings.HasPrefix(texts[i], "l "), target: texts[i+2]}
	}
	return tree, true
}

// changes returns the differences between two trees, sorted by path.
func changes(before, after map[string]treeFile) []Change {
	var list []Change
	for name, now := range after {
		if was, there := before[name]; !there || was != now {
			list = append(list, Change{Path: name, Created: !there, Link: now.link, Target: now.target})
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			list = append(list, Change{Path: name})
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// ofPatch returns the changes of the tree by a patch. It leaves out git's own files: git writes
// nothing there for a patch. refused says why the patch must not count as applied: if patch(1) has
// run, on the tree unpatched, it may have written to a path that git refuses.
func ofPatch(before, unpatched, after map[string]treeFile) (list []Change, refused string) {
	if unpatched != nil {
		for _, c := range changes(unpatched, after) {
			if why := forbidden(c.Path); why != "" {
				return nil, why
			}
			if c.Link && leaves(c) {
				return nil, fmt.Sprintf("the patch makes %s a symbolic link to %q, outside of the repository", c.Path, c.Target)
			}
		}
	}
	return slices.DeleteFunc(changes(before, after), func(c Change) bool { return forbidden(c.Path) != "" }), ""
}

// leaves reports whether a link may point out of the working tree, so that patch(1) may have
// written through it without a trace in the tree.
func leaves(c Change) bool {
	target := path.Join(path.Dir(c.Path), c.Target)
	return c.Target == "" || path.IsAbs(c.Target) || target == ".." || strings.HasPrefix(target, "../")
}

// findModules prints the names among its arguments that are modules of a Python in the image.
const findModules = `shopt -s nullglob
libs=(` + pythonLibs + `)
for name; do
    for lib in "${libs[@]}"; do
        found=("$lib/$name" "$lib/$name.py" "$lib"/*-packages/"$name" "$lib"/*-packages/"$name".py "$lib"/lib-dynload/"$name".*.so "$lib"/*-packages/"$name".*.so)
        for file in "${found[@]}"; do
            if [ -e "$file" ]; then echo "$name"; break 2; fi
        done
    done
done`

// module matches the names of modules.
var module = lazy.Regexp(`^[A-Za-z_]\w*$`)

// markShadows finds the new files that Python may import in place of an installed module: first has
// the folders where it looks first. A package's file that makes a package of a folder above the
// tests is imported before them.
func (r *runner) markShadows(ctx context.Context, before map[string]treeFile, first []string, list []Change) error {
	folders := map[string]bool{".": true}
	for name := range before {
		for dir := path.Dir(name); dir != "." && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	byModule := map[string][]int{}
	for i, c := range list {
		if dir := path.Dir(c.Path); c.Created && path.Base(c.Path) == "__init__.py" && folders[dir] {
			list[i].Shadows = slices.ContainsFunc(r.job.TestFiles, func(test string) bool { return dir == "." || strings.HasPrefix(test, dir+"/") })
		}
		if name, root := importable(c.Path, first); c.Created && module().MatchString(name) && !folders[root] {
			byModule[name] = append(byModule[name], i)
		}
	}
	if len(byModule) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(byModule))
	out, err := r.setup(ctx, "set -- "+strings.Join(names, " ")+"\n"+findModules)
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(out.Bytes)) {
		for _, i := range byModule[name] {
			list[i].Shadows = true
		}
	}
	return nil
}

// importable returns the name of the top-level module that a path belongs to, if Python looks for
// modules in the repository's root, in a folder of tests at its top, or in one of the folders first.
// root is the path of that module if it is a folder.
func importable(name string, first []string) (top, root string) {
	dir, rest, nested := strings.Cut(name, "/")
	if !nested || !inTests().MatchString(dir+"/") { // otherwise the folder of the tests comes first
		dir, rest = "", name
	}
	for _, f := range first {
		if inside, ok := strings.CutPrefix(name, f+"/"); ok && len(inside) < len(rest) {
			dir, rest = f, inside
		}
	}
	top, _, nested = strings.Cut(rest, "/")
	root = path.Join(dir, top)
	if nested {
		return top, root
	}
	stem, ok := strings.CutSuffix(top, ".py")
	if !ok {
		return "", ""
	}
	return stem, name
}
