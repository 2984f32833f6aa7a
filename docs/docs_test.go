package docs

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"batch.example/batch/agent/config"
)

var update = flag.Bool("update", false, "write the pages")

func TestPagesAreCurrent(t *testing.T) {
	known := map[string]bool{"README.md": true}
	current(t, "README.md", index())
	for _, p := range Pages {
		file := p.Name + ".md"
		known[file] = true
		if p.ByHand() {
			if first, _, _ := strings.Cut(p.Markdown(), "\n"); first != "# "+p.Title {
				t.Errorf("%s begins with %q, want # and its title %q", file, first, p.Title)
			}
			if before, _, ok := strings.Cut(p.Markdown(), tableOfKeys); ok {
				current(t, file, append([]byte(before+tableOfKeys+"\n"), keys()...))
			}
			continue
		}
		current(t, file, p.render(t))
	}
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !known[file] {
			t.Errorf("%s is not a page", file)
		}
	}
}

// current fails the test if a file that go generate writes differs from want.
func current(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not current (%v): run go generate ./docs", file, err)
	}
}

// index is the folder's README.md.
func index() []byte {
	var b bytes.Buffer
	b.WriteString("# Pages about batch\n\nEach page is also `batch help NAME`; `batch help COMMAND` describes a command.\n")
	part := ""
	for _, p := range Pages {
		if p.Part == Developers {
			continue
		}
		if p.Part != part {
			fmt.Fprintf(&b, "\n## %s\n\n", p.Part)
		}
		part = p.Part
		fmt.Fprintf(&b, "- [%s](%s.md): %s\n", p.Name, p.Name, p.Title)
	}
	return b.Bytes()
}

// tableOfKeys is the line before the part of a page that lists the keys of a configuration.
const tableOfKeys = "<!-- go generate ./docs: the table of keys -->"

// keys lists all keys of a configuration.
func keys() []byte {
	var b strings.Builder
	b.WriteString("Each key with its type, or its only values, its default and what it does:\n\n")
	for _, k := range config.Keys() {
		fmt.Fprintf(&b, "  - %s (%s; default: %s): %s\n", k.Path, cmp.Or(strings.Join(k.Allowed, " or "), k.Type), k.Default, k.Doc)
	}
	var parser comment.Parser
	printer := comment.Printer{TextWidth: 80}
	return append([]byte("\n"), printer.Text(parser.Parse(b.String()))...)
}

// aPackage begins a package's comment. Its page is about the program.
var aPackage = regexp.MustCompile(`^Package \w+ `)

// render returns the page that the packages' comments give. What the printer writes for a
// terminal is also Markdown, except its headings.
func (p Page) render(t *testing.T) []byte {
	t.Helper()
	linked := comment.Parser{ // links are words here
		LookupPackage: func(name string) (string, bool) { return name, true },
		LookupSym:     func(_, _ string) bool { return true },
	}
	parsed := linked.Parse(p.comments(t))
	printer := comment.Printer{TextWidth: 80, TextCodePrefix: "    "}
	body := bytes.ReplaceAll(printer.Text(parsed), []byte("\n# "), []byte("\n## "))
	return append([]byte("# "+p.Title+"\n\n<!-- go generate ./docs: the comment of "+p.source()+" -->\n\n"), body...)
}

func (p Page) source() string { return "package " + strings.Join(p.Packages, ", then of package ") }

// comments returns the packages' comments, one after the other.
func (p Page) comments(t *testing.T) string {
	t.Helper()
	var all []string
	for _, pkg := range p.Packages {
		var text string
		for _, name := range sources(t, pkg+"/*.go") {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			text += strings.ReplaceAll(file.Doc.Text(), "\nIts API is not promised to other programs: see package batch.\n", "")
		}
		if text == "" {
			t.Fatalf("package %s has no comment", pkg)
		}
		all = append(all, aPackage.ReplaceAllString(text, "Batch "))
	}
	return strings.Join(all, "\n")
}

func TestATerminalGetsText(t *testing.T) {
	markdown := `# A title

See [` + "`batch help row`" + `](row.md), and
no [brackets].

![An image](a.png)

## A heading

- a bullet
  and its second line
- [one](a.md) more

~~~console docker
$ batch version

# a comment
~~~

    a table | of words

| | batch | another tool |
|---|---|---|
| first | [a](b.md) | b |
| second | c | d e |

The end.
`
	want := `See ` + "`batch help row`" + `, and
no [brackets].

A heading
---------

  - a bullet
    and its second line
  - one more

    $ batch version

    # a comment

    a table | of words

    first
      batch         a
      another tool  b
    second
      batch         c
      another tool  d e

The end.
`
	if got := forTerminal(strings.ReplaceAll(markdown, "~~~", "```")); got != want {
		t.Errorf("a terminal gets\n%s\nwant\n%s", got, want)
	}
}
