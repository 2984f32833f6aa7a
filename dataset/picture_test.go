package dataset_test

import (
	"encoding/json"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
)

func TestPicturesOfAStatement(t *testing.T) {
	const a, b = "https://x.test/a.png", "https://x.test/b.gif"
	column := func(entries ...any) string {
		text, err := json.Marshal(map[string]any{"problem_statement": entries, "patch": []any{}, "test_patch": []any{map[string]any{"path": "t.png", "url": "https://x.test/t.png"}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, tt := range map[string]struct {
		statement string
		column    any
		want      []dataset.Picture
		problem   string
	}{
		"no column":              {"![](" + a + ")", nil, nil, ""},
		"an empty column":        {"![](" + a + ")", "", nil, ""},
		"no list":                {"", "{}", nil, ""},
		"one":                    {"![](" + a + ")", column(a), []dataset.Picture{{URL: a, File: "0-a.png"}}, ""},
		"decoded":                {"", map[string]any{"problem_statement": []any{a}}, []dataset.Picture{{URL: a, File: "0-a.png"}}, ""},
		"in order of appearance": {`<img src="` + b + `"> and ` + a, column(a, b), []dataset.Picture{{URL: b, File: "1-b.gif"}, {URL: a, File: "0-a.png"}}, ""},
		"not in the statement":   {"see " + b, column(a, b), []dataset.Picture{{URL: b, File: "1-b.gif"}, {URL: a, File: "0-a.png"}}, ""},
		"twice":                  {a + " " + a, column(a, b, a), []dataset.Picture{{URL: a, File: "0-a.png"}, {URL: b, File: "1-b.gif"}}, ""},
		"cut from a link":        {"[demo](" + a + "%20x)", column(a), nil, ""},
		"cut, and whole":         {a + "x and " + a + ".", column(a), []dataset.Picture{{URL: a, File: "0-a.png"}}, ""},
		"a number":               {"", column(7), nil, "expected an object with problem_statement, a list of addresses"},
		"no address":             {"", column(map[string]any{"url": a}), nil, "a list of addresses"},
		"a list":                 {"", `["` + a + `"]`, nil, "expected an object with problem_statement"},
		"no JSON":                {"", "{", nil, "reading the column image_assets"},
	} {
		t.Run(name, func(t *testing.T) {
			in := dataset.Instance{ProblemStatement: tt.statement, Fields: map[string]any{"image_assets": tt.column}}
			got, err := in.Pictures()
			if !reflect.DeepEqual(got, tt.want) || (err != nil) != (tt.problem != "") {
				t.Fatalf("got %v, %v, want %v", got, err, tt.want)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.problem) || fault.KindOf(err) != fault.Instance) {
				t.Errorf("got %v, want an instance fault with %q", err, tt.problem)
			}
		})
	}
}

// The column lists 163 images of 95 rows. One of them was cut from the address of a page, and nine are there
// twice.
func TestPicturesOfRealRows(t *testing.T) {
	d := open(t, dataset.Source{Name: shared(t, "SWE-bench_Multimodal-dev.parquet")})
	listed, kinds, shown, rows := 0, map[string]int{}, 0, 0
	for _, in := range d.Instances {
		var c struct {
			Statement []string `json:"problem_statement"`
		}
		if err := json.Unmarshal([]byte(in.Fields["image_assets"].(string)), &c); err != nil {
			t.Fatal(err)
		}
		for _, address := range c.Statement {
			listed++
			kinds[strings.ReplaceAll(path.Ext(address), "jpeg", "jpg")]++
		}
		pictures, err := in.Pictures()
		if err != nil {
			t.Errorf("%s: %v", in.ID, err)
		}
		if shown += len(pictures); len(pictures) > 0 {
			rows++
		}
		last := -1
		for _, p := range pictures {
			at := strings.Index(in.ProblemStatement, p.URL)
			if u, err := url.Parse(p.URL); err != nil || at < last || !slices.Contains(c.Statement, p.URL) || !strings.HasSuffix(p.File, path.Base(u.Path)) {
				t.Errorf("%s: %v at %d, after %d", in.ID, p, at, last)
			}
			last = at
		}
	}
	if want := map[string]int{".png": 155, ".jpg": 5, ".gif": 3}; listed != 163 || !reflect.DeepEqual(kinds, want) || rows != 95 || shown != 153 {
		t.Errorf("%d listed: %v, want %v; %d of %d rows are shown, want 153 of 95", listed, kinds, want, shown, rows)
	}
}

func FuzzPictures(f *testing.F) {
	f.Add("see https://x/a.png", `{"problem_statement": ["https://x/a.png", "https://x/a.png", {"url": "b"}]}`)
	f.Add("", `{"problem_statement": [7]}`)
	f.Add("", `{"problem_statement": ["https://x/", ".."]}`)
	f.Add("aa%", `{"problem_statement": ["a", "%"]}`)
	f.Fuzz(func(t *testing.T, statement, column string) {
		list, err := dataset.Instance{ProblemStatement: statement, Fields: map[string]any{"image_assets": column}}.Pictures()
		if err != nil && (list != nil || fault.KindOf(err) != fault.Instance) {
			t.Errorf("got %v with %v", list, err)
		}
		seen, last := map[string]bool{}, -1
		for _, p := range list {
			at := strings.Index(statement, p.URL)
			if at < 0 {
				at = len(statement)
			}
			if p.URL == "" || seen[p.URL] || at < last || strings.Contains(p.File, "/") {
				t.Errorf("%q at %d after %d in %v", p, at, last, list)
			}
			seen[p.URL], last = true, at
		}
	})
}
