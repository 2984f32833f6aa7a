//go:build !race

package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// banned are constructions that a reader stumbles over, and what to write instead. A
// space matches any white space, line breaks and comment marks included. A match
// that passes one of the exceptions in except is let through. Like are examples for the test,
// with every alternative.
var banned = []struct {
	pattern, instead, like string
}{
	{`(go|goes|going|went|gone) on`, "continue, resume, run", "it goes on; they go on; Gone on"},
	{`told`, "asked, reported, said, distinguished", "as told"},
	{`tell(s|ing)? of`, "reports, describes", "it tells of; tell of; telling of"},
	{`peers?`, "mini-swe-agent, or the tool's name", "a peer; the peers"},
	{`(?:[a-z]+) (?:is|are|was|were) (?:no|none) [a-z]+`, "is not a", "this is no file; they were none left"},
	{`befall\w*|befell`, "happens to", "befalls; befell"},
	{`afresh|anew`, "from the beginning, again", "afresh; anew"},
	{`alike`, "the same, similar", "alike"},
	{`ours|theirs`, "say whose: infrastructure, batch, the model", "ours; theirs"},
	{`incomparable`, "different settings", "incomparable"},
	{`(differ|differs) besides`, "other differences", "they differ besides"},
	{`besides[.;:]`, "also, too", "and besides.x"},
	{`(come|comes|came) to pass`, "happens", "it came to pass"},
	{`who(so)?ever`, "anyone who, the caller", "whoever; whosoever"},
	{`(there|where|here)(of|in|upon|unto|to)`, "of it, in it", "thereof; whereupon; hereunto"},
	{`whither|thither|hither|hitherto|whence|thence`, "where, from which", "whither; thither; hither; hitherto; whence; thence"},
	{`otherwise than`, "differently from", "otherwise than"},
	{`of (its|their) own accord`, "by itself", "of their own accord"},
	{`holds results of something else`, "was made with different settings", "it holds results of something else"},
	{`dead runs?`, "crashed run", "a dead run; dead runs"},
	{`lest|upon|unto|amongst|whilst|nought|naught|ere|nigh|shall|thus|hence`, "plain modern English", "lest; upon; unto; amongst; whilst; nought; naught; ere; nigh; shall; thus; hence"},
	{`mend(s|ed|ing)?`, "fix", "mend; mended"},
	{`has none of it|knows no`, "does not know", "it has none of it; he knows no more"},
	{`work trees?`, "working tree", "a work tree; work trees"},
	{`make(s)? sure of`, "checks, ensures", "make sure of; makes sure of"},
	{`all that (is|are|was)`, "everything", "all that was"},
	{`strayed|astray`, "leftover, abandoned", "strayed; astray"},
	{`that it is not`, "say the fact directly", "that it is not"},
	{`(and|which|who|it|they) needs? none`, "does not need one", "which needs none; they need none"},
	{`(which|who|that|it|he) (has|have) none`, "does not have one", "who have none"},
	{`in vain`, "without success", "in vain"},
	{`(see|sees|saw|seen|seeing) to`, "checks, ensures, handles", "he saw to; seen to"},
	{`(let|lets|letting) go of`, "releases", "let go of; letting go of"},
	{`(come|comes|came) of`, "the result of", "what came of"},
	{`but for`, "except", "all but for"},
	{`dear(er|est)?`, "expensive", "dear; dearest"},
}

// bannedNames are words that no identifier may equal or begin with.
var bannedNames = regexp.MustCompile(`^(saying|fly|letIn|letOut|letGo|lack|strayed|historian|revive|astray|befall)([A-Z_0-9]\w*)?$`)

// except are texts in which a banned construction is right, with the reason.
var except = []string{
	"there is no", "there are no", "there was no", "there were no", "where there is none", // a plain statement
	"is no longer", "are no longer", "was no longer", "were no longer",
	"is no more than", "is no less than", "are no more than", "is no such", "are no such",
	"peer certificate", "connection reset by peer", // texts of the standard library
}

// quotes are files that somebody else wrote, or that must have the banned words.
var quotes = []string{
	"internal/archtest/english_test.go", "internal/archtest/budget_test.go",
	"dataset/demo/tasks", // problems in the words of their reporters
	"dataset/hub/testdata",
	"scripts/benchtable", "scripts/benchagainst", // ours and theirs are columns of a comparison
	"docker/bench_test.go",                     // has the benchmark Life/ours, which these scripts also run at older commits
	"cmd/batch/testdata/script/complete.txtar", // a file is called theirs.yaml
	"scripts/mutation/equivalent.txt",          // parts of lines of code
}

// proseEndings are the endings of files that are read as a whole; those of scripts without
// an ending are found by their first line.
var proseEndings = []string{".md", ".txtar", ".txt", ".golden", ".yaml", ".sh"}

var blank = regexp.MustCompile(`[\s/#*]+`)

// badEnglish lists what is banned in text, which begins at a line of file name.
func (c *checker) badEnglish(name string, line int, text string) []string {
	var found []string
	words := c.wordsIn(text)
	for _, r := range c.rules {
		if !slices.ContainsFunc(r.needs, words.has) {
			continue
		}
		for at := 0; at < len(text); {
			m := r.FindStringIndex(text[at:])
			if m == nil {
				break
			}
			from, to := at+m[0], at+m[1]
			at = to
			if excepted(text, from, to) {
				continue
			}
			found = append(found, fmt.Sprintf("%s:%d: %q: better: %s", name,
				line+strings.Count(text[:from], "\n"), blank.ReplaceAllString(text[from:to], " "), r.instead))
		}
	}
	return found
}

// excepted reports whether text[from:to] is part of a text in which it is right.
func excepted(text string, from, to int) bool {
	window := strings.ToLower(blank.ReplaceAllString(text[max(0, from-30):min(len(text), to+30)], " "))
	part := strings.ToLower(blank.ReplaceAllString(text[from:to], " "))
	return slices.ContainsFunc(except, func(e string) bool {
		return strings.Contains(window, e) && (strings.Contains(e, part) || strings.Contains(part, e))
	})
}

// badGo lists what is banned in the comments, texts and names of a Go file.
func (c *checker) badGo(name string, f source) []string {
	var found []string
	for line, text := range f.texts() {
		found = append(found, c.badEnglish(name, line, text)...)
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		if n, ok := n.(*ast.Ident); ok {
			is, known := c.names[n.Name]
			if !known {
				is = bannedNames.MatchString(n.Name)
				c.names[n.Name] = is
			}
			if is {
				found = append(found, fmt.Sprintf("%s:%d: name %s: say what it does", name, f.set.Position(n.Pos()).Line, n.Name))
			}
		}
		return true
	})
	return found
}

// texts yields the comments and then the texts of a Go file, each with its line.
func (f source) texts() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		more := true
		look := func(pos, end token.Pos) {
			from, to := f.set.Position(pos), f.set.Position(end)
			more = more && yield(from.Line, f.text[from.Offset:to.Offset])
		}
		for _, group := range f.Comments {
			look(group.Pos(), group.End())
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if n, ok := n.(*ast.BasicLit); ok && n.Kind == token.STRING {
				look(n.Pos(), n.End())
			}
			return more
		})
	}
}

// eachFile calls visit with each file that the authors of the module wrote, without quotes. A
// file that is not Go has its text and no syntax.
func eachFile(t *testing.T, visit func(path string, f source)) {
	t.Helper()
	root, files := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(full string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, _ := filepath.Rel(root, full)
		path = filepath.ToSlash(path)
		if e.IsDir() {
			if path == ".git" || path == "bin" || strings.HasPrefix(path, "demo-run") || path == "runs" {
				return filepath.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() || slices.ContainsFunc(quotes, func(f string) bool { return within(path, f) }) {
			return nil
		}
		ending := filepath.Ext(path)
		if ending == ".go" {
			visit(path, goFile(t, full))
		} else {
			src, err := os.ReadFile(full)
			if err != nil {
				return err
			}
			if !slices.Contains(proseEndings, ending) && path != "Makefile" && !bytes.HasPrefix(src, []byte("#!")) {
				return nil
			}
			visit(path, source{text: string(src)})
		}
		files++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files were read", files)
	}
}

func TestPlainEnglish(t *testing.T) {
	c := newChecker()
	eachFile(t, func(path string, f source) {
		var found []string
		if f.File != nil {
			found = c.badGo(path, f)
		} else {
			found = c.badEnglish(path, 1, f.text)
		}
		for _, v := range found {
			t.Error(v)
		}
	})
}

func TestTheEnglishCheckCatches(t *testing.T) {
	check := newChecker()
	for i, b := range banned {
		r := check.rules[i]
		for _, like := range strings.Split(b.like, "; ") {
			if found := strings.Join(check.badEnglish("x", 1, "A word "+like+" is one."), "\n"); !strings.Contains(found, r.instead) {
				t.Errorf("%s: found %q in %q", b.pattern, found, like)
			}
		}
		words := check.wordsIn(b.like)
		for at, need := range r.needs {
			if !words.has(need) {
				t.Errorf("%s: no example of %q", b.pattern, alternatives(b.pattern)[at])
			}
		}
	}
	for src, want := range map[string]string{
		"package p\n\n// it goes\n// on with it":      `f.go:3: "goes on": better: continue, resume, run`,
		"package p\n\nvar a = \"x is no file\"":       `f.go:3: "x is no file": better: is not a`,
		"package p\n\nfunc letIn() {}":                `f.go:3: name letIn: say what it does`,
		"package p\n\nvar a = `none\nis alike`":       `f.go:4: "alike": better: the same, similar`,
		"package p // there is no file; it continues": "",
		"package p\n\n// it sees\n// to the files":    `f.go:3: "sees to": better: checks, ensures, handles`,
		"package p // what came of it":                `f.go:1: "came of": better: the result of`,
		"package p // let go of it":                   `f.go:1: "let go of": better: releases`,
		"package p // all but for one":                `f.go:1: "but for": better: except`,
		"package p // the dearest call":               `f.go:1: "dearest": better: expensive`,
		"package p // it came often, not for two":     "",
		"package p\n\nvar told = lacking":             "",
	} {
		if got := strings.Join(check.badGo("f.go", parsed(t, "f.go", src)), "\n"); got != want {
			t.Errorf("%s:\nfound %q\nwant  %q", src, got, want)
		}
	}
	if found := check.badEnglish("x", 1, "Alike\nthereof. aliken"); len(found) != 2 {
		t.Errorf("found %q, want 2 found", found)
	}
}
