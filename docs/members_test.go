package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// formats are the sources of a file's members, by the page that describes it, and the struct
// tag that names them.
var formats = []struct {
	page, tag string
	sources   []string
}{
	{"trajectory", "json", []string{"results/trajectory.go", "results/record.go", "llm/messagejson.go", "llm/layout.go", "vocab/usage.go"}},
	{"journal", "json", []string{"journal/*.go", "results/attempt.go", "results/store.go", "results/manifest/settings.go", "vocab/output.go"}},
	{"manifest", "json", []string{"results/manifest/manifest.go", "results/manifest/differences.go", "vocab/price.go"}},
	{"grades", "json", []string{"results/grades/*.go"}},
	{"results", "parquet", []string{"results/record.go"}},
	{"data", "json", []string{"results/export/attempt.go"}},
}

func TestPagesNameEveryMember(t *testing.T) {
	texts := map[string]string{}
	for _, p := range Pages {
		texts[p.Name] = p.Text()
	}
	for _, f := range formats {
		found := 0
		for _, pattern := range f.sources {
			for _, file := range parsed(t, pattern) {
				ast.Inspect(file, func(n ast.Node) bool {
					field, ok := n.(*ast.Field)
					if !ok || field.Tag == nil {
						return true
					}
					tag, _ := strconv.Unquote(field.Tag.Value)
					name, _, _ := strings.Cut(reflect.StructTag(tag).Get(f.tag), ",")
					if name == "" || name == "-" {
						return true
					}
					found++
					if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(texts[f.page]) {
						t.Errorf("`batch help %s` does not name %s", f.page, name)
					}
					return true
				})
			}
		}
		if found < 10 {
			t.Errorf("only %d names were found for page %s", found, f.page)
		}
	}
}

// parsed returns the sources, without tests, that match a pattern below the module.
func parsed(t *testing.T, pattern string) (list []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources are %s: %v", pattern, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, file)
	}
	return list
}
