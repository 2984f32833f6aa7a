package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Differences names, one line each and sorted, what makes results made under
// m and under other incomparable: another config, model, or dataset. A
// different selection from one dataset is none, nor are host, seed or time.
// Values are quoted as "name: m's, was other's".
func (m *Manifest) Differences(other *Manifest) []string {
	var out []string
	differ := func(name, now, was string) {
		if now != was {
			out = append(out, fmt.Sprintf("%s: %q, was %q", name, now, was))
		}
	}
	differ("model", m.Model, other.Model)
	if m.Dataset.Digest != "" && other.Dataset.Digest != "" {
		// One content under two names (a file and its copy) is one dataset.
		differ("dataset digest", m.Dataset.Digest, other.Dataset.Digest)
	} else {
		differ("dataset", m.Dataset.Name, other.Dataset.Name)
		differ("dataset revision", m.Dataset.Revision, other.Dataset.Revision)
	}
	differ("dataset split", m.Dataset.Split, other.Dataset.Split)
	now, was := flatten(m.Config), flatten(other.Config)
	for key, v := range now {
		if old, ok := was[key]; !ok {
			out = append(out, fmt.Sprintf("config %s: %s, was not set", key, shorten(v)))
		} else if old != v {
			out = append(out, fmt.Sprintf("config %s: %s, was %s", key, shorten(v), shorten(old)))
		}
	}
	for key, old := range was {
		if _, ok := now[key]; !ok {
			out = append(out, fmt.Sprintf("config %s: not set, was %s", key, shorten(old)))
		}
	}
	slices.Sort(out)
	return out
}

// flatten returns a config's leaves as JSON texts by dotted path. Going
// through JSON makes a config in memory equal to its copy read from a file.
func flatten(config any) map[string]string {
	out := map[string]string{}
	text, err := compactJSON(config)
	if err != nil {
		out[""] = err.Error()
		return out
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err == nil && v != nil {
		flattenInto(out, "", v)
	}
	return out
}

func flattenInto(out map[string]string, path string, v any) {
	object, ok := v.(map[string]any)
	if ok && len(object) > 0 {
		for key, member := range object {
			next := key
			if path != "" {
				next = path + "." + key
			}
			flattenInto(out, next, member)
		}
		return
	}
	if n, ok := v.(json.Number); ok {
		v = normalNumber(n)
	}
	text, _ := compactJSON(v) //nolint:errcheck // it has just been decoded from JSON
	out[path] = string(text)
}

// normalNumber makes 1, 1.0 and 1e0 the same, as a config means them.
func normalNumber(n json.Number) json.Number {
	if f, err := n.Float64(); err == nil && f == float64(int64(f)) && f < 1<<53 && f > -(1<<53) {
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return n
}

const shortValue = 60 // bytes of a value that a line of differences shows

func shorten(text string) string {
	if len(text) <= shortValue {
		return text
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:shortValue], ""), len(text))
}
