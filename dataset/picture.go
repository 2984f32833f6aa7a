package dataset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/fault"
)

// assetsColumn lists a row's files that are not text: SWE-bench Multimodal has it.
const assetsColumn = "image_assets"

// Picture is a picture that a problem statement shows.
type Picture struct {
	URL  string
	File string // its name in the folder problem_assets of the instance in a task repository
}

// Asset is a file that a row's tests or its gold patch need, and that a patch in text form cannot carry.
type Asset struct {
	Path string // relative to the working directory; not checked
	URL  string // where it can be downloaded; may be empty
}

// Pictures returns the pictures of the problem statement that the column image_assets lists, in the order
// in which they appear there, each once. A row without the column has none, whatever its statement links
// to. The pictures of the tests and of the gold patch, which may show the solution, are never among them.
// An address that the statement has only as the beginning of a longer one is left out: it was cut from a
// link to a page. An error is an Instance fault.
func (in Instance) Pictures() ([]Picture, error) {
	var c struct {
		Statement []string `json:"problem_statement"`
	}
	if err := in.assets(&c, "problem_statement, a list of addresses"); err != nil {
		return nil, err
	}
	var list []Picture
	for i, address := range c.Statement {
		known := slices.ContainsFunc(list, func(p Picture) bool { return p.URL == address })
		if !known && !cutFrom(in.ProblemStatement, address) {
			list = append(list, Picture{address, fmt.Sprintf("%d-%s", i, lastElement(address))})
		}
	}
	at := func(p Picture) int {
		if i := strings.Index(in.ProblemStatement, p.URL); i >= 0 {
			return i
		}
		return len(in.ProblemStatement)
	}
	slices.SortStableFunc(list, func(a, b Picture) int { return cmp.Compare(at(a), at(b)) })
	return list, nil
}

// TestAssets returns the files that the column image_assets lists for the tests and the gold patch. Entries
// without a path are left out. An error is an Instance fault.
func (in Instance) TestAssets() (list []Asset, err error) {
	var c struct {
		TestPatch []json.RawMessage `json:"test_patch"`
		Patch     []json.RawMessage `json:"patch"`
	}
	if err := in.assets(&c, "the lists test_patch and patch"); err != nil {
		return nil, err
	}
	for _, raw := range append(c.TestPatch, c.Patch...) {
		var entry struct{ Path, URL string }
		if json.Unmarshal(raw, &entry) == nil && entry.Path != "" {
			list = append(list, Asset(entry))
		}
	}
	return list, nil
}

// assets decodes the column, which is JSON or its decoded form, into a struct with these lists, which a
// person is told.
func (in Instance) assets(into any, lists string) error {
	var text []byte
	switch v := in.Fields[assetsColumn].(type) {
	case nil:
		return nil
	case string:
		text = []byte(v)
	default:
		text, _ = json.Marshal(v) // what cannot be written is no object either
	}
	if in.Fields[assetsColumn] == "" {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fault.New(fault.Instance, "reading the column "+assetsColumn, fmt.Errorf("expected an object with %s: %w", lists, err))
	}
	return nil
}

// cutFrom reports whether text has an address only where it goes on with a letter, a digit or a percent sign.
// Other characters of addresses may also be the text's.
func cutFrom(text, address string) bool {
	return strings.Contains(text, address) && !regexp.MustCompile(regexp.QuoteMeta(address)+`([^0-9A-Za-z%]|$)`).MatchString(text)
}

func lastElement(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.Trim(path.Base(u.Path), "/")
}
