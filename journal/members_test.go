package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// want returns the members that newMembers must find in a JSON object: by encoding/json, up to
// the first list or the first object that is not flat.
func want(t *testing.T, object []byte) (list [][2]string) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if v[0] == '[' || v[0] == '{' && !isFlat(v) {
			return list
		}
		list = append(list, [2]string{name.(string), string(v)})
	}
	return list
}

func isFlat(object json.RawMessage) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(object))
	for depth := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return true
		}
		if delim, ok := token.(json.Delim); ok {
			if depth++; delim == '[' || depth > 2 || delim == '{' && depth == 2 {
				return false
			}
		}
	}
}

func read(object []byte) (list [][2]string) {
	m := newMembers(object)
	for name, v, ok := m.next(); ok; name, v, ok = m.next() {
		list = append(list, [2]string{string(name), string(v)})
	}
	return list
}

// The members at the beginning of data are the ones that encoding/json finds, wherever the text
// is cut. No text makes the parser panic or read on for ever.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		`{"step":1,"action":2,"total":3,"exit_code":-1,"timed_out":true,"note":"a \"b\" \\","seconds":0.25e-3,"output":"aGk="}`,
		`{"step":1,"cost":0.5,"usage":{"input_tokens":1,"output_tokens":2},"model":"m","message":{"role":"a","x":{"y":1}}}`,
		`{}`, `{"a":{}}`, `{"a":{"b":"}"},"c":null}`, `{"a":[1]}`, `{"\\":"\\\\"}`, `{"a":{"b":[]}}`, `{"a":{"b":1`, `{"a":`, `{"`, `{"a":1}x`,
	} {
		f.Add([]byte(s), len(s))
		f.Add([]byte(s), len(s)/2)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		read(text[:min(max(0, cut), len(text))])
		var compact bytes.Buffer
		if json.Compact(&compact, text) != nil || !bytes.HasPrefix(compact.Bytes(), []byte("{")) {
			return
		}
		text = compact.Bytes()
		all := read(text)
		for i, w := range want(t, text) {
			if i >= len(all) || all[i][1] != w[1] || plain(all[i][0]) && all[i][0] != w[0] {
				t.Fatalf("%s: member %d of %v, want %v", text, i, all, w)
			}
		}
		part := read(text[:min(max(0, cut), len(text))])
		if len(part) > len(all) {
			t.Fatalf("%s has %d members, a part of it %d", text, len(all), len(part))
		}
		for i, p := range part {
			if p != all[i] {
				t.Fatalf("a part of %s: member %d is %v, want %v", text, i, p, all[i])
			}
		}
	})
}

// plain reports whether a name is in JSON as it is.
func plain(name string) bool { return !strings.Contains(name, `\`) && utf8.ValidString(name) }

func TestTheBeginningOfACommandIsDecoded(t *testing.T) {
	for _, test := range []struct {
		object string
		most   int
		want   string
	}{
		{`{"step":1,"command":"cat \u003e a\n\"b\"\t\\"}`, 99, "cat > a\n\"b\"\t\\"},
		{`{"step":1,"command":"abcdef`, 3, "abc"},
		{`{"step":1,"command":"ab\`, 9, `ab`},
		{`{"step":1,"command":"ab\u00`, 9, "ab\x00"},
		{`{"step":1}`, 9, ""},
	} {
		if got := textBegin([]byte(test.object), "command", test.most); got != test.want {
			t.Errorf("%s: %q, want %q", test.object, got, test.want)
		}
	}
}
