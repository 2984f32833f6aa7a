package swebench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"batch.example/batch/internal/lazy"
)

// row has the members of a prediction in a file. Names are compared exactly, as Python does.
type row map[string][]byte

// members returns the members of a valid JSON object, or nil for other JSON values.
func members(object []byte) row {
	t := text{data: object}
	if !t.take('{') {
		return nil
	}
	r := row{}
	for len(t.rest()) > 0 && !t.take('}') {
		var name string
		_ = json.Unmarshal(t.skip(), &name) // it is valid
		t.take(':')
		r[name] = t.skip()
		t.take(',')
	}
	return r
}

// readRow reads one row, which is valid JSON. key is used as the instance if the row names none. On
// an error, the prediction has what could be read, and at least the instance if the row or the key
// names it.
func readRow(key string, text []byte) (Prediction, error) {
	r := members(text)
	if r == nil {
		return Prediction{InstanceID: key}, errors.New("a prediction has to be a JSON object")
	}
	p := Prediction{}
	var errID, errModel, errPatch error
	p.InstanceID, errID = r.id(key)
	p.Model, _, errModel = r.text("model_name_or_path", "prefix")
	p.Patch, errPatch = r.patch()
	_ = json.Unmarshal(r["said"], &p.Said) // another tool's member of this name may have any value
	return p, cmp.Or(errID, errModel, errPatch)
}

func (r row) id(key string) (string, error) {
	id, found, err := r.text("instance_id")
	switch {
	case err != nil:
		return key, err
	case found && id != "":
		return id, nil
	case r["org"] != nil && r["repo"] != nil && r["number"] != nil:
		return r.pullRequest()
	case found:
		return key, errors.New("instance_id is empty")
	case key != "":
		return key, nil
	}
	return "", errors.New("instance_id is missing")
}

// pullRequest returns the instance of a row of Multi-SWE-bench: org__repo-number.
func (r row) pullRequest() (string, error) {
	org, _, err1 := r.text("org")
	repo, _, err2 := r.text("repo")
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	number := strings.Trim(string(r["number"]), `"`)
	if org == "" || repo == "" || number == "" || strings.Trim(number, "0123456789") != "" {
		return "", fmt.Errorf("org, repo and number have to name a pull request, not %s/%s#%s", org, repo, number)
	}
	return org + "__" + repo + "-" + number, nil
}

// patch returns the patch, which is empty for null.
func (r row) patch() (string, error) {
	for _, name := range patchNames {
		if raw, ok := r[name]; ok {
			if isNull(raw) {
				return "", nil
			}
			return readText(name, raw)
		}
	}
	return "", ErrNoPatch
}

// ErrNoPatch says that a row is unfit because it has no patch. Null counts as an empty patch.
var ErrNoPatch = errors.New("model_patch is missing")

// patchNames are the names that benchmarks use for the patch.
var patchNames = []string{"model_patch", "patch", "fix_patch"}

// text returns the first of the named members that exists and is not null.
func (r row) text(names ...string) (text string, found bool, err error) {
	for _, name := range names {
		if raw, ok := r[name]; ok && !isNull(raw) {
			text, err = readText(name, raw)
			return text, true, err
		}
	}
	return "", false, nil
}

func isNull(raw []byte) bool { return string(raw) == "null" }

// readText reads a string. It refuses text that encoding/json would silently change.
func readText(name string, raw []byte) (string, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", fmt.Errorf("%s has to be a string", name)
	}
	if halfPair(raw) {
		return text, fmt.Errorf("%s has half of a surrogate pair, or a byte that is not UTF-8, which no text can hold", name)
	}
	return text, nil
}

// wholeEscape matches every JSON escape except half of a surrogate pair.
var wholeEscape = lazy.Regexp(`\\(?:[^u]|u[^dD]...|u[dD][0-7]..|u[dD][89abAB]..\\u[dD][c-fC-F]..)`)

// halfPair reports whether a JSON string has an escape such as \ud83d without its other half.
func halfPair(raw []byte) bool {
	return bytes.Contains(raw, []byte(`\u`)) && bytes.Contains(wholeEscape().ReplaceAll(raw, nil), []byte(`\`))
}
