//go:build !race

package archtest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// budget has patterns of sentences that are hard to read, what to write instead, and the
// number of places that still have them. A number may only fall. A space matches any white
// space, line breaks and comment marks included. Bad and good are examples for the test.
var budget = []struct {
	name, pattern, instead string
	places                 int
	bad, good              []string
}{
	{
		"chain of pronouns", `\b(?:(?:those|that) of|of (?:which|whom)|those that)\b`, "repeat the noun", 15,
		[]string{"ids are those of the instances", "the cost, that\n\t// of retries too", "files, of which one is new", "men of whom", "Those that run"},
		[]string{"ids has the instances' ids", "those offers", "that often", "runs that end", "of whichever"},
	},
	{
		"nobody", `\bnobody\b`, "name who does it, or state the fact: unknown, unused", 27,
		[]string{"nobody says how much", "Nobody's file"},
		[]string{"the price is unknown"},
	},
	{
		"definition by relation", `\b(?:(?:is|are) what|is that of|are those of)\b`, "say what it does or contains", 14,
		[]string{"unended is what is known", "rows are what a file has", "its error is that of the mean", "ids are those\n// of rows"},
		[]string{"unended describes an attempt without an end record", "it is whatever was found", "it is that offer"},
	},
	{
		"tail with else", `, else\b`, "otherwise, or a sentence of its own", 0,
		[]string{"the image's id, else its name", "nil,\n// else the error"},
		[]string{"the image's id, otherwise its name", "nobody else", "anything, elsewhere"},
	},
}

// anywhere compiles a pattern of the budget.
func anywhere(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.ReplaceAll(pattern, " ", blank.String()))
}

// isMarkdown reports whether a file is Markdown, except CONTRIBUTING.md, which has bad examples. A
// page of docs that is generated counts like the comment that it comes from.
func isMarkdown(file string) bool {
	return path.Ext(file) == ".md" && file != "CONTRIBUTING.md" && !strings.Contains(file, "testdata/")
}

func TestHardSentencesOnlyGetFewer(t *testing.T) {
	expressions, found := make([]*regexp.Regexp, len(budget)), make([][]string, len(budget))
	for i, b := range budget {
		expressions[i] = anywhere(b.pattern)
	}
	look := func(file string, line int, text string) {
		for i, re := range expressions {
			for _, at := range re.FindAllStringIndex(text, -1) {
				found[i] = append(found[i], fmt.Sprintf("%s:%d", file, line+strings.Count(text[:at[0]], "\n")))
			}
		}
	}
	eachFile(t, func(file string, f source) {
		if f.File != nil {
			for line, text := range f.texts() {
				look(file, line, text)
			}
		} else if isMarkdown(file) {
			look(file, 1, f.text)
		}
	})
	for i, b := range budget {
		if has := len(found[i]); has > b.places {
			t.Errorf("%s: %d places, want %d: rewrite the sentence (%s). Places:\n%s",
				b.name, has, b.places, b.instead, strings.Join(found[i], "\n"))
		} else if has < b.places {
			t.Errorf("%s: %d places: lower the number in the table from %d", b.name, has, b.places)
		}
	}
}

func TestTheBudgetCheckCatches(t *testing.T) {
	for _, b := range budget {
		re := anywhere(b.pattern)
		for _, bad := range b.bad {
			if len(re.FindAllString(bad, -1)) != 1 {
				t.Errorf("%s: %q has no place or several, want one", b.name, bad)
			}
		}
		for _, good := range b.good {
			if re.MatchString(good) {
				t.Errorf("%s: %q has a place", b.name, good)
			}
		}
	}
}
