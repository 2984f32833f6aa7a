package audit

import (
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// findHistory finds commands that read git history after the base commit.
func findHistory(t *task, h *hits) {
	g := history{task: t, own: map[string]bool{}}
	for i := range t.actions {
		a := &t.actions[i]
		found := false
		for _, c := range a.commands {
			part := ""
			if c.name() == "git" {
				args := gitArgs(c.args())
				part = g.later(args)
				g.learn(args)
			} else {
				part = gitFile(c)
			}
			if part != "" {
				h.add(a, c.text, part)
				found = true
			}
		}
		for _, p := range a.codes {
			for _, c := range p.calls {
				for _, text := range slices.Concat(c.args...) {
					if hidden().MatchString(text) {
						h.add(a, lineOf(p.text, c.at), text)
					}
				}
			}
		}
		if !found { // a commit from later history is not known because it was read
			g.seen = append(g.seen, a)
		}
	}
}

// history has the commits that the agent knows and the commands that it ran so far.
type history struct {
	task    *task
	seen    []*action
	own     map[string]bool // its branches and tags
	stashed bool
}

// learn notes the branches and tags that a command of git makes.
func (g *history) learn(args []string) {
	if len(args) == 0 {
		return
	}
	plain := operands(args[1:])
	switch args[0] {
	case "stash":
		g.stashed = g.stashed || len(plain) == 0 || plain[0] == "push" || plain[0] == "save"
	case "branch", "tag":
		if len(plain) > 0 {
			g.own[plain[0]] = true
		}
	case "checkout", "switch", "worktree":
		if i := slices.IndexFunc(args, naming().MatchString); i > 0 && i+1 < len(args) {
			g.own[args[i+1]] = true
		}
	}
}

var (
	// reading matches the commands of git that show commits, and revisions those whose operands are
	// never files.
	reading   = lazy.Regexp(`^(?:log|shortlog|whatchanged|diff|difftool|checkout|restore|archive|reset|ls-tree|blame|annotate|grep|worktree|bundle|diff-tree|describe|name-rev|cat-file|rev-list|rev-parse)$`)
	revisions = lazy.Regexp(`^(?:show|cherry-pick|switch|format-patch|merge|rebase|range-diff|show-branch|read-tree)$`)
	// naming matches flags before the name of a new branch.
	naming = lazy.Regexp(`^(?:-[bBcC]|--create|--orphan)$`)
	// everything matches flags that add commits that HEAD does not reach.
	everything = lazy.Regexp(`^(?:--(?:all|branches|tags|remotes|glob|alternate-refs)(?:=.*)?|-g|--walk-reflogs|--reflog|--batch-all-objects)$`)
	// refName matches names that are of a branch or a tag rather than of a file.
	refName = lazy.Regexp(`^(?:refs/.+|(?:remotes|heads|tags|origin|upstream|release|releases|stable)/.+|origin|upstream|[A-Z]+_HEAD|main|master|develop|devel|dev|trunk|next|stable|[a-z]*[-_]?v?\d+(?:\.[\dx]+)+[\w.-]*|v\d+)$`)
	// listing matches commands that list commits which HEAD does not reach.
	listing = lazy.Regexp(`^(?:reflog(?: (?:show|[-A-Z]).*)?$|unpack-objects|verify-pack|for-each-ref|ls-remote|show-ref(?: [^-]|$)|fsck .*-|` +
		`(?:branch|tag) .*(?:--contains|--no-merged)|branch .*(?:-[ar]v|-v+[ar]\b|(?:-[ar]|--all|--remotes) .*(?:-v|--verbose)))`)
	// popping matches the use of a stash, and returning the way back from a branch of the agent's own.
	popping   = lazy.Regexp(`^stash (?:pop|apply|show|branch)`)
	returning = lazy.Regexp(`^(?:checkout|switch) (?:main|master)$`)
	// commitID matches the id of a commit.
	commitID = lazy.Regexp(`^[0-9a-f]{7,40}$`)
	// position matches what is behind the name in a revision.
	position = lazy.Regexp(`[~^:].*$|@\{.*$`)
	// gitValued are flags with a value that is no revision.
	gitValued = lazy.Regexp(`^(?:-[SGLmoOe]|--(?:grep|author|since|until|after|before|format|output))$`)
)

// allRefs stands for the names that git branch and git tag print.
const allRefs = "refs/*"

// later returns the word of a command of git that reads later history; empty if there is none.
func (g *history) later(args []string) string {
	if len(args) == 0 {
		return ""
	}
	verb, line := args[0], strings.Join(args, " ")
	always := revisions().MatchString(verb)
	switch {
	case listing().MatchString(line), verb == "stash" && !g.stashed && popping().MatchString(line):
		return verb
	case !always && !reading().MatchString(verb), line == "reset --hard ORIG_HEAD", len(g.own) > 0 && returning().MatchString(line):
		return ""
	}
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		a := args[i]
		source, given := strings.CutPrefix(a, "--source=")
		switch {
		case everything().MatchString(a) && verb != "describe":
			return a
		case gitValued().MatchString(a), naming().MatchString(a) && slices.Contains([]string{"checkout", "switch", "worktree"}, verb):
			i++
		case given && g.leads(verb, source, true), !strings.HasPrefix(a, "-") && g.leads(verb, a, always):
			return a
		}
	}
	return ""
}

// leads reports whether a revision or a range leads to commits that HEAD does not reach.
func (g *history) leads(verb, revision string, always bool) bool {
	revision = strings.TrimPrefix(revision, "^")
	sides := strings.SplitN(strings.Replace(revision, "...", "..", 1), "..", 2)
	if len(sides) == 2 && (sides[1] == "" || sides[1] == "HEAD") && sides[0] != "" && verb != "show" {
		if verb != "diff" || strings.Contains(revision, "...") { // what HEAD has and the other has not
			return false
		}
	}
	for _, side := range sides {
		if g.leadsTo(side, verb, always || len(sides) == 2 || strings.ContainsRune(side, ':')) {
			return true
		}
	}
	return false
}

func (g *history) leadsTo(revision, verb string, always bool) bool {
	name := position().ReplaceAllString(revision, "")
	switch {
	case strings.ContainsAny(name, "$*") && name != allRefs, g.own[name]:
		return false
	case (name == "HEAD" || name == "") && strings.Contains(revision, "@{"):
		return verb != "diff"
	case name == "" || name == "HEAD" || name == "@":
		return false
	case name == "stash":
		return !g.stashed
	case commitID().MatchString(name) && (len(name) == 40 || strings.ContainsAny(name, "0123456789") && strings.ContainsAny(name, "abcdef")):
		return !g.named(name)
	case refName().MatchString(name):
		return true
	}
	return always && (!strings.ContainsAny(name, "./") || verb == "merge" || verb == "switch")
}

// named reports whether an id of a commit was in a text that the agent had. It was perhaps, if
// the output of git was not kept whole.
func (g *history) named(id string) bool {
	short := id[:7]
	if row := g.task.row; row != nil && strings.HasPrefix(row.BaseCommit, short) {
		return true
	}
	if strings.Contains(g.task.knownText(), short) {
		return true
	}
	return slices.ContainsFunc(g.seen, func(a *action) bool {
		return a.Total > a.Kept && strings.Contains(a.Command, "git") || strings.Contains(a.Output, short)
	})
}

// hidden are parts of a path in .git that lead to later commits.
var hidden = lazy.Regexp(`(?:^|/)\.git/(?:packed-refs|ORIG_HEAD|FETCH_HEAD|logs(?:/|$)|refs/(?:remotes|tags|heads)|objects(?:/|$))`)

// gitFile returns the word of a reading command that names a file in .git with later commits.
func gitFile(c command) string {
	if slices.Contains([]string{"rm", "tar", "chmod", "chown", "du", "mkdir", "touch", "test", "["}, c.name()) {
		return ""
	}
	for _, a := range paths(c) {
		if !strings.HasPrefix(a, "-") && hidden().MatchString(within(c.dir, a)) {
			return a
		}
	}
	return ""
}

// gitArgs returns git's command and its arguments, without flags before the command.
func gitArgs(args []string) []string {
	return behindFlags(args, gitFlags())
}

var gitFlags = lazy.Regexp(`^(?:-C|-c|--git-dir|--work-tree)$`)
