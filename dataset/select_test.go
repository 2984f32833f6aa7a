package dataset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
)

func repos(n int) []dataset.Instance {
	out := make([]dataset.Instance, n)
	for i := range out {
		out[i].ID = fmt.Sprintf("repo%02d", i)
	}
	return out
}

func short(in []dataset.Instance) string {
	var b []string
	for _, i := range in {
		b = append(b, strings.TrimPrefix(strings.TrimPrefix(i.ID, "repo0"), "repo"))
	}
	return strings.Join(b, ",")
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		name string
		s    dataset.Selection
		want string
	}{
		{"nothing asked gives all in order", dataset.Selection{}, "0,1,2,3,4,5,6,7,8,9"},
		{"shuffle is python's with seed 42", dataset.Selection{Shuffle: true, Seed: 42}, "7,3,2,8,5,6,9,4,0,1"},
		{"filter is anchored at the start only", dataset.Selection{Filter: "repo0[1-3]|epo04"}, "1,2,3"},
		{"filter need not match to the end", dataset.Selection{Filter: "repo"}, "0,1,2,3,4,5,6,7,8,9"},
		{"filter knows lookahead", dataset.Selection{Filter: "(?!repo0[0-6])"}, "7,8,9"},
		{"filter knows python's named references", dataset.Selection{Filter: `repo(?P<d>\d)(?P=d)`}, "0"},
		{"filter knows python's named groups", dataset.Selection{Filter: `(?P<r>repo)08`}, "8"},
		{"slice comes after filter", dataset.Selection{Filter: "repo0[2-9]", Slice: "1:3"}, "3,4"},
		{"slice comes after shuffle", dataset.Selection{Shuffle: true, Seed: 42, Slice: ":3"}, "7,3,2"},
		{"negative start", dataset.Selection{Slice: "-2:"}, "8,9"},
		{"negative stop", dataset.Selection{Slice: ":-8"}, "0,1"},
		{"step", dataset.Selection{Slice: "1:8:3"}, "1,4,7"},
		{"negative step", dataset.Selection{Slice: "::-4"}, "9,5,1"},
		{"a negative step takes the first too", dataset.Selection{Slice: "::-1"}, "9,8,7,6,5,4,3,2,1,0"},
		{"a negative step from the middle", dataset.Selection{Slice: "2::-1"}, "2,1,0"},
		{"a negative step that ends at the first", dataset.Selection{Slice: "::-3"}, "9,6,3,0"},
		{"a negative step to a stop", dataset.Selection{Slice: "3:0:-1"}, "3,2,1"},
		{"a negative step to a stop before the first", dataset.Selection{Slice: "2:-11:-1"}, "2,1,0"},
		{"a negative step from behind the last", dataset.Selection{Slice: "99:7:-1"}, "9,8"},
		{"a single number is a stop", dataset.Selection{Slice: "2"}, "0,1"},
		{"numbers beyond the ends and the word size", dataset.Selection{Slice: "-99999999999999999999:99999999999999999999:4"}, "0,4,8"},
		{"ids keep the dataset's order", dataset.Selection{IDs: []string{"repo07", "repo01", "repo07"}}, "1,7"},
		{"slice counts among the ids", dataset.Selection{IDs: []string{"repo07", "repo05"}, Slice: ":1"}, "5"},
		{"first shard", dataset.Selection{Shard: "1/3"}, "2,3,5"},
		{"last shard", dataset.Selection{Shard: "3/3"}, "0,4,7,8,9"},
		{"a shard of a filter has the same ids", dataset.Selection{Filter: "repo0[3-8]", Shard: "3/3"}, "4,7,8"},
		{"a shard in another order has the same ids", dataset.Selection{Shuffle: true, Seed: 42, Shard: "3/3"}, "7,8,9,4,0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := repos(10)
			got, err := c.s.Apply(in)
			if err != nil {
				t.Fatal(err)
			}
			if short(got) != c.want {
				t.Errorf("got %s, want %s", short(got), c.want)
			}
			if short(in) != short(repos(10)) {
				t.Error("the input was changed")
			}
		})
	}
}

func TestShuffleStartsFromSortedIDs(t *testing.T) {
	in := repos(10)
	slices.Reverse(in)
	got, err := dataset.Selection{Shuffle: true, Seed: 42}.Apply(in)
	if err != nil || short(got) != "7,3,2,8,5,6,9,4,0,1" {
		t.Errorf("got %s, %v; want %q, no error", short(got), err, "7,3,2,8,5,6,9,4,0,1")
	}
}

func TestBadSelectionsAreUsageFaults(t *testing.T) {
	for _, c := range []struct {
		name       string
		s          dataset.Selection
		text, hint string
	}{
		{"a filter that selects nothing", dataset.Selection{Filter: "x"}, "--filter x leaves none of 10", "repo00"},
		{"a broken filter", dataset.Selection{Filter: "(repo"}, "reading --filter (repo", "regular expression"},
		{"a slice of words", dataset.Selection{Slice: "a:b"}, `reading --slice a:b: "a" is not a whole number`, "0:10"},
		{"a slice of four", dataset.Selection{Slice: "1:2:3:4"}, "4 parts", "0:10"},
		{"a slice of fractions", dataset.Selection{Slice: "1.5:"}, "not a whole number", ""},
		{"a step of zero", dataset.Selection{Slice: "::0"}, "step must not be zero", ""},
		{"a slice behind the end", dataset.Selection{Slice: "10:"}, "--slice 10: leaves none of 10", ""},
		{"an unknown id", dataset.Selection{IDs: []string{"repo0O"}}, "no instance repo0O", "did you mean repo00"},
		{"no ids", dataset.Selection{IDs: []string{}}, "--instances 0 ids leaves none", ""},
		{"shard zero", dataset.Selection{Shard: "0/3"}, "expected i/n", ""},
		{"shard beyond", dataset.Selection{Shard: "4/3"}, "expected i/n", ""},
		{"shard of words", dataset.Selection{Shard: "one"}, "expected i/n", ""},
		{"an empty shard", dataset.Selection{Shard: "1/20"}, "--shard 1/20 leaves none of 10", "may be empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.s.Apply(repos(10))
			wantUsage(t, err, c.text, c.hint)
		})
	}
}

func TestEndlessFilterIsStopped(t *testing.T) {
	in := []dataset.Instance{{ID: strings.Repeat("a", 60) + "!"}}
	_, err := dataset.Selection{Filter: `(a+)+$`}.Apply(in)
	wantUsage(t, err, "more than 1s spent", "exponential")
}

func wantUsage(t *testing.T, err error, texts ...string) {
	t.Helper()
	if fault.KindOf(err) != fault.Usage {
		t.Fatalf("got %v (%v), want a usage fault", err, fault.KindOf(err))
	}
	all := err.Error() + "\n" + fault.HintOf(err)
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%q\nlacks %q", all, text)
		}
	}
}

func TestReadIDs(t *testing.T) {
	for name, text := range map[string]string{
		"lines with comments": "\ufeff# mine\r\na__b-1\r\n\r\n  c__d-2  # later\n",
		"a JSON list":         ` ["a__b-1", "c__d-2"]`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := dataset.ReadIDs(strings.NewReader(text), "ids.txt")
			if err != nil || strings.Join(got, " ") != "a__b-1 c__d-2" {
				t.Errorf("got %q, %v; want %q, no error", got, err, "a__b-1 c__d-2")
			}
		})
	}
	for name, c := range map[string][2]string{
		"two ids on a line": {"a\nb c\n", "ids.txt line 2"},
		"no id":             {"# nothing\n", "no instance ids"},
		"numbers in a list": {"[1]", "JSON list"},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			_, err := dataset.ReadIDs(strings.NewReader(c[0]), "ids.txt")
			wantUsage(t, err, c[1])
		})
	}
}

func TestImageName(t *testing.T) {
	for _, c := range []struct{ id, image, prefix, want string }{
		{"swe-agent__test-repo__1", "", "", "docker.io/swebench/sweb.eval.x86_64.swe-agent_1776_test-repo_1776_1:latest"},
		{"Django__Django__4.0", "", "", "docker.io/swebench/sweb.eval.x86_64.django_1776_django_1776_4.0:latest"},
		{"project__sub__module__version__1.2.3", "", "", "docker.io/swebench/sweb.eval.x86_64.project_1776_sub_1776_module_1776_version_1776_1.2.3:latest"},
		{"x", "Ghcr.io/Own/X:1", "", "Ghcr.io/Own/X:1"},
		{"x", "docker.io/swebench/x:latest", "mirror.local/", "mirror.local/swebench/x:latest"},
		{"x", "swebench/x:latest", "mirror.local", "mirror.local/swebench/x:latest"},
		{"x", "localhost:5000/a/x@sha256:00", "mirror.local/hub/", "mirror.local/hub/a/x@sha256:00"},
		{"x", "x:1", "mirror.local", "mirror.local/x:1"},
	} {
		in := dataset.Instance{ID: c.id, Image: c.image}
		if got := in.ImageName(c.prefix); got != c.want {
			t.Errorf("ImageName(%q) of %+v = %s; want %v", c.prefix, c, got, c.want)
		}
	}
}

// Other rows and other selections never move an instance to another shard: a shard that has begun
// would otherwise pay for an instance of another one.
func TestAnInstanceKeepsItsShard(t *testing.T) {
	const n = 7
	of := func(s dataset.Selection, in []dataset.Instance) map[string]int {
		parts := map[string]int{}
		for i := range n {
			s.Shard = fmt.Sprintf("%d/%d", i+1, n)
			got, err := s.Apply(in)
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range got {
				if parts[in.ID] != 0 {
					t.Errorf("%s is in the shards %d and %d", in.ID, parts[in.ID], i+1)
				}
				parts[in.ID] = i + 1
			}
		}
		return parts
	}
	whole := of(dataset.Selection{}, repos(500))
	if len(whole) != 500 {
		t.Errorf("the shards have %d instances, want 500", len(whole))
	}
	sizes := map[int]int{}
	for _, i := range whole {
		sizes[i]++
	}
	for i, size := range sizes {
		if size < 40 || size > 110 {
			t.Errorf("shard %d has %d of 500 instances, want about a seventh", i, size)
		}
	}
	for name, parts := range map[string]map[string]int{
		"more rows":      of(dataset.Selection{}, repos(600)),
		"fewer rows":     of(dataset.Selection{}, repos(500)[100:]),
		"filtered":       of(dataset.Selection{Filter: "repo[12]"}, repos(500)),
		"shuffled, less": of(dataset.Selection{Shuffle: true, Seed: 1, Slice: "::2"}, repos(500)),
	} {
		for id, i := range parts {
			if whole[id] != 0 && whole[id] != i {
				t.Errorf("%s: %s is in shard %d, was in %d", name, id, i, whole[id])
			}
		}
	}
	// The rule is part of the run directory's format: other programs may apply it.
	for id, want := range map[string]string{"django__django-11019": "3/3", "sympy__sympy-20590": "2/3", "demo__slug-1": "1/3", "demo__factor-4": "3/3"} {
		if shard, err := dataset.ParseShard(want); err != nil || !shard.Has(id) || shard.String() != want {
			t.Errorf("%s is not in shard %s (%v)", id, want, err)
		}
	}
}
