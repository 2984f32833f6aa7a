package yamlpos

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Each source holds one X, which is in a scalar.
func TestPositionInAScalar(t *testing.T) {
	for name, source := range map[string]string{
		"a literal block":                      "a:\n  b: |\n    one\n    two X\n",
		"its first line":                       "a: |\n  X one\n",
		"more indented lines":                  "a: |\n  one\n      two\n    X\n  three\n",
		"empty lines":                          "a: |\n\n  one\n\n\n  X\n",
		"an indicator of indentation":          "a: |2\n    one\n  X\n",
		"a comment behind the indicator":       "a: |- # why\n  one\n  X",
		"a tag and an anchor":                  "a: !!str &x |\n  one\n  X\n",
		"carriage returns":                     "a: |\r\n  one\r\n  é X\r\n",
		"characters of several bytes":          "a: |\n  — é X\n",
		"a folded block":                       "a: >-\n  one\n  two X\n  three\n",
		"a folded block with empty lines":      "a: >\n  one\n\n\n  two\n  X\n",
		"a folded block with indented lines":   "a: >\n  one\n    two\n    X\n  three\n",
		"a list in a folded block":             "a: >\n  one\n\n    - two\n    - X\n\n  three\n",
		"a plain scalar":                       "a: one X\n",
		"a plain scalar of several lines":      "a: one\n  two\n\n  three X\n",
		"single quotes":                        "a: 'it''s X'\n",
		"single quotes over lines":             "a: 'it''s\n  one\n\n  X'\n",
		"a backslash at the end of a line":     "a: 'one \\\r\n  X'\r\n",
		"double quotes":                        "a: \"\\\"\\u00e9\\x41\\n X\"\n",
		"double quotes over lines":             "a: \"one \\\n   two\n   three X\"\n",
		"an escape of a character that is big": "a: \"\\U0001F600 X\"\n",
		"a mapping in braces":                  "{a: {b: 'X'}}\n",
		"a text behind others":                 "a: 1\nb: |\n  zwei\nc: |\n  X\n",
	} {
		t.Run(name, func(t *testing.T) {
			var doc yaml.Node
			if err := yaml.Unmarshal([]byte(source), &doc); err != nil {
				t.Fatal(err)
			}
			scalar := withX(&doc)
			line, column := Of(source, scalar).Position(strings.IndexByte(scalar.Value, 'X'))
			before := source[:strings.IndexByte(source, 'X')]
			want := fmt.Sprint(1+strings.Count(before, "\n"), 1+len([]rune(before[strings.LastIndexByte(before, '\n')+1:])))
			if got := fmt.Sprint(line, column); got != want {
				t.Errorf("at %s, want %s, of %q", got, want, scalar.Value)
			}
		})
	}
}

func withX(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "X") {
		return n
	}
	for _, c := range n.Content {
		if found := withX(c); found != nil {
			return found
		}
	}
	return nil
}

func TestPositionInACommandLineValue(t *testing.T) {
	for _, c := range []struct{ source, text, want string }{
		{"one\n  two X", "one\n  two X", "2 7"},
		{`"one\ntwo X"`, "one\ntwo X", "1 11"},
		{`it's "X"`, `it's "X"`, "1 7"},
		{"!x {{ X }}", "!x {{ X }}", "1 7"},
		{"&& X", "&& X", "1 4"},
	} {
		line, column := OfValue(c.source, c.text).Position(strings.IndexByte(c.text, 'X'))
		if got := fmt.Sprint(line, column); got != c.want {
			t.Errorf("%q: at %s, want %s", c.source, got, c.want)
		}
	}
}

func FuzzPosition(f *testing.F) {
	f.Add("a: |\n  X\n", 1)
	f.Add("a: \"\\u00e9 \\\n X\"\n", 2)
	f.Add("a: >2\n   X\n\n  y\n", 3)
	f.Fuzz(func(t *testing.T, source string, offset int) {
		var doc yaml.Node
		if yaml.Unmarshal([]byte(source), &doc) != nil {
			return
		}
		for _, n := range scalars(&doc) {
			if line, column := Of(source, n).Position(offset); line < 1 || column < 1 {
				t.Errorf("got %d:%d; want line at least 1, column at least 1", line, column)
			}
		}
	})
}

func scalars(n *yaml.Node) (list []*yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		list = append(list, n)
	}
	for _, c := range n.Content {
		list = append(list, scalars(c)...)
	}
	return list
}
