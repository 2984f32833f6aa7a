package swebench_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/swebench"
)

func TestFormsOfPredictions(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"list":                      {"preds.json", `[{"instance_id":"a","model_name_or_path":"m","model_patch":"p"},{"instance_id":"b","model_name_or_path":"m","model_patch":null}]`, "a/m/p b/m/"},
		"object":                    {"preds.json", `{"a":{"instance_id":"a","model_name_or_path":"m","model_patch":"é😀"}}`, "a/m/é😀"},
		"object, Live":              {"preds.json", `{"a":{"model_patch":"p"}}`, "a//p"},
		"lines":                     {"preds.jsonl", "{\"instance_id\":\"a\",\"model_patch\":\"p\"}\r\n\n{\"instance_id\":\"b\",\"model_patch\":\"\"}\n", "a//p b//"},
		"lines by text":             {"preds.json", "{\"instance_id\":\"a\",\"model_patch\":\"p\"}\n{\"instance_id\":\"b\",\"model_patch\":\"q\"}\n", "a//p b//q"},
		"one line":                  {"preds", `{"instance_id":"a","model_patch":"p"}`, "a//p"},
		"Pro":                       {"preds.json", `[{"instance_id":"a","patch":"p","prefix":"gpt"}]`, "a/gpt/p"},
		"Multi-SWE-bench":           {"preds.jsonl", `{"org":"cli","repo":"cli","number":10388,"fix_patch":"p"}`, "cli__cli-10388//p"},
		"byte order mark":           {"preds.json", "\ufeff" + `[{"instance_id":"a","model_patch":"p"}]`, "a//p"},
		"over several lines":        {"preds.json", "{\n  \"instance_id\": \"a\",\n  \"model_patch\": \"p\"\n}\n{\"instance_id\":\"b\",\n\"model_patch\":\"q\"}", "a//p b//q"},
		"object over several lines": {"preds.json", "{\n  \"a\": {\n    \"model_patch\": \"p\"\n  }\n}\n", "a//p"},
		"list in lines":             {"preds.jsonl", `[{"instance_id":"a","model_patch":"p"}]`, "a//p"},
		"an object first":           {"preds.jsonl", `{"info":{"x":1},"instance_id":"a","model_patch":"p"}`, "a//p"},
		"Python's numbers":          {"preds.json", `[{"instance_id":"a","cost":NaN,"x":[-Infinity,Infinity , NaN],"model_patch":"NaN \" Infinity"}]`, `a//NaN " Infinity`},
		"bytes":                     {"preds.jsonl", `{"instance_id":"a","model_patch":"\u0000\r\n\t\\x\ufffd<\ud83d\ude00"}`, "a//\x00\r\n\t\\x\ufffd<😀"},
		"no model":                  {"preds.jsonl", `{"instance_id":"a","model_name_or_path":null,"model_patch":null}`, "a//"},
		"twice":                     {"preds.json", `[{"instance_id":"a","model_patch":"1"},{"instance_id":"b","model_patch":"2"},{"instance_id":"a","model_patch":"3"}]`, "a//3 b//2"},
		"twice in object":           {"preds.json", `{"a":{"model_patch":"1"},"a":{"model_patch":"2"}}`, "a//2"},
	} {
		p, err := swebench.DecodePredictions(c.file, []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, e := range p.List {
			got = append(got, e.InstanceID+"/"+e.Model+"/"+e.Patch)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
		if twice := strings.HasPrefix(name, "twice"); twice != (len(p.Notes) == 1) {
			t.Errorf("%s: notes %q", name, p.Notes)
		}
	}
}

func TestBadPredictionsAreNamed(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"p.json", ``, "p.json: it has no predictions"},
		{"p.json", `[]`, "it has no predictions"},
		{"p.json", `"x"`, "neither a JSON list nor an object"},
		{"p.json", "[\n{\"instance_id\":\"a\",}]", "entry 1, line 2: it is not JSON"},
		{"p.json", "[\n\n{\"instance_id\":\"a\",\"model_patch\":\"p\"},\n\n{\"instance_id\":\"b\"\n,}\n\n]", "entry 2, line 6: it is not JSON"},
		{"p.json", "[{\"instance_id\":\"a\",\"model_patch\":\"p\"}\n{}]", "entry 2, line 2: it is not JSON: expected a comma or ]"},
		{"p.json", `[{"instance_id": "a"`, "entry 1: the JSON text ends too early"},
		{"p.json", `{"a": {"model_patch": "p"`, "entry 1: the JSON text ends too early"},
		{"p.json", `{"a": {"model_patch": "p"},`, "entry 2: the JSON text ends too early"},
		{"p.json", `{`, "the file is cut"},
		{"p.json", `{"a": {"model_patch": "p"}, 7: {}}`, "entry 2: its name has to be a string"},
		{"p.json", `{"a": {"model_patch": "p"}, "b" {}}`, "expected a colon"},
		{"p.json", `[{"instance_id":"a","model_patch":1NaN}]`, "entry 1, line 1: it is not JSON"},
		{"p.json", `[{"instance_id":"a","model_patch":NaN}]`, "entry 1: model_patch has to be a string"},
		{"p.json", `[{"instance_id":"a/b","model_patch":""}]`, `entry 1: instance_id "a/b" contains a slash`},
		{"p.jsonl", "{\"instance_id\":\"a\",\"model_patch\":\"p\"}\n{\"instance_id\":\"b\",\"model\n{\"instance_id\":\"c\",\"model_patch\":\"p\"}\n", "line 2: it is not JSON"},
		{"p.jsonl", "{\"instance_id\":\"a\",\"model_patch\":\"p\"}\n{", "line 2: the JSON text ends too early"},
		{"p.jsonl", "{\"instance_id\":\"a\",\"model_pa\n{\"instance_id\":\"b\",\"model_patch\":\"p\"}\n", "line 1: it is not JSON"},
		{"p.jsonl", "{\"model_patch\":\"p\"}", "line 1: instance_id is missing"},
		{"p.json", `[{"instance_id":"a","model_patch":"p"}`, "the file is cut"},
		{"p.json", `[{"instance_id":"a","model_patch":"p"}] x`, "text after the end"},
		{"p.json", `[{"instance_id":"a","model_patch":"p"}, 7]`, "entry 2: a prediction has to be a JSON object"},
		{"p.json", `[null]`, "entry 1: a prediction has to be a JSON object"},
		{"p.json", `[{"model_patch":"p"}]`, "entry 1: instance_id is missing"},
		{"p.json", `[{"instance_id":"","model_patch":"p"}]`, "entry 1: instance_id is empty"},
		{"p.json", `[{"instance_id":7,"model_patch":"p"}]`, "entry 1: instance_id has to be a string"},
		{"p.json", `[{"instance_id":"a"}]`, "entry 1: model_patch is missing"},
		{"p.json", `[{"instance_id":"a","model_patch":["p"]}]`, "entry 1: model_patch has to be a string"},
		{"p.json", `[{"instance_id":"a","model_patch":"\ud83d x"}]`, "half of a surrogate pair"},
		{"p.jsonl", "{\"instance_id\":\"a\",\"model_patch\":\"p\"}\n{\"instance_id\":\n", "line 2"},
		{"p.jsonl", "{\"instance_id\":\"a\",\"model_patch\":\"p\"}\n{\"instance_id\":\"\xff\"}\n", "line 2: instance_id has half of a surrogate pair, or a byte that is not UTF-8"},
		{"p.jsonl", `{"org":"a","repo":"b","number":"x","fix_patch":""}`, "line 1: org, repo and number"},
	} {
		_, err := swebench.DecodePredictions(c.file, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestWhatIsToleratedIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"\ufeff{\"a\": {\"model_patch\": \"\"}}":                         "begins with a byte order mark",
		"{\"a\": {\"model_patch\": \"\", \"x\": \"\xe9\"},\n\n,}":        "has bytes that are not UTF-8, the first in line 1; has a comma too many in line 3",
		`[{"instance_id": "a", "model_patch": "", "x": NaN}]`:            "has NaN or Infinity, which JSON does not have; is a list",
		`{"instance_id": "a", "model_patch": ""}`:                        "is rows that follow each other",
		`{"a": {"model_patch": "NaN", "x": "\ud83d\ude00", "y": [1,2]}}`: "",
	} {
		f, err := swebench.DecodePredictions("f", []byte(text))
		if got := strings.Join(f.Form, "; "); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestAnEntryKeepsItsText(t *testing.T) {
	for text, want := range map[string]string{
		`{"model_patch":"","x":[NaN,-Infinity,Infinity,"NaN"],"y":-1}`: `{"model_patch":"","x":[null,null,null,"NaN"],"y":-1}`,
		"{\"model_patch\":\"\",\"x\":\"caf\xe9\\\\\xff\"}":             `{"model_patch":"","x":"caf\udce9\\\udcff"}`,
		`{ "model_patch" : "\u00E9" }`:                                 `{ "model_patch" : "\u00E9" }`,
	} {
		_, err := swebench.ScanPredictions("f", []byte(`{"a": `+text+"}"), func(p swebench.Prediction) error {
			if string(p.Text) != want || p.Unfit != nil {
				t.Errorf("%s: %s, %v, want %s", text, p.Text, p.Unfit, want)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A byte that is not UTF-8 could be any character of the patch, so the patch is not graded.
func TestAPatchThatIsNoTextIsUnfit(t *testing.T) {
	n := 0
	_, err := swebench.ScanPredictions("f", []byte("{\"a\": {\"model_patch\": \"+caf\xe9\"}, \"b\": 7}"), func(p swebench.Prediction) error {
		if n++; p.Unfit == nil || p.InstanceID == "a" && p.Patch == "" {
			t.Errorf("%+v", p)
		}
		return nil
	})
	if err != nil || n != 2 {
		t.Errorf("%v, %d entries", err, n)
	}
}

func TestRepeatedInstancesAreCounted(t *testing.T) {
	f, err := swebench.DecodePredictions("f", []byte(`[{"instance_id":"a","model_patch":"1"},{"instance_id":"b","model_patch":""},{"instance_id":"a","model_patch":"2"},{"instance_id":"a","model_patch":"3"}]`))
	if err != nil || len(f.Times) != 1 || f.Times["a"] != 3 || len(f.List) != 2 {
		t.Errorf("%+v, %v", f, err)
	}
}

// Predictions keep their meaning when they are written as entries by instance.
func FuzzScan(f *testing.F) {
	for _, text := range []string{
		`[{"instance_id":"a","model_patch":null}]`, `{"a":{"model_patch":"\ud83d\ude00"},,}`, `[{"instance_id":"a","patch":"","x":[NaN,-Infinity]}]`,
		"{\n\"instance_id\": \"a\",\n\"patch\":\"\xe9\"}\n{", `{"a":null,"b":"x","a":{"model_patch":["\ud83d"]}}`, "\ufeff{}", "\xff\xfe{",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := swebench.ScanPredictions("f", data, func(p swebench.Prediction) error {
			again := swebench.PredictionOf(p.InstanceID, p.Text)
			null := strings.Contains(string(p.Text), "null") // may have been NaN
			if !json.Valid(p.Text) || again.InstanceID != p.InstanceID || again.Model != p.Model || again.Patch != p.Patch || !null && (again.Unfit == nil) != (p.Unfit == nil) {
				t.Errorf("%q: %+v, again %+v", p.Text, p, again)
			}
			return nil
		})
		if err != nil && fault.KindOf(err) != fault.Usage {
			t.Error(err)
		}
	})
}

func FuzzPredictions(f *testing.F) {
	f.Add("p.json", []byte(`[{"instance_id":"a","model_patch":null}]`))
	f.Add("p.json", []byte(`{"a":{"model_patch":"\ud83d\ude00"}}`))
	f.Add("p.json", []byte(`[{"instance_id":"a","model_patch":"","x":[NaN,-Infinity]}`))
	f.Add("p.json", []byte("{\n\"instance_id\":\"a\",\n\"patch\":\"\"}\n{"))
	f.Add("p.jsonl", []byte("{\"org\":\"a\",\"repo\":\"b\",\"number\":1,\"fix_patch\":\"\"}\n"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		p, err := swebench.DecodePredictions(name, data)
		if err != nil {
			var bad *fault.Error
			if !errors.As(err, &bad) || bad.Kind != fault.Usage {
				t.Errorf("%v", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, e := range p.List {
			if e.InstanceID == "" || seen[e.InstanceID] {
				t.Errorf("%+v", e)
			}
			seen[e.InstanceID] = true
			if err := e.CheckNames(); err != nil {
				t.Error(err)
			}
		}
		if len(p.List) == 0 {
			t.Error("no predictions and no error")
		}
	})
}
