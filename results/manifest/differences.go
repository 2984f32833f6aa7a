package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/python"
)

// Difference is one value that differs between two manifests.
type Difference struct {
	// Name is the value's dotted path in manifest.json, without "config." in front. So a
	// setting has the same name as with -c: "agent.step_limit".
	Name string `json:"name"`
	// Now and Was are the values as JSON; empty if there is no value.
	Now string `json:"now,omitempty"`
	Was string `json:"was,omitempty"`
	// Matters says that the value affects results: results made with the two values cannot
	// be compared.
	Matters bool `json:"matters"`
}

// String returns "name: now, was was", long values cut.
func (d Difference) String() string {
	return fmt.Sprintf("%s: %s, was %s", d.Name, shown(d.Now), shown(d.Was))
}

func shown(value string) string {
	if value == "" {
		return "not set"
	}
	return shorten(value)
}

// Between returns "name: now in a, was in b", long values cut, for manifests of a and b that were
// made beside each other.
func (d Difference) Between(a, b string) string {
	return fmt.Sprintf("%s: %s in %s, %s in %s", d.Name, shown(d.Now), a, shown(d.Was), b)
}

// Covers reports whether name names d: it is d's name, a dotted prefix of it
// ("agent" for "agent.step_limit"), or "all".
func (d Difference) Covers(name string) bool {
	return name == "all" || d.Name == name || strings.HasPrefix(d.Name, name+".")
}

// sections are the values outside the configuration that have values below them.
var sections = []string{"dataset", "git", "host", "images", "price"}

// Names lists the names that [Difference.Covers] accepts for a configuration with these
// keys. Below some of them, any name is valid: see [IsName].
func Names(keys []string) []string {
	names := append([]string{
		"agent_versions", "all", "batch_version", "dataset.digest", "dataset.name", "dataset.revision", "dataset.split", "go_version",
		"model", "model_ids", "prompts", "row", "salvage", "seed", "timeout_multiplier", "version",
	}, sections...)
	for _, key := range keys {
		section, _, _ := strings.Cut(key, ".")
		names = append(names, section, key)
	}
	return names
}

// IsName reports whether name can cover a difference, for a configuration with these keys.
func IsName(name string, keys []string) bool {
	section, _, _ := strings.Cut(name, ".")
	return slices.Contains(sections, section) || slices.ContainsFunc(Names(keys), func(known string) bool {
		return name == known || strings.HasPrefix(known, name+".") ||
			strings.Contains(known, ".") && strings.HasPrefix(name, known+".") // a member of a key's value
	})
}

// Differences returns the differences between m and other, sorted by name. The config, the
// model, the agent's version, the salvage rule and the dataset affect results:
// [Difference.Matters]. The selection from one dataset does not, nor do host, seed, batch's
// version, git state, images and the model's price: a call keeps its cost. Times and command lines are not compared. A
// missing key of the configuration counts as empty, so that a directory of a version with
// fewer keys can be resumed.
func (m *Manifest) Differences(other *Manifest) []Difference {
	return differences(m.values(), other.values(), func(name string) bool { return matters(name, m, other) })
}

// differences compares leaves.
func differences(now, was map[string]string, matters func(name string) bool) []Difference {
	var out []Difference
	differ := func(name, now, was string) {
		if now == was || isKey(name) && isEmpty(now) && isEmpty(was) || name == images && (now == "" || was == "") {
			return
		}
		short, _ := strings.CutPrefix(name, "config.")
		out = append(out, Difference{Name: short, Now: now, Was: was, Matters: matters(name)})
	}
	for name, v := range now {
		differ(name, v, was[name])
	}
	for name, v := range was {
		if _, both := now[name]; !both {
			differ(name, "", v)
		}
	}
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// isKey reports whether name names a key of the configuration, config.SECTION.KEY. Values
// below a key belong to the user, and empty ones are meaningful.
func isKey(name string) bool {
	return strings.HasPrefix(name, "config.") && strings.Count(name, ".") == 2
}

func isEmpty(value string) bool {
	return slices.Contains([]string{"", "null", `""`, "0", "false", "[]", "{}"}, value)
}

// images is a key whose default is true. Directories from before it have neither value.
const images = "config.agent.images"

// indifferent lists settings that affect neither the agent nor its environment nor a model.
var indifferent = []string{
	"config.run.mask_patterns", "config.environment.pull_timeout", "config.environment.executable", "config.environment.engines",
	"config.model.requests_per_minute", "config.model.tokens_per_minute",
	"config.model.reply_ends", // a run that an unknown end has stopped goes on with it
}

// matters reports whether the named value affects results. A file and its copy with another
// name are the same dataset.
func matters(name string, m, other *Manifest) bool {
	section, _, _ := strings.Cut(name, ".")
	switch {
	case slices.Contains(indifferent, name):
		return false
	case name == "agent_versions": // known when a run has ended
		return len(m.Versions) > 0 && len(other.Versions) > 0
	case section == "config", section == "model", section == "salvage", section == "timeout_multiplier":
		return true
	case name == "dataset.digest", name == "dataset.name", name == "dataset.revision":
		known := m.Dataset.Digest != "" && other.Dataset.Digest != ""
		return known == (name == "dataset.digest")
	default:
		return name == "dataset.split"
	}
}

// values returns a manifest's leaves by dotted path, except leaves that differ between any
// two runs.
func (m *Manifest) values() map[string]string {
	compared := *m
	compared.Request = nil
	all := flatten(compared)
	for _, name := range []string{"format_version", "created", "command", "argv", "dir", "runs", "mixed", "dataset.instances"} {
		delete(all, name)
	}
	return all
}

// flatten returns leaves as JSON texts by dotted path. Going through JSON
// makes a value in memory equal to its copy read from a file.
func flatten(config any) map[string]string {
	out := map[string]string{}
	text, err := python.Compact(config)
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
	text, _ := python.Compact(v) //nolint:errcheck // it has just been decoded from JSON
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
