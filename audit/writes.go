package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"

	"batch.example/batch/internal/diff"
)

// write is a file that an action writes, changes or removes.
type write struct {
	path string // as the command has it, behind the directory that it changed to; it may be a pattern
	text string // the command
	data string // what is written, or a program that has it; empty if it is not in the command

	removed, copied bool // it is removed; it is a file that was there before
}

// writesOf returns the files that a command writes, if its words say so.
func (r *reader) writesOf(c command) (list []write) {
	add := func(w write, paths ...string) {
		for _, p := range paths {
			if p != "" && !strings.HasPrefix(p, "/dev/") {
				w.path, w.text, w.data = within(c.dir, p), c.text, c.stdin
				list = append(list, w)
			}
		}
	}
	for _, redir := range c.redirects {
		if redir.writes() {
			add(write{}, redir.target)
		}
	}
	args := c.args()
	plain := operands(args)
	switch c.name() {
	case "tee", "truncate", "ed", "ex", "sponge":
		add(write{}, plain...)
	case "rm", "unlink", "shred", "rmdir":
		add(write{removed: true}, plain...)
	case "sed", "perl", "ruby", "awk", "gawk":
		if slices.ContainsFunc(args, inPlace().MatchString) {
			add(write{}, scripted(args)...)
		}
	case "find":
		if slices.Contains(args, "-delete") {
			add(write{removed: true}, foundBy(args)...)
		}
	case "cp", "install", "ln", "mv", "rsync":
		from, to := copies(args)
		add(write{copied: true}, to...)
		if c.name() == "mv" {
			add(write{removed: true}, from...)
		}
	case "dd":
		for _, a := range args {
			if to, found := strings.CutPrefix(a, "of="); found {
				add(write{}, to)
			}
		}
	case "patch":
		add(write{}, plain[:min(1, len(plain))]...)
		add(write{}, r.patched(c, plain)...)
	case "git":
		switch {
		case slices.Contains(plain, "apply") || slices.Contains(plain, "am"):
			add(write{}, r.patched(c, plain)...)
		case len(plain) > 1 && (plain[0] == "rm" || plain[0] == "mv"):
			add(write{removed: true}, plain[1:]...)
		}
	}
	return list
}

// patched returns the files of the patches that a command reads.
func (r *reader) patched(c command, plain []string) (paths []string) {
	text := c.stdin
	for _, p := range plain {
		text += "\n" + r.file(p)
	}
	for _, f := range diff.Read(text) {
		paths = append(paths, f.Path())
	}
	return paths
}

// is returns a function that reports whether the write is of a file of the repository, which may
// be in any folder.
func (w write) is() func(file string) bool {
	expr, err := pattern.Regexp(strings.TrimPrefix(w.path[:min(len(w.path), maxValue)], "/"), pattern.Filenames|pattern.EntireString)
	form, bad := regexp.Compile(expr)
	return func(file string) bool {
		switch at := strings.Index(w.path, "/"+file); {
		case w.outside(), len(w.path) > maxValue:
			return false
		case w.path == file, path.IsAbs(w.path) && at >= 0 && at+1+len(file) == len(w.path):
			return true
		case w.removed && (strings.HasPrefix(file, w.path+"/") || path.IsAbs(w.path) && strings.HasPrefix(file, path.Base(w.path)+"/")):
			return true
		}
		return err == nil && bad == nil && form.MatchString(file)
	}
}

// outside reports whether the file is in a folder of the system, where no repository is.
func (w write) outside() bool {
	return slices.ContainsFunc([]string{"/tmp/", "/var/", "/usr/", "/etc/"}, func(dir string) bool { return strings.HasPrefix(w.path, dir) })
}
