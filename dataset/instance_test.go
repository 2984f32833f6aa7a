package dataset

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestOtherTestsAreReadAgainFromTheRow(t *testing.T) {
	for name, fields := range map[string]map[string]any{
		"lists":       {"instance_id": "a", "FAIL_TO_PASS": []any{"old"}, "PASS_TO_PASS": []any{}},
		"text":        {"instance_id": "a", "FAIL_TO_PASS": `["old"]`, "PASS_TO_PASS": "[]"},
		"lower case":  {"instance_id": "a", "FAIL_TO_PASS": nil, "fail_to_pass": `["old"]`, "pass_to_pass": "[]"},
		"no columns":  {"instance_id": "a"},
		"both cases":  {"instance_id": "a", "FAIL_TO_PASS": []any{"old"}, "fail_to_pass": []any{"older"}},
		"not decided": {"instance_id": "a", "FAIL_TO_PASS": nil, "PASS_TO_PASS": nil},
	} {
		in, err := row{place{"t", "row", 1}, fields}.instance()
		if err != nil {
			t.Fatal(err)
		}
		had := len(in.Fields)
		changed := in.WithTests([]string{" x ", "é"}, nil)
		line, err := json.Marshal(changed.Row())
		if err != nil {
			t.Fatal(err)
		}
		var read Instance
		if err := json.Unmarshal(line, &read); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(read.FailToPass, []string{" x ", "é"}) || len(read.PassToPass) > 0 {
			t.Errorf("%s: got %q, %q from %s", name, read.FailToPass, read.PassToPass, line)
		}
		if len(in.Fields) != had || slices.Contains(in.FailToPass, "é") {
			t.Errorf("%s: the instance was changed: %v", name, in.Fields)
		}
	}
}
