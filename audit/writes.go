package audit

import (
	"path"
	"slices"
	"strings"

	"batch.example/batch/audit/diff"
	"batch.example/batch/audit/shell"
)

// write is a file that an action writes, changes or removes.
type write struct {
	path string // as the command has it, behind the directory that it changed to
	text string // the command
	data string // what is written; empty if it is not in the command

	removed, copied bool // it is removed; it is a file that was there before
}

// writesOf returns the files that a command writes, if its words say so.
func writesOf(c shell.Command) (list []write) {
	add := func(w write, paths ...string) {
		for _, p := range paths {
			if p != "" && !strings.HasPrefix(p, "/dev/") && !strings.HasPrefix(p, "&") {
				w.path, w.text, w.data = within(c.Dir, p), c.Text, c.Stdin
				list = append(list, w)
			}
		}
	}
	for _, r := range c.Redirects {
		if strings.Contains(r.Op, ">") && (r.Op != ">&" || strings.Trim(r.Target, "0123456789-") != "") {
			add(write{}, r.Target)
		}
	}
	plain := operands(c.Args())
	switch c.Name() {
	case "tee", "truncate":
		add(write{}, plain...)
	case "rm", "unlink":
		add(write{removed: true}, plain...)
	case "sed", "perl":
		if slices.ContainsFunc(c.Args(), inPlace) {
			add(write{}, scripted(c.Args())...)
		}
	case "cp", "install", "ln", "mv":
		from, to := copies(c.Args())
		add(write{copied: true}, to...)
		if c.Name() == "mv" {
			add(write{removed: true}, from...)
		}
	case "dd":
		for _, a := range c.Args() {
			if to, found := strings.CutPrefix(a, "of="); found {
				add(write{}, to)
			}
		}
	case "patch":
		add(write{}, patchedFiles(c)...)
	case "git":
		add(write{}, gitWrites(c, plain)...)
	}
	return list
}

// gitWrites returns the files that a command of git writes, if it applies a patch, or moves or removes
// files.
func gitWrites(c shell.Command, plain []string) []string {
	switch {
	case slices.Contains(plain, "apply") || slices.Contains(plain, "am"):
		return patchedFiles(c)
	case len(plain) > 1 && (plain[0] == "rm" || plain[0] == "mv"):
		return plain[1:]
	}
	return nil
}

// patchedFiles returns the files of a patch in a here document.
func patchedFiles(c shell.Command) (paths []string) {
	for _, f := range diff.Read(c.Stdin) {
		paths = append(paths, f.Path)
	}
	return paths
}

// within returns a path as it is from the first directory.
func within(dir, p string) string {
	if dir == "" || path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

// is reports whether the file is at a path of the repository.
func (w write) is(relative string) bool {
	return !w.outside() && (w.path == relative || strings.HasPrefix(w.path, "/") && strings.HasSuffix(w.path, "/"+relative))
}

// outside reports whether the file is in a folder of the system, where no repository is.
func (w write) outside() bool {
	return slices.ContainsFunc([]string{"/tmp/", "/var/", "/usr/", "/etc/"}, func(dir string) bool { return strings.HasPrefix(w.path, dir) })
}
