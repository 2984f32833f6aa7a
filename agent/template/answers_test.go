package template

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// ordered decodes JSON as Python does, with the members of objects in their order.
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
	if n, ok := tok.(json.Number); ok && strings.ContainsAny(n.String(), ".eE") {
		f, _ := n.Float64()
		return f
	}
	return fromGo(tok)
}

// The answers come from Jinja2: see testdata/answers.py.
func TestJinja2Answers(t *testing.T) {
	data, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var answers struct {
		Vars json.RawMessage
		Rows []struct {
			Template string
			Want     struct{ Text, Error *string }
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
		got, err := render("t", row.Template, vars)
		switch want := row.Want; {
		case want.Error != nil && err == nil:
			t.Errorf("%s\ngot %q, want the error %s", row.Template, got, *want.Error)
		case want.Error == nil && err != nil:
			t.Errorf("%s\ngot %v, want %q", row.Template, err, *want.Text)
		case want.Error == nil && got != *want.Text:
			t.Errorf("%s\ngot  %q\nwant %q", row.Template, got, *want.Text)
		}
	}
}
