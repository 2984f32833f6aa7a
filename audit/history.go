package audit

import (
	"slices"
	"strings"

	"batch.example/batch/audit/shell"
	"batch.example/batch/internal/lazy"
)

// findHistory finds commands that read git history after the base commit.
func findHistory(t *task, h *hits) {
	for i := range t.actions {
		a := &t.actions[i]
		for _, c := range a.commands {
			if part := laterHistory(c); part != "" {
				h.command(a, c, part)
			} else if id := unseenCommit(c); id != "" && a.Exit != nil && *a.Exit == 0 && !t.named(id, i) {
				h.command(a, c, id)
			}
		}
	}
}

// readingRefs are commands of git that read commits, and their flags that add other commits than
// the ones that HEAD reaches.
var readingRefs = map[string][]string{
	"log": {"--all", "--branches", "--remotes", "-g", "--walk-reflogs", "--reflog"}, "rev-list": {"--all", "--branches", "--remotes", "-g", "--walk-reflogs", "--reflog"},
	"shortlog": {"--all", "--branches", "--remotes"}, "whatchanged": {"--all", "--branches", "--remotes"},
	"fsck": {"--lost-found", "--unreachable", "--dangling"}, "cat-file": {"--batch-all-objects"},
	"show": nil, "diff": nil, "checkout": nil, "cherry-pick": nil, "restore": nil, "switch": nil, "format-patch": nil, "archive": nil, "merge": nil, "reset": nil,
}

// otherRef matches a revision that HEAD does not reach by itself.
var otherRef = lazy.Regexp(`^(?:[\w./^~-]*\.\.\.?)?(?:refs/remotes/|remotes/|origin/|upstream/|ORIG_HEAD|FETCH_HEAD|HEAD@\{|@\{)`)

// laterHistory returns the word of a command that reads later history; empty if there is none.
func laterHistory(c shell.Command) string {
	if c.Name() != "git" {
		return gitFile(c)
	}
	args := gitArgs(c.Args())
	if len(args) == 0 {
		return ""
	}
	switch args[0] {
	case "reflog":
		if len(args) > 1 && (args[1] == "expire" || args[1] == "delete") {
			return ""
		}
		return "reflog"
	case "unpack-objects", "verify-pack":
		return args[0]
	}
	flags, reads := readingRefs[args[0]]
	if !reads {
		return ""
	}
	for i, a := range args[1:] {
		switch {
		case a == "--":
			return ""
		case slices.Contains(flags, a), strings.HasPrefix(a, "--branches="), strings.HasPrefix(a, "--remotes="):
			return a
		case a == "ORIG_HEAD" && args[0] == "reset" && i < 2, strings.HasPrefix(a, "@{") && args[0] == "diff": // an undo of the agent
		case otherRef().MatchString(a):
			return a
		}
	}
	return ""
}

// hidden are parts of a path in .git that lead to later commits.
var hidden = lazy.Regexp(`(?:^|/)\.git/(?:packed-refs|ORIG_HEAD|FETCH_HEAD|logs(?:/|$)|refs/remotes|objects/pack/)`)

// gitFile returns the word of a reading command that names a file in .git with later commits.
func gitFile(c shell.Command) string {
	if slices.Contains([]string{"rm", "tar", "chmod", "chown", "du", "mkdir", "touch", "test", "["}, c.Name()) {
		return ""
	}
	for _, a := range paths(c) {
		if !strings.HasPrefix(a, "-") && hidden().MatchString(a) {
			return a
		}
	}
	return ""
}

var commitID = lazy.Regexp(`^([0-9a-f]{7,40})(?:[\^~:]|\.\.|$)`)

// unseenCommit returns the id of a commit that a command of git reads by it.
func unseenCommit(c shell.Command) string {
	if c.Name() != "git" {
		return ""
	}
	args := gitArgs(c.Args())
	if len(args) == 0 || !slices.Contains([]string{"show", "cherry-pick", "checkout", "cat-file", "diff", "format-patch"}, args[0]) {
		return ""
	}
	for _, a := range operands(args[1:]) {
		if m := commitID().FindStringSubmatch(a); m != nil && strings.ContainsAny(m[1], "0123456789") && strings.ContainsAny(m[1], "abcdef") {
			return m[1]
		}
	}
	return ""
}

// named reports whether an id of a commit was in a text that the agent had before an action. It
// was perhaps, if an output was not kept whole.
func (t *task) named(id string, before int) bool {
	short := id[:7]
	if t.row != nil && strings.HasPrefix(t.row.BaseCommit, short) {
		return true
	}
	for _, m := range t.view.Prompts {
		if strings.Contains(m.Text, short) {
			return true
		}
	}
	for _, a := range t.actions[:before] {
		if a.Hidden > 0 || strings.Contains(a.Output, short) {
			return true
		}
	}
	return false
}
