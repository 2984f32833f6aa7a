package mask

import (
	"bytes"
	"encoding/json"
	"reflect"
)

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
