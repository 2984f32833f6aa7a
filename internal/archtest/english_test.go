package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// banned are constructions that a reader stumbles over, and what to write instead. A
// space matches any white space, line breaks and comment marks included. A match
// that passes one of the exceptions in except is let through.
var banned = []struct {
	pattern, instead string
}{
	{`(go|goes|going|went|gone) on`, "continue, resume, run"},
	{`told`, "asked, reported, said, distinguished"},
	{`tell(s|ing)? of`, "reports, describes"},
	{`peers?`, "mini-swe-agent, or the tool's name"},
	{`(?:[a-z]+) (?:is|are|was|were) (?:no|none) [a-z]+`, "is not a"},
	{`befall\w*|befell`, "happens to"},
	{`afresh|anew`, "from the beginning, again"},
	{`alike`, "the same, similar"},
	{`ours|theirs`, "say whose: infrastructure, batch, the model"},
	{`incomparable`, "different settings"},
	{`(differ|differs) besides`, "other differences"},
	{`besides[.;:]`, "also, too"},
	{`(come|comes|came) to pass`, "happens"},
	{`who(so)?ever`, "anyone who, the caller"},
	{`(there|where|here)(of|in|upon|unto|to)`, "of it, in it"},
	{`whither|thither|hither|hitherto|whence|thence`, "where, from which"},
	{`otherwise than`, "differently from"},
	{`of (its|their) own accord`, "by itself"},
	{`holds results of something else`, "was made with different settings"},
	{`dead runs?`, "crashed run"},
	{`lest|upon|unto|amongst|whilst|nought|naught|ere|nigh|shall|thus|hence`, "plain modern English"},
	{`mend(s|ed|ing)?`, "fix"},
	{`has none of it|knows no`, "does not know"},
	{`work trees?`, "working tree"},
	{`make(s)? sure of`, "checks, ensures"},
	{`all that (is|are|was)`, "everything"},
	{`strayed|astray`, "leftover, abandoned"},
	{`that it is not`, "say the fact directly"},
	{`(and|which|who|it|they) needs? none`, "does not need one"},
	{`(which|who|that|it|he) (has|have) none`, "does not have one"},
	{`in vain`, "without success"},
	{`(see|sees|saw|seen|seeing) to`, "checks, ensures, handles"},
	{`(let|lets|letting) go of`, "releases"},
	{`(come|comes|came) of`, "the result of"},
	{`but for`, "except"},
	{`dear(er|est)?`, "expensive"},
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
	"internal/archtest/english_test.go",
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

type rule struct {
	*regexp.Regexp
	instead string
}

func rules() []rule {
	var list []rule
	for _, b := range banned {
		list = append(list, rule{regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(b.pattern, " ", `[\s/#*]+`) + `)\b`), b.instead})
	}
	return list
}

var blank = regexp.MustCompile(`[\s/#*]+`)

// badEnglish lists what is banned in text, which begins at a line of file name.
func badEnglish(name string, line int, text string, list []rule) []string {
	var found []string
	for _, r := range list {
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
func badGo(name string, src []byte, list []rule) ([]string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	look := func(pos, end token.Pos) {
		from, to := set.Position(pos), set.Position(end)
		found = append(found, badEnglish(name, from.Line, string(src[from.Offset:to.Offset]), list)...)
	}
	for _, c := range f.Comments {
		look(c.Pos(), c.End())
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				look(n.Pos(), n.End())
			}
		case *ast.Ident:
			if bannedNames.MatchString(n.Name) {
				found = append(found, fmt.Sprintf("%s:%d: name %s: say what it does", name, set.Position(n.Pos()).Line, n.Name))
			}
		}
		return true
	})
	return found, nil
}

func TestPlainEnglish(t *testing.T) {
	list, root, files := rules(), filepath.Join("..", ".."), 0
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
		src, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		ending := filepath.Ext(path)
		var found []string
		switch {
		case ending == ".go":
			if found, err = badGo(path, src, list); err != nil {
				return err
			}
		case slices.Contains(proseEndings, ending), path == "Makefile", bytes.HasPrefix(src, []byte("#!")):
			found = badEnglish(path, 1, string(src), list)
		default:
			return nil
		}
		files++
		for _, v := range found {
			t.Error(v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files were read", files)
	}
}

func TestTheEnglishCheckCatches(t *testing.T) {
	list := rules()
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
		found, err := badGo("f.go", []byte(src), list)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(found, "\n"); got != want {
			t.Errorf("%s:\nfound %q\nwant  %q", src, got, want)
		}
	}
	if found := badEnglish("x", 1, "Alike\nthereof. aliken", list); len(found) != 2 {
		t.Errorf("found %q, want 2 found", found)
	}
}
