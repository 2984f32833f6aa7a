package python_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/internal/python"
)

func TestLists(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"JSON", `["a", "b c", "\u00e9\ud83d\ude00\/\"\n"]`, []string{"a", "b c", "é😀/\"\n"}},
		{"what Python prints", `['a', "it's", 'q"q', 'b\\n\x1b\xe9\u20ac\U0001F600\'']`, []string{"a", "it's", `q"q`, "b\\n\x1b\u00e9€😀'"}},
		{"a comma at the end", "['a',\n 'b',\n]", []string{"a", "b"}},
		{"an escape Python leaves alone", `['\d', "\/"]`, []string{`\d`, `\/`}},
		{"octal", `['\0\101\1012']`, []string{"\x00AA2"}},
		{"blanks within ids stay", `[" a ", "b	"]`, []string{" a ", "b\t"}},
		{"brackets and commas within ids", `["t[a, b]", 't["x"]']`, []string{"t[a, b]", `t["x"]`}},
		{"no tests", " [ ] ", []string{}},
		{"blank text", " \n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := python.List(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("result (-want +got):\n%s", d)
			}
		})
	}
	for _, text := range []string{
		"a::b", "[", "]", "['a'", "['a' 'b']", "['a]", "[1]", "[null]", "['a'] x", "[,]", "['a',,'b']", `["\ud800"]`,
		`['\ud83d']`, `['\x1']`, `['\N{DASH}']`, `['\U00110000']`, `["a\`, "['a\nb']", "{}", "[['a']]",
	} {
		t.Run("refused: "+text, func(t *testing.T) {
			if got, err := python.List(text); err == nil {
				t.Errorf("read as %q, want an error", got)
			}
		})
	}
}

// FuzzList checks that the reader agrees with encoding/json on all text that this
// accepts, and that its result can be written and read again.
func FuzzList(f *testing.F) {
	for _, s := range []string{`["a","b\u00e9"]`, `['a', "b'c"]`, `['\x41\'']`, "[]", "", `["\ud83d\ude00"]`, "['a',]", `["`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := python.List(text)
		var want []string
		var raw []any
		strict := json.Unmarshal([]byte(text), &raw) == nil && raw != nil && !slices.Contains(raw, any(nil))
		if strict && json.Unmarshal([]byte(text), &want) == nil && !strings.Contains(strings.Join(want, ""), "\ufffd") {
			if err != nil {
				t.Fatalf("valid JSON was refused: %v", err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("result (-want +got):\n%s", d)
			}
		}
		if err != nil || !json.Valid([]byte(text)) {
			return
		}
		again, _ := json.Marshal(got)
		if back, err := python.List(string(again)); err != nil || len(back) != len(got) {
			t.Fatalf("got %q reads as %q, %v; want %v values, no error", again, back, err, len(got))
		}
	})
}

// FuzzSlice compares positions and order with the plain definition.
func FuzzSlice(f *testing.F) {
	for _, s := range []string{"1:2", ":", "::-1", "-3:", "5", "::99999999999999999999", "9223372036854775807::-9223372036854775808"} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = min(max(n, 0), 1000)
		s, err := python.ParseSlice(text)
		if err != nil {
			return
		}
		got := s.Indices(n)
		up := s[2] == nil || *s[2] > 0
		for k, i := range got {
			if i < 0 || i >= n {
				t.Fatalf("got %q of %d: position %d; want at least 0, less than %v", text, n, i, n)
			}
			if k > 0 && up != (got[k-1] < i) {
				t.Fatalf("%q of %d: the indices %v do not go in one direction", text, n, got)
			}
		}
		if s[0] == nil && s[1] == nil && s[2] == nil && len(got) != n {
			t.Fatalf("%q of %d gives %d", text, n, len(got))
		}
	})
}

func TestShuffleAgreesWithPython(t *testing.T) {
	// random.seed(s); x = list(range(12)); random.shuffle(x)
	for seed, want := range pythonShuffles {
		got := make([]int, 12)
		for i := range got {
			got[i] = i
		}
		python.Shuffle(seed, len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("seed %d: got %s, want no difference", seed, d)
		}
	}
}

var pythonShuffles = map[int64][]int{
	0:                    {1, 9, 8, 5, 10, 2, 3, 7, 4, 0, 11, 6},
	1:                    {7, 11, 0, 8, 5, 6, 3, 10, 4, 1, 9, 2},
	42:                   {7, 5, 2, 8, 9, 6, 11, 3, 4, 0, 1, 10},
	-7:                   {7, 11, 3, 10, 8, 4, 9, 1, 0, 6, 2, 5},
	4294967301:           {9, 6, 8, 11, 3, 1, 10, 5, 0, 4, 7, 2},
	9223372036854775807:  {11, 1, 6, 9, 4, 3, 0, 8, 7, 2, 10, 5},
	-9223372036854775808: {11, 0, 7, 5, 4, 10, 2, 1, 9, 3, 6, 8},
}
