package dataset_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/hub"
	"batch.example/batch/fault"
)

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestIgnoredFilesOfAFolderAreLogged(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"test.jsonl", "a/test.jsonl", "b/c/1.json", "d/train.parquet", "e/test.jsonl"} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), []byte(fmt.Sprintf(`{"instance_id":"i%d"}`, i)))
	}
	var log bytes.Buffer
	d := open(t, dataset.Source{Name: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if ids(d) != "i0" || !strings.Contains(log.String(), "not a/test.jsonl, b/c/1.json, d/train.parquet") {
		t.Errorf("read %s; log %s; want ids %q, %q", ids(d), &log, "i0", "not a/test.jsonl, b/c/1.json, d/train.parquet")
	}
}

func gz(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zst(t *testing.T, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, nil)
}

func TestFormatsAgreeOnRealRows(t *testing.T) {
	for file, few := range map[string]bool{"SWE-bench_Lite-dev.parquet": false, "SWE-bench_Multilingual-test.parquet": true} {
		source := shared(t, file)
		want := open(t, dataset.Source{Name: source}).Instances
		var list []map[string]any
		var lines, viewer bytes.Buffer
		viewer.WriteString(`{"features": [], "rows": [`)
		byID := `{`
		for i, in := range want {
			list = append(list, in.Fields)
			line := marshal(t, in.Fields)
			lines.Write(append(line, '\n'))
			sep := ","
			if i == 0 {
				sep = ""
			}
			fmt.Fprintf(&viewer, `%s{"row_idx": %d, "row": %s, "truncated_cells": []}`, sep, i, line)
			byID += fmt.Sprintf("%s\n%q: %s", sep, in.ID, line)
		}
		viewer.WriteString("]}")
		indented, err := json.MarshalIndent(list, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{
			"x.jsonl": lines.Bytes(), "x.json": indented, "x.jsonl.gz": gz(t, lines.Bytes()), "x.json.zst": zst(t, indented),
			"byid.json": []byte(byID + "}"), "viewer.json": viewer.Bytes(), "x.parquet.zst": zst(t, raw), "x.parquet.gz": gz(t, raw),
			"lines-called.json": lines.Bytes(), "list-called.jsonl": indented, "parquet-called.json": raw, "no-extension": lines.Bytes(),
			"bom.jsonl": append([]byte("\xef\xbb\xbf"), bytes.ReplaceAll(lines.Bytes(), []byte("\n"), []byte("\r\n\r\n"))...),
		} {
			if few && name != "x.jsonl" { // only lists differ here
				continue
			}
			t.Run(file+" as "+name, func(t *testing.T) {
				d := open(t, dataset.Source{Name: write(t, filepath.Join(t.TempDir(), name), data)})
				if !reflect.DeepEqual(want, d.Instances) { // cmp needs a second for so much data
					t.Errorf("%.2000s", cmp.Diff(want, d.Instances))
				}
				if sum := fmt.Sprintf("%x", sha256.Sum256(data)); d.Digest != sum {
					t.Errorf("digest %s, want %s", d.Digest, sum)
				}
			})
		}
	}
}

// nestedRow has nested columns, which the parquet reader must assemble.
type nestedRow struct {
	ID      string            `parquet:"instance_id"`
	F2P     []string          `parquet:"FAIL_TO_PASS,list"`
	Config  *nestedConfig     `parquet:"install_config,optional"`
	Bare    []int32           `parquet:"bare"`
	Assets  []nestedAsset     `parquet:"assets,list"`
	Env     map[string]string `parquet:"env"`
	When    time.Time         `parquet:"created_at,timestamp"`
	Score   float32           `parquet:"score"`
	Count   uint32            `parquet:"count"`
	Good    bool              `parquet:"good"`
	Patch   []byte            `parquet:"patch"`
	Version *string           `parquet:"version,optional"`
}

type nestedConfig struct {
	Python string   `parquet:"python"`
	Tests  []string `parquet:"test_cmd,list"`
}

type nestedAsset struct {
	Path string   `parquet:"path"`
	URLs []string `parquet:"urls,list"`
}

func TestNestedParquet(t *testing.T) {
	version := "1.10"
	rows := []nestedRow{
		{
			ID: "a", F2P: []string{" x ", "y"}, Config: &nestedConfig{"3.9", []string{"pytest"}}, Bare: []int32{1, 2},
			Assets: []nestedAsset{{"p", []string{"u", "v"}}, {"q", nil}}, Env: map[string]string{"K": "V"},
			When: time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC), Score: 0.5, Count: 4e9, Good: true, Patch: []byte("\xff\r\n"), Version: &version,
		},
		{ID: "b"},
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	d := open(t, dataset.Source{Name: write(t, filepath.Join(t.TempDir(), "n.parquet"), b.Bytes())})
	want := []map[string]any{
		{
			"instance_id": "a", "FAIL_TO_PASS": []any{" x ", "y"}, "bare": []any{int64(1), int64(2)},
			"install_config": map[string]any{"python": "3.9", "test_cmd": []any{"pytest"}},
			"assets":         []any{map[string]any{"path": "p", "urls": []any{"u", "v"}}, map[string]any{"path": "q", "urls": []any{}}},
			"env":            map[string]any{"K": "V"}, "created_at": "2024-02-29T01:02:03Z", "score": 0.5,
			"count": int64(4e9), "good": true, "patch": "\xff\r\n", "version": "1.10",
		},
		{
			"instance_id": "b", "FAIL_TO_PASS": []any{}, "bare": []any{}, "install_config": nil, "assets": []any{},
			"env": map[string]any{}, "score": 0.0, "count": int64(0), "good": false, "patch": "", "version": nil,
			"created_at": d.Instances[1].Fields["created_at"],
		},
	}
	for i, in := range d.Instances {
		if diff := cmp.Diff(want[i], in.Fields); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
	}
	if a := d.Instances[0]; a.Patch != "\xff\r\n" || a.Version != "1.10" || cmp.Diff([]string{" x ", "y"}, a.FailToPass) != "" {
		t.Errorf("got %+v, want patch %q, version %q, no difference", a, "\xff\r\n", "1.10")
	}
}

// typedRow has parquet types that no field of an instance has.
type typedRow struct {
	ID    string     `parquet:"instance_id"`
	Small int32      `parquet:"small,decimal(2:9)"`
	Large int64      `parquet:"large,decimal(3:18)"`
	Bytes [4]byte    `parquet:"bytes,decimal(1:9)"`
	Day   int32      `parquet:"day,date"`
	Micro int64      `parquet:"micro,timestamp(microsecond)"`
	Nano  []int64    `parquet:"nano,list"`
	Huge  uint64     `parquet:"huge"`
	Raw   [3]byte    `parquet:"raw"`
	Days  []typedDay `parquet:"days,list"`
}

type typedDay struct {
	Day int32 `parquet:"day,date"`
}

func TestParquetColumnsOfTheWrongType(t *testing.T) {
	var b bytes.Buffer
	rows := []typedRow{{
		ID: "a", Small: -5, Large: 1234567, Bytes: [4]byte{0xff, 0xff, 0xff, 0xf6}, Day: 19782, Micro: 1709168523000001, Nano: []int64{1},
		Huge: math.MaxUint64, Raw: [3]byte{0xff, 0, 'a'}, Days: []typedDay{{19782}},
	}}
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	d := open(t, dataset.Source{Name: write(t, filepath.Join(t.TempDir(), "t.parquet"), b.Bytes())})
	want := map[string]any{
		"instance_id": "a", "small": "-0.05", "large": "1234.567", "bytes": "-1.0", "day": "2024-02-29", "micro": "2024-02-29T01:02:03.000001Z",
		"nano": []any{int64(1)}, "huge": float64(math.MaxUint64), "raw": "\xff\x00a", "days": []any{map[string]any{"day": "2024-02-29"}},
	}
	if diff := cmp.Diff(want, d.Instances[0].Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// itemList is a list with the element names of older writers.
type itemList struct{ parquet.Group }

func (itemList) Type() parquet.Type { return parquet.List(parquet.Leaf(parquet.Int32Type)).Type() }

func TestParquetListsOfOlderWriters(t *testing.T) {
	schema := parquet.NewSchema("rows", parquet.Group{
		"instance_id": parquet.String(),
		"days":        parquet.Optional(itemList{parquet.Group{"list": parquet.Repeated(parquet.Group{"item": parquet.Optional(parquet.Date())})}}),
	})
	var b bytes.Buffer
	w := parquet.NewGenericWriter[any](&b, schema)
	day, id := parquet.ValueOf(int32(19782)), parquet.ValueOf("a")
	if _, err := w.WriteRows([]parquet.Row{
		{day.Level(0, 3, 0), parquet.ValueOf(nil).Level(1, 2, 0), id.Level(0, 0, 1)},
		{parquet.ValueOf(nil).Level(0, 0, 0), parquet.ValueOf("b").Level(0, 0, 1)},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, dataset.Source{Name: write(t, filepath.Join(t.TempDir(), "t.parquet"), b.Bytes())})
	for i, want := range []any{[]any{"2024-02-29", nil}, nil} {
		if diff := cmp.Diff(want, d.Instances[i].Fields["days"]); diff != "" {
			t.Errorf("days (-want +got):\n%s", diff)
		}
	}
}

func TestSplits(t *testing.T) {
	row := func(id string) []byte { return []byte(`{"instance_id":"` + id + `"}`) }
	for _, c := range []struct {
		name  string
		files map[string]string
		split string
		want  string // ids, or the error
		got   string // the split
	}{
		{"shards in order", map[string]string{"data/test-00001-of-00002.jsonl": "b", "data/test-00000-of-00002.jsonl": "a", "data/dev-00000-of-00001.jsonl": "c"}, "", "a b", "test"},
		{"a split by name", map[string]string{"test.jsonl": "a", "dev.json": "b"}, "dev", "b", "dev"},
		{"the only split", map[string]string{"train-00000-of-00001.jsonl": "a", "README.md": "x"}, "", "a", "train"},
		{"no test among several", map[string]string{"train.jsonl": "a", "dev.jsonl": "b"}, "", "several splits: dev, train", ""},
		{"a split that is not there", map[string]string{"train.jsonl": "a", "dev.jsonl": "b"}, "test", `no split "test"; it has dev, train`, ""},
		{"parts without a split are one", map[string]string{"b.jsonl": "b", "a.jsonl": "a"}, "", "a b", ""},
		{"a missing shard", map[string]string{"test-00000-of-00002.jsonl": "a"}, "", "part 2 of 2 of test is missing", ""},
		{"the better format", map[string]string{"test.jsonl": "a", "test.json": "a", "dataset_info.json": "x"}, "", "a", "test"},
		{"a folder for a split", map[string]string{"data/test/0000.jsonl": "a", "data/train/0000.jsonl": "b"}, "", "a", "test"},
		{"files of a nested folder", map[string]string{"old/run/test.jsonl": "b", "README.md": "x"}, "", "not old/run/test.jsonl; name the folder", ""},
		{"a split that only a nested folder has", map[string]string{"train.jsonl": "a", "dev.jsonl": "b", "old/test.jsonl": "c"}, "test", "not old/test.jsonl", ""},
		{"own files beside a nested folder's", map[string]string{"test.jsonl": "a", "old/test.jsonl": "b"}, "", "a", "test"},
		{"hidden files", map[string]string{".cache/x.jsonl": "b", "x.jsonl": "a"}, "", "a", ""},
		{"nothing", map[string]string{"README.md": "x"}, "", "no data files", ""},
		{"arrow only", map[string]string{"data.arrow": "x"}, "", "Arrow files are not read", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, id := range c.files {
				write(t, filepath.Join(dir, filepath.FromSlash(name)), row(id))
			}
			d, err := dataset.Open(t.Context(), dataset.Source{Name: dir, Split: c.split})
			if err != nil {
				wantUsage(t, err, c.want)
				return
			}
			if ids(d) != c.want || d.Split != c.got {
				t.Errorf("got %q of split %q, want %q of %q", ids(d), d.Split, c.want, c.got)
			}
		})
	}
	t.Run("a glob", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "p1.jsonl"), row("a"))
		write(t, filepath.Join(dir, "p2.jsonl"), row("b"))
		d := open(t, dataset.Source{Name: filepath.Join(dir, "p?.jsonl"), Split: "dev"})
		if ids(d) != "a b" || len(d.Files) != 2 || len(d.Digest) != 64 {
			t.Errorf("got %+v, want ids %q, 2 files, a digest of 64 characters", d, "a b")
		}
	})
}

func ids(d *dataset.Dataset) string {
	var out []string
	for _, in := range d.Instances {
		out = append(out, in.ID)
	}
	return strings.Join(out, " ")
}

func taskRepo() fstest.MapFS {
	fsys := fstest.MapFS{"sweb.yaml": {Data: []byte("datasets: [d]\nsplits: [test]\n")}, "tasks/README.md": {}}
	for _, id := range []string{"o__b-2", "o__a-1", "o__c-3"} {
		split := "test"
		if id == "o__c-3" {
			split = "deprecated"
		}
		dir := "tasks/" + id + "/"
		for name, data := range map[string]string{
			"task.yaml": "instance_id: " + id + "\nrepo: o/a\nversion: 1.10\nbase_commit: 12345678\nsplit: " + split +
				"\nimage: o/i:1\nlog_parser: p\neval_type: pass_and_fail\nextra: {n: 1, when: 2024-01-02}\n",
			"tests.json":           `{"FAIL_TO_PASS": [" a "], "PASS_TO_PASS": []}`,
			"problem_statement.md": "fix\r\nit", "gold.patch": "-\xe9\r\n", "test.patch": "+\xff", "eval.sh": "#!/bin/bash\n",
		} {
			fsys[dir+name] = &fstest.MapFile{Data: []byte(data)}
		}
	}
	return fsys
}

func TestTaskRepo(t *testing.T) {
	d := open(t, dataset.Source{Name: "demo", Demo: taskRepo()})
	if ids(d) != "o__a-1 o__b-2" || d.Split != "test" || d.Files[0] != "demo/tasks/o__a-1" {
		t.Fatalf("got %s of %s from %v; want ids %q, split %q, first file %q",
			ids(d), d.Split, d.Files, "o__a-1 o__b-2", "test", "demo/tasks/o__a-1")
	}
	in := d.Instances[0]
	if in.Patch != "-\xe9\r\n" || in.TestPatch != "+\xff" || in.ProblemStatement != "fix\r\nit" {
		t.Errorf("bytes changed: %+v, want patch %q, test patch %q, problem statement %q", in, "-\xe9\r\n", "+\xff", "fix\r\nit")
	}
	if in.Version != "1.10" || in.BaseCommit != "12345678" || in.FailToPass[0] != " a " || in.Fields["extra"].(map[string]any)["n"] != int64(1) {
		t.Errorf("values changed: %+v, want version %q, base commit %q, fail to pass 0 %q, n %v",
			in, "1.10", "12345678", " a ", int64(1))
	}
	if d := open(t, dataset.Source{Name: "demo", Demo: taskRepo(), Split: "deprecated"}); ids(d) != "o__c-3" {
		t.Errorf("asked by name: %s, want ids %q", ids(d), "o__c-3")
	}
	for name, c := range map[string]struct {
		change func(fstest.MapFS)
		text   string
	}{
		"a missing patch":   {func(m fstest.MapFS) { delete(m, "tasks/o__a-1/gold.patch") }, "demo/tasks/o__a-1/gold.patch"},
		"broken yaml":       {func(m fstest.MapFS) { m["tasks/o__a-1/task.yaml"].Data = []byte("a: [") }, "demo/tasks/o__a-1/task.yaml"},
		"broken tests":      {func(m fstest.MapFS) { m["tasks/o__a-1/tests.json"].Data = []byte("{") }, "demo/tasks/o__a-1/tests.json"},
		"another id inside": {func(m fstest.MapFS) { m["tasks/o__a-1/task.yaml"].Data = []byte("instance_id: x") }, `"x" in the folder of "o__a-1"`},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			m := taskRepo()
			c.change(m)
			_, err := dataset.Open(t.Context(), dataset.Source{Name: "demo", Demo: m})
			wantUsage(t, err, c.text)
		})
	}
}

func TestTaskRepoInAFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, taskRepo()); err != nil {
		t.Fatal(err)
	}
	d, demo := open(t, dataset.Source{Name: dir}), open(t, dataset.Source{Name: "demo", Demo: taskRepo()})
	if diff := cmp.Diff(demo.Instances, d.Instances); diff != "" || d.Digest != demo.Digest {
		t.Errorf("digest %s and %s; want no difference, digest %v\n%s", d.Digest, demo.Digest, demo.Digest, diff)
	}
}

func TestHubDatasetIsReadAndThenCached(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Repo-Commit", commit)
		switch r.URL.Path {
		case "/api/datasets/princeton-nlp/SWE-Bench_Lite/revision/main":
			fmt.Fprintf(w, `{"sha":%q,"siblings":[{"rfilename":"data/dev-00000-of-00001.jsonl"},{"rfilename":"data/test-00000-of-00001.jsonl"}]}`, commit)
		case "/datasets/princeton-nlp/SWE-Bench_Lite/resolve/" + commit + "/data/test-00000-of-00001.jsonl":
			w.Header().Set("ETag", `"e1"`)
			fmt.Fprint(w, `{"instance_id":"a"}`)
		case "/datasets/princeton-nlp/SWE-Bench_Lite/resolve/" + commit + "/data/dev-00000-of-00001.jsonl":
			w.Header().Set("ETag", `"e2"`)
			fmt.Fprint(w, `{"instance_id":"b"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	s := dataset.Source{Name: "lite", Hub: hub.Config{Endpoint: srv.URL, CacheDir: t.TempDir()}}
	d := open(t, s)
	if ids(d) != "a" || d.Split != "test" || d.Revision != commit {
		t.Errorf("got %+v, want ids %q, split %q, revision %v", d, "a", "test", commit)
	}
	s.Hub.Offline = true
	if again := open(t, s); cmp.Diff(d, again) != "" {
		t.Errorf("offline: %s, want no difference", cmp.Diff(d, again))
	}
	// This cache has only dev; without a split, the default is test.
	s = dataset.Source{Name: "lite", Split: "dev", Hub: hub.Config{Endpoint: srv.URL, CacheDir: t.TempDir()}}
	open(t, s)
	s.Hub.Offline, s.Split = true, ""
	_, err := dataset.Open(t.Context(), s)
	wantUsage(t, err, "test", "dev")

	s.Hub.Offline, s.Name = false, "princeton-nlp/SWE-bench_Verifed"
	_, err = dataset.Open(t.Context(), s)
	wantUsage(t, err, "did you mean princeton-nlp/SWE-Bench_Verified", "no such dataset")
}

func TestOpenHeedsCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := dataset.Open(ctx, dataset.Source{Name: write(t, filepath.Join(t.TempDir(), "x.jsonl"), []byte(`{"instance_id":"a"}`))})
	if !fault.Canceled(err) {
		t.Errorf("got %v, want a cancellation", err)
	}
}

func TestAPathIsLocatedFromItsFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1]*")
	for _, name := range []string{"lite", "owner/name", "rows"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		row := fmt.Sprintf(`{"instance_id":"a__b-%d","problem_statement":"p"}`, i)
		if err := os.WriteFile(filepath.Join(dir, "rows", fmt.Sprintf("test-%d.jsonl", i)), []byte(row), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"": "", "lite": "lite", "./lite": filepath.Join(dir, "lite"), "owner/name": filepath.Join(dir, "owner/name"), "owner/other": "owner/other",
		"rows/test-0.jsonl": filepath.Join(dir, "rows/test-0.jsonl"), "none.jsonl": filepath.Join(dir, "none.jsonl"), "/x/y": "/x/y",
	} {
		if got := dataset.Locate(name, dir); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	ds, err := dataset.Open(t.Context(), dataset.Source{Name: dataset.Locate("rows/*.jsonl", dir)})
	if err != nil || len(ds.Instances) != 2 {
		t.Errorf("a pattern in a folder with signs of patterns in its name: %v, want both files", err)
	}
}
