package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// JSON returns a JSON text with the secrets in its strings hidden. The result is still
// valid JSON, and parts without a secret keep their bytes. An image (a member data in base64 after
// a type such as image/png) is left out if a secret is in its bytes, and otherwise unchanged. text
// is not changed; it is returned as it is if it is not valid JSON or has no secret.
func (m *Masker) JSON(text []byte) []byte {
	if m == nil {
		return text
	}
	t := m.known.Load()
	if len(t.patterns) == 0 && len(t.literals(text)) == 0 && !bytes.Contains(text, []byte(`\u001`)) {
		return text
	}
	var out, name, before []byte // the last name of a member, and the string before
	done := 0
	for i := 0; i < len(text); {
		if text[i] != '"' {
			i++
			continue
		}
		end := stringEnd(text, i)
		quoted := text[i:end]
		if isName(text[end:]) {
			name = quoted
		} else {
			hidden := quoted
			if string(name) == `"data"` && bytes.HasPrefix(before, []byte(`"image/`)) {
				hidden = m.image(quoted)
			} else {
				hidden = m.jsonString(quoted)
			}
			if !bytes.Equal(hidden, quoted) {
				out = append(append(out, text[done:i]...), hidden...)
				done = end
			}
			before = quoted
		}
		i = end
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// image returns the quoted base64 of an image, or an empty text if the image has a secret in its bytes. A pattern
// may match base64 by chance, and any change would break the image.
func (m *Masker) image(quoted []byte) []byte {
	data, err := base64.StdEncoding.AppendDecode(nil, bytes.Trim(quoted, `"`))
	switch {
	case err != nil:
		return m.jsonString(quoted)
	case len(m.known.Load().literals(data)) > 0:
		return []byte(`""`)
	}
	return quoted
}

// stringEnd returns where the string that begins at text[from] ends.
func stringEnd(text []byte, from int) int {
	for i := from + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// isName reports whether the string before rest is a member's name.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// jsonString hides the secrets in a quoted string. It searches the decoded text, because
// there is more than one way to write a string, and because a pattern could match the
// quotes. A pattern does not hide a time, which a program reads back.
func (m *Masker) jsonString(quoted []byte) []byte {
	if end := len(quoted) - 1; end > 1 && quoted[end] == '"' && isTime(quoted[1:end]) {
		return slices.Concat(quoted[:1], hide(quoted[1:end], m.known.Load().literals(quoted[1:end])), quoted[end:])
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		end := len(quoted)
		if end > 1 && quoted[end-1] == '"' {
			end--
		}
		return slices.Concat(quoted[:1], m.Bytes(quoted[1:end]), quoted[end:])
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return quoted
	}
	hidden := m.Text(s)
	if hidden == s {
		return quoted
	}
	return []byte(inJSON(hidden))
}

func isTime(text []byte) bool {
	if len(text) > len("2006-01-02T15:04:05.999999999+00:00") {
		return false
	}
	_, err := time.Parse(time.RFC3339, string(text))
	return err == nil
}

func inJSON(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text can always be written
	return strings.Trim(b.String(), "\n")
}

// Value returns v with the secrets hidden in everything that its JSON document has as text: in
// strings, in bytes (which are base64 there), and in the strings of raw JSON. Names of members stay.
// Changed says whether there were any. v is not changed.
func (m *Masker) Value(v any) (hidden any, changed bool) {
	if m == nil || v == nil {
		return v, false
	}
	to := reflect.New(reflect.TypeOf(v)).Elem()
	to.Set(reflect.ValueOf(v))
	if !m.hide(to) {
		return v, false
	}
	return to.Interface(), true
}

var rawJSON = reflect.TypeFor[json.RawMessage]()

// hide hides the secrets in v, which can be set. What v shares with another value is copied first.
func (m *Masker) hide(v reflect.Value) (changed bool) {
	switch v.Kind() {
	case reflect.String:
		text := m.Text(v.String())
		changed = text != v.String()
		v.SetString(text)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" {
				changed = m.hide(v.Field(i)) || changed
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			text := m.Bytes(v.Bytes())
			if v.Type() == rawJSON {
				text = m.JSON(v.Bytes())
			}
			changed = !bytes.Equal(text, v.Bytes())
			v.SetBytes(text)
			return changed
		}
		list := reflect.AppendSlice(reflect.Zero(v.Type()), v)
		for i := range list.Len() {
			changed = m.hide(list.Index(i)) || changed
		}
		if changed {
			v.Set(list)
		}
	case reflect.Map:
		entries := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			to := m.copied(value, &changed)
			entries.SetMapIndex(key, to)
		}
		if changed {
			v.Set(entries)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			if to := m.copied(v.Elem(), &changed); changed {
				v.Set(to.Addr())
			}
		}
	case reflect.Interface:
		if !v.IsNil() {
			if to := m.copied(v.Elem(), &changed); changed {
				v.Set(to)
			}
		}
	}
	return changed
}

// copied returns a copy of v with its secrets hidden.
func (m *Masker) copied(v reflect.Value, changed *bool) reflect.Value {
	to := reflect.New(v.Type()).Elem()
	to.Set(v)
	*changed = m.hide(to) || *changed
	return to
}
