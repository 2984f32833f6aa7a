package template

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// ordered decodes JSON like Python, with the members of objects in order.
func ordered(t *testing.T, d *json.Decoder) any {
	tok, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch tok {
	case json.Delim('{'):
		o := NewDict()
		for d.More() {
			key := ordered(t, d)
			o.set(key, ordered(t, d))
		}
		_, _ = d.Token()
		return o
	case json.Delim('['):
		l := &list{}
		for d.More() {
			l.items = append(l.items, ordered(t, d))
		}
		_, _ = d.Token()
		return l
	}
	return fromGo(tok)
}

// answered returns the engine's text for a template, and how it relates to Jinja2's: "equal", or when the
// template was refused.
func answered(source string, vars map[string]any) (text, how string) {
	parsed, err := Parse("t", source, nil)
	if err != nil {
		return err.Error(), "refused at load"
	}
	text, err = parsed.Render(vars)
	if err != nil {
		return err.Error(), "refused at render"
	}
	return text, "equal"
}

// The answers come from Jinja2: see testdata/answers.py. Each row says how the engine answers.
func TestJinja2Answers(t *testing.T) {
	data, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var answers struct {
		Vars json.RawMessage
		Rows []struct {
			Template, Batch string
			Want            struct{ Text, Error *string }
		}
	}
	if err := json.Unmarshal(data, &answers); err != nil {
		t.Fatal(err)
	}
	for _, row := range answers.Rows {
		d := json.NewDecoder(strings.NewReader(string(answers.Vars)))
		d.UseNumber()
		all := ordered(t, d).(*Dict)
		vars := map[string]any{}
		for i, k := range all.keys {
			vars[str(k)] = all.values[i]
		}
		got, how := answered(row.Template, vars)
		if how != row.Batch {
			t.Errorf("%s\n%s: %s, want it %s", row.Template, how, got, row.Batch)
		}
		switch want := row.Want; {
		case how == "equal" && want.Error != nil:
			t.Errorf("%s\ngot %q, and Jinja2 has the error %s", row.Template, got, *want.Error)
		case how == "equal" && got != *want.Text:
			t.Errorf("%s\ngot  %q\nwant %q", row.Template, got, *want.Text)
		}
	}
}
