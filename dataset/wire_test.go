package dataset_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/sample"
)

// there sends an instance over the wire, and returns the received instance and the sent bytes.
func there(t testing.TB, in dataset.Instance) (out dataset.Instance, wire string) {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v\n%.500s", err, data)
	}
	return out, string(data)
}

func TestRealRowsRoundTripTheWireForm(t *testing.T) {
	for _, file := range []string{
		"SWE-bench_Verified-test.parquet", "SWE-bench_Lite-test.parquet", "SWE-bench_Lite-dev.parquet",
		"SWE-bench_Multilingual-test.parquet", "SWE-bench_Multimodal-dev.parquet",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			for _, in := range sample.Some(t, 40, open(t, dataset.Source{Name: shared(t, file)}).Instances) {
				out, wire := there(t, in)
				if !reflect.DeepEqual(in, out) || in.Digest() != out.Digest() {
					t.Errorf("%s differs after the wire", in.ID)
				}
				if plain, err := json.Marshal(in.Fields); err != nil || string(plain) != wire {
					t.Errorf("%s: the wire form of a plain row is not the row (%v)", in.ID, err)
				}
			}
		})
	}
}

// of returns a row with one more column, as a reader would create it.
func of(t testing.TB, value any) dataset.Instance {
	t.Helper()
	var in dataset.Instance
	if err := json.Unmarshal([]byte(`{"instance_id":"a__1","version":3}`), &in); err != nil {
		t.Fatal(err)
	}
	in.Fields["extra"] = value
	return in
}

func TestEveryValueRoundTripsTheWireForm(t *testing.T) {
	digests := map[string]string{}
	for name, tc := range map[string]struct {
		value any
		wire  string
	}{
		"nothing":                    {nil, `null`},
		"text":                       {"a<b \U0001f600 \ufffd\u2028\x00", `"a\u003cb 😀 �\u2028\u0000"`},
		"bytes":                      {"caf\xe9\r\n", `{"$bytes":"Y2Fm6Q0K"}`},
		"half a character":           {"\xed\xa0\x80", `{"$bytes":"7aCA"}`},
		"a whole number":             {int64(1), `1`},
		"the greatest":               {int64(math.MaxInt64), `9223372036854775807`},
		"the least":                  {int64(math.MinInt64), `-9223372036854775808`},
		"one that is a float":        {1.0, `1.0`},
		"a negative zero":            {math.Copysign(0, -1), `-0.0`},
		"beyond a float's digits":    {float64(1<<53 + 2), `9007199254740994.0`},
		"the least, as a float":      {float64(math.MinInt64), `-9223372036854775808.0`},
		"beyond 64 bits":             {float64(math.MaxUint64), `18446744073709552000`},
		"the greatest float":         {math.MaxFloat64, `1.7976931348623157e+308`},
		"the smallest":               {math.SmallestNonzeroFloat64, `5e-324`},
		"a fraction":                 {0.1, `0.1`},
		"without end":                {math.Inf(1), `{"$float":"+Inf"}`},
		"with none, below":           {math.Inf(-1), `{"$float":"-Inf"}`},
		"a truth":                    {true, `true`},
		"an empty list":              {[]any{}, `[]`},
		"a list":                     {[]any{"a", int64(1), "\xff", []any{1.0}}, `["a",1,{"$bytes":"/w=="},[1.0]]`},
		"an empty object":            {map[string]any{}, `{}`},
		"an object":                  {map[string]any{"b": "\xff", "a": nil}, `{"a":null,"b":{"$bytes":"/w=="}}`},
		"a key of bytes":             {map[string]any{"\xff": int64(1)}, `{"$pairs":[[{"$bytes":"/w=="},1]]}`},
		"one that looks like bytes":  {map[string]any{"$bytes": "YQ=="}, `{"$pairs":[["$bytes","YQ=="]]}`},
		"one that looks like pairs":  {map[string]any{"$pairs": []any{}}, `{"$pairs":[["$pairs",[]]]}`},
		"one that looks like a mark": {map[string]any{"$": "a"}, `{"$pairs":[["$","a"]]}`},
		"one with more":              {map[string]any{"$bytes": "YQ==", "a": int64(1)}, `{"$bytes":"YQ==","a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			in := of(t, tc.value)
			out, wire := there(t, in)
			if !reflect.DeepEqual(in, out) || math.Signbit(number(out)) != math.Signbit(number(in)) {
				t.Errorf("%#v was received as %#v", in.Fields["extra"], out.Fields["extra"])
			}
			if want := `{"extra":` + tc.wire + `,"instance_id":"a__1","version":3}`; wire != want {
				t.Errorf("sent as %s, want %s", wire, want)
			}
			if in.Digest() != out.Digest() {
				t.Error("the digest differs after the wire")
			}
			if other, ok := digests[in.Digest()]; ok {
				t.Errorf("has the same digest as %s", other)
			}
			digests[in.Digest()] = name
		})
	}
	nan, _ := there(t, of(t, math.NaN()))
	if v, ok := nan.Fields["extra"].(float64); !ok || !math.IsNaN(v) || nan.Digest() != of(t, math.NaN()).Digest() {
		t.Errorf("NaN was received as %v", nan.Fields["extra"])
	}
}

func number(in dataset.Instance) float64 {
	v, _ := in.Fields["extra"].(float64)
	return v
}

func TestKnownColumnsRoundTripTheWireForm(t *testing.T) {
	const sent = `{"instance_id":"a__1","repo":"a/b","version":3,"patch":{"$bytes":"/w=="},"PASS_TO_PASS":"['x', 'y']","FAIL_TO_PASS":["z "],"image":"i:1"}`
	var in dataset.Instance
	if err := json.Unmarshal([]byte(sent), &in); err != nil {
		t.Fatal(err)
	}
	if in.ID != "a__1" || in.Repo != "a/b" || in.Version != "3" || in.Patch != "\xff" || in.Image != "i:1" ||
		!reflect.DeepEqual(in.PassToPass, []string{"x", "y"}) || !reflect.DeepEqual(in.FailToPass, []string{"z "}) {
		t.Errorf("%+v", in)
	}
	if out, _ := there(t, in); !reflect.DeepEqual(in, out) {
		t.Errorf("%+v, want %+v", out, in)
	}
}

// The rows that batch dataset --json prints can be read again, one or several, with any patch.
func TestRowsInJSONKeepTheirBytes(t *testing.T) {
	patches := []string{"caf\xe9\n", "caf\u00e9\n", "", "\xff\x00"}
	for n := range len(patches) {
		var file bytes.Buffer
		want := patches[:n+1]
		for i, patch := range want {
			in := of(t, []any{"\xfe", math.Inf(1), map[string]any{"$ref": "kept"}})
			in.Fields["instance_id"], in.Fields["patch"] = fmt.Sprint("a-", i), patch
			if err := json.NewEncoder(&file).Encode(in.Row()); err != nil {
				t.Fatal(err)
			}
		}
		ds, err := dataset.Open(t.Context(), dataset.Source{Name: write(t, filepath.Join(t.TempDir(), "rows.jsonl"), file.Bytes())})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, in := range ds.Instances {
			got = append(got, in.Patch)
			if extra := in.Fields["extra"].([]any); extra[0] != "\xfe" || extra[1] != math.Inf(1) || !reflect.DeepEqual(extra[2], map[string]any{"$ref": "kept"}) {
				t.Errorf("extra %v", extra)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("patches %q, want %q", got, want)
		}
	}
	bad := []byte(`{"instance_id":"a","patch":{"$bytes":"/w="}}`)
	_, err := dataset.Open(t.Context(), dataset.Source{Name: write(t, filepath.Join(t.TempDir(), "rows.jsonl"), bad)})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "column patch") {
		t.Errorf("got %v, want a Usage fault that names the column", err)
	}
}

func TestABrokenWireFormIsRefused(t *testing.T) {
	for _, sent := range []string{
		``, `null`, `[]`, `3`, `{}`, `{"instance_id":""}`, `{"instance_id":"a/b"}`, `{"instance_id":"a","patch":3}`,
		`{"instance_id":"a","patch":{"$bytes":"/w="}}`, `{"instance_id":"a","x":{"$bytes":3}}`, `{"instance_id":"a","x":{"$float":"x"}}`,
		`{"instance_id":"a","x":{"$pairs":[["a"]]}}`, `{"instance_id":"a","x":{"$pairs":[[1,2]]}}`, `{"instance_id":"a","x":{"$pairs":3}}`,
		`{"instance_id":"a","x":{"$else":3}}`, "{\"instance_id\":\"a\",\"x\":\"\xff\"}", `{"instance_id":"a","x":"\ud800"}`,
	} {
		var in dataset.Instance
		if err := in.UnmarshalJSON([]byte(sent)); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: got %v, want a Usage fault", sent, err)
		}
	}
	for _, in := range []dataset.Instance{{}, {ID: "a"}, {ID: "a", Fields: map[string]any{"instance_id": "b"}}} {
		if _, err := json.Marshal(in); err == nil || !strings.Contains(err.Error(), "not read from a row") {
			t.Errorf("got %+v: %v; want an error with %q", in, err, "not read from a row")
		}
	}
}

// FuzzWireValue sends rows with values that a reader may give.
func FuzzWireValue(f *testing.F) {
	f.Add("patch", "caf\xe9", int64(1), 1.0)
	f.Add("$bytes", "$pairs", int64(-1), math.Inf(1))
	f.Add("\xff", "", int64(math.MinInt64), math.Copysign(0, -1))
	f.Fuzz(func(t *testing.T, key, text string, n int64, x float64) {
		in := of(t, []any{text, n, x, nil, map[string]any{key: text}, map[string]any{key: x, text: n}})
		out, wire := there(t, in)
		if again, same := there(t, out); same != wire || again.Digest() != in.Digest() || out.Digest() != in.Digest() {
			t.Errorf("%s became %s; want same %v, digest %v, digest %v", wire, same, wire, in.Digest(), in.Digest())
		}
		if x == x && !reflect.DeepEqual(in, out) {
			t.Errorf("%#v was received as %#v", in.Fields, out.Fields)
		}
	})
}

// FuzzWireForm reads any bytes as a wire form.
func FuzzWireForm(f *testing.F) {
	f.Add(`{"instance_id":"a","x":{"$pairs":[[{"$bytes":"/w=="},1e400]]}}`)
	f.Add(`{"instance_id":"a","FAIL_TO_PASS":"[\"a\"]","version":1,"x":[1.0,-0,{"$float":"NaN"}]}`)
	f.Fuzz(func(t *testing.T, sent string) {
		var in dataset.Instance
		if in.UnmarshalJSON([]byte(sent)) != nil {
			return
		}
		out, wire := there(t, in)
		if _, again := there(t, out); again != wire || out.Digest() != in.Digest() || out.ID != in.ID || out.Patch != in.Patch {
			t.Errorf("%s became %s, then %s; want again %v, digest %v, ID %v, patch %v",
				sent, wire, again, wire, in.Digest(), in.ID, in.Patch)
		}
	})
}
