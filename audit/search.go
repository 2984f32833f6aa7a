package audit

import (
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/audit/shell"
	"batch.example/batch/internal/lazy"
)

// findTaskSearch finds searches for the task's own number, and for its upstream fix.
func findTaskSearch(t *task, h *hits) {
	s := t.searched()
	t.eachCommand(func(a *action, c shell.Command) {
		if part := s.in(c); part != "" {
			h.command(a, c, part)
		}
	}, func(a *action, c code) {
		if part := s.pages.FindString(c.text); part != "" && c.reaches() != "" {
			h.add(a, lineOf(c.text, part), part)
		}
	})
}

// searched has the texts that an agent may search for.
type searched struct {
	project string         // the name on a package index; empty: not known
	number  *regexp.Regexp // nil: not known
	marked  *regexp.Regexp // the number with a mark before it, such as #1
	pages   *regexp.Regexp
}

// ticketPages matches the pages of trackers that are not on GitHub.
const ticketPages = `code\.djangoproject\.com/ticket/\d+`

func (t *task) searched() searched {
	var s searched
	if n := t.number(); n != "" {
		s.marked = regexp.MustCompile(`(?i)(?:#|gh-?|pull/|issues/|pr[ /#-]?|^)` + n + `(?:\D|$)`)
		if len(n) >= 4 {
			s.number = regexp.MustCompile(`(?:^|[^\w.])` + n + `(?:[^\w.]|$)`)
		}
	}
	pages := ticketPages
	if repo := t.repo(); repo != "" {
		_, s.project, _ = strings.Cut(repo, "/")
		pages = `(?i)(?:github\.com[/:]|raw\.githubusercontent\.com/|api\.github\.com/repos/)` + regexp.QuoteMeta(repo) + `(?:\.git)?(?:/[^\s'"]*|\b)|` + pages
	}
	s.pages = regexp.MustCompile(pages)
	return s
}

// downloads matches the programs whose arguments are pages.
var downloads = lazy.Regexp(`^(?:curl|wget|aria2c|http|https|git|gh|lynx|links|w3m)$`)

// in returns the part of a command that is such a search.
func (s searched) in(c shell.Command) string {
	name, args := c.Name(), c.Args()
	if args, ok := pipArgs(c); ok && s.project != "" && pipReaches(args) {
		for _, a := range operands(args) {
			if n := strings.IndexAny(a+"=", "[=<>!~; "); strings.EqualFold(a[:n], s.project) {
				return a
			}
		}
	}
	if downloads().MatchString(name) && (name != "git" || gitReaches(gitArgs(args))) {
		for _, a := range args {
			if part := s.pages.FindString(a); part != "" {
				return part
			}
		}
	}
	return s.searching(name, args)
}

// searching returns the pattern of a search for the task's number.
func (s searched) searching(name string, args []string) string {
	switch {
	case s.marked == nil:
		return ""
	case name == "gh" && len(args) > 1 && slices.Contains([]string{"pr", "issue"}, args[0]):
		return args[1]
	case name == "git":
		return s.gitSearch(gitArgs(args))
	case !slices.Contains([]string{"grep", "egrep", "fgrep", "rg", "ag", "ack"}, name):
		return ""
	}
	if plain := operands(args); len(plain) > 0 && s.matches(plain[0], false) {
		return plain[0]
	}
	return ""
}

func (s searched) gitSearch(args []string) string {
	if len(args) == 0 || !slices.Contains([]string{"log", "grep", "show", "rev-list", "shortlog"}, args[0]) {
		return ""
	}
	for i, a := range args {
		value, found := strings.CutPrefix(a, "--grep=")
		if a == "--grep" && i+1 < len(args) {
			value, found = args[i+1], true
		}
		if found && s.matches(value, true) {
			return value
		}
	}
	if plain := operands(args[1:]); args[0] == "grep" && len(plain) > 0 && s.matches(plain[0], false) {
		return plain[0]
	}
	return ""
}

// matches reports whether a pattern is the task's number. A pattern of git log --grep that is
// short is a number too.
func (s searched) matches(pattern string, inLog bool) bool {
	if s.number != nil && s.number.MatchString(pattern) {
		return true
	}
	m := s.marked.FindString(pattern)
	return m != "" && (inLog || strings.Trim(m, "0123456789") != "")
}
