package dataset_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
)

func TestBadFilesAreUsageFaultsWithAPosition(t *testing.T) {
	var p bytes.Buffer
	if err := parquet.Write(&p, []struct {
		ID    string `parquet:"instance_id"`
		Patch int64  `parquet:"patch"`
	}{{"a", 1}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		data       []byte
		texts      []string
	}{
		{"a truncated parquet", "t.parquet", p.Bytes()[:p.Len()-10], []string{"t.parquet", "cut short", "download or copy it again"}},
		{"a parquet of nothing", "t.parquet", []byte("PAR1PAR1PAR1PAR1"), []string{"t.parquet"}},
		{"a wrong type in parquet", "t.parquet", p.Bytes(), []string{"t.parquet row 1: column patch is the number 1, want text"}},
		{"an empty file", "t.jsonl", nil, []string{"t.jsonl: the file is empty"}},
		{"no rows", "t.json", []byte("[]"), []string{"no rows"}},
		{"a broken line", "t.jsonl", []byte("{\"instance_id\":\"a\"}\n\n{\"instance_id\":"), []string{"t.jsonl line 3: broken JSON"}},
		{"two rows on a line", "t.jsonl", []byte("{\"instance_id\":\"a\"}\n{} {}"), []string{"t.jsonl line 2: two rows on one line", "a line of its own"}},
		{"two rows on the first line", "t.jsonl", []byte("{\"instance_id\":\"a\"} {\"instance_id\":\"b\"}\n{\"instance_id\":\"c\"}\n"), []string{"t.jsonl line 1: two rows on one line"}},
		{"two rows on the only line", "t.jsonl", []byte("{\"instance_id\":\"a\"}{\"instance_id\":\"b\"}"), []string{"t.jsonl line 1: two rows on one line"}},
		{"other text behind a row", "t.jsonl", []byte("{\"instance_id\":\"a\"}\n{} x"), []string{"line 2", "more text"}},
		{"one line without an id", "t.jsonl", []byte(`{"image_name":"x","repo":"a/b"}`), []string{"t.jsonl row 1: instance_id is missing"}},
		{"one row without an id", "t.json", []byte(`{"repo":"a/b","install_config":{}}`), []string{"t.json row 1: instance_id is missing"}},
		{"an object of other things", "t.json", []byte(`{"name":"x"}`), []string{"t.json row 1: instance_id is missing"}},
		{"an id that is a file of the run", "t.jsonl", []byte("{\"instance_id\":\"a\"}\n{\"instance_id\":\"preds.json\"}"), []string{"t.jsonl line 2", "preds.json", "own files"}},
		{"broken JSON", "t.json", []byte("[\n{\"instance_id\":\"a\"},\n{\"instance_id\" \"b\"}]"), []string{"t.json line 3: broken JSON"}},
		{"cut JSON", "t.json", []byte("[\n{\"instance_id\":\"a\"},\n"), []string{"t.json line 3", "ends in the middle"}},
		{"more behind the JSON", "t.json", []byte("[{\"instance_id\":\"a\"}]\n]"), []string{"t.json line 2"}},
		{"no id", "t.jsonl", []byte("{\"instance_id\":\"a\"}\n{\"repo\":\"x\"}"), []string{"t.jsonl line 2: instance_id is missing"}},
		{"an empty id", "t.json", []byte(`[{"instance_id":""}]`), []string{"t.json row 1: instance_id is missing"}},
		{"a misspelled id", "t.json", []byte(`[{"Instance_ID":"a"}]`), []string{"t.json row 1: instance_id is missing", "did you mean column Instance_ID to be instance_id?"}},
		{"an id between blanks", "t.json", []byte(`[{"instance_id":" a"}]`), []string{`instance_id " a" begins or ends with a blank`}},
		{"an id of a truth value", "t.json", []byte(`[{"instance_id":true}]`), []string{"column instance_id is true, want text"}},
		{"an id of a number", "t.json", []byte(`[{"instance_id":7}]`), []string{"column instance_id is the number 7, want text"}},
		{"an id that leaves the folder", "t.json", []byte(`[{"instance_id":"x/../../y"}]`), []string{"t.json row 1", "slash"}},
		{"an id that hides its folder", "t.json", []byte(`[{"instance_id":".batch.lock"}]`), []string{"t.json row 1", "begins with a dot"}},
		{"a duplicate id", "t.jsonl", []byte("{\"instance_id\":\"a\"}\n{\"instance_id\":\"b\"}\n{\"instance_id\":\"a\"}"), []string{"line 3: duplicate instance_id a", "t.jsonl line 1"}},
		{"a duplicate key", "t.json", []byte(`{"a":{}, "a":{}}`), []string{"row 2: duplicate instance_id a"}},
		{"a key beside its row", "t.json", []byte(`{"a":{"instance_id":"b"}}`), []string{`under "a" has the instance_id b`}},
		{"a row that is text", "t.json", []byte(`["a"]`), []string{"t.json row 1: text where a row should be"}},
		{"a list of numbers for tests", "t.json", []byte(`[{"instance_id":"a","FAIL_TO_PASS":["x",1]}]`), []string{"column FAIL_TO_PASS[1] is the number 1, want text"}},
		{"a text that is not a list", "t.json", []byte(`[{"instance_id":"a","FAIL_TO_PASS":"x::y"}]`), []string{"t.json row 1: column FAIL_TO_PASS is not a list"}},
		{"bytes that are not UTF-8", "t.jsonl", []byte("{\"instance_id\":\"a\"}\n{\"patch\":\"\xff\"}"), []string{"t.jsonl line 2: byte 0xff is not UTF-8", "task repo"}},
		{"half a character", "t.jsonl", []byte("{\"instance_id\":\"\\\\ud800\"}\n{\"patch\":\"\\udcff\"}"), []string{`t.jsonl line 2: \udcff is half a character`}},
		{"cells the viewer cut", "t.json", []byte(`{"rows":[{"row":{"instance_id":"a"},"truncated_cells":["patch"]}]}`), []string{"cut the cells [patch] short"}},
		{"a pointer of Git LFS", "t.parquet", []byte("version https://git-lfs.github.com/spec/v1\n"), []string{"git lfs pull"}},
		{"a web page", "t.parquet", []byte("<!doctype html>"), []string{"web page"}},
		{"half a gzip", "t.jsonl.gz", gz(t, []byte("{}"))[:15], []string{"decompressing", "t.jsonl.gz"}},
		{"half a zstd", "t.jsonl.zst", zst(t, []byte("{}"))[:8], []string{"decompressing", "t.jsonl.zst"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := dataset.Open(t.Context(), dataset.Source{Name: write(t, filepath.Join(t.TempDir(), c.file), c.data)})
			wantUsage(t, err, c.texts...)
		})
	}
}

func TestFilesThatAreNotRegularAreRefused(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "test.jsonl")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/zero", link, dir, filepath.Join(dir, "*.jsonl")} {
		_, err := dataset.Open(t.Context(), dataset.Source{Name: name})
		wantUsage(t, err, "not a regular file")
	}
}

func TestInstancesWithoutATaskAreFound(t *testing.T) {
	data := []byte(`[{"instance_id":"a","problem_statement":"do"},{"instance_id":"b"},
		{"instance_id":"c","problem_statement":null},{"instance_id":"d","problem_statement":" \n\t"}]`)
	d := open(t, dataset.Source{Name: write(t, filepath.Join(t.TempDir(), "t.json"), data)})
	if err := dataset.CheckTasks(d.Instances[:1]); err != nil {
		t.Error(err)
	}
	misspelled := open(t, dataset.Source{Name: write(t, filepath.Join(t.TempDir(), "t.json"), []byte(`[{"instance_id":"a","problem_statemen":"do"}]`))})
	wantUsage(t, dataset.CheckTasks(misspelled.Instances), "(1 of 1 instance)", "did you mean column problem_statemen to be problem_statement?")
	wantUsage(t, dataset.CheckTasks(d.Instances), "problem_statement of b is missing or blank", "(3 of 4 instances)")
}

func TestInstancesWithoutAGoldPatchAreFound(t *testing.T) {
	data := []byte(`[{"instance_id":"a","patch":"diff"},{"instance_id":"b"},{"instance_id":"c","patch":" \n"}]`)
	d := open(t, dataset.Source{Name: write(t, filepath.Join(t.TempDir(), "t.json"), data)})
	if err := dataset.CheckGold(d.Instances[:1]); err != nil {
		t.Error(err)
	}
	wantUsage(t, dataset.CheckGold(d.Instances), "column patch of b is missing or empty (2 of 3 instances)", "-m noop")
}

func TestADerivedImageNameIsMarkedAsDerived(t *testing.T) {
	missing := fault.Newf(fault.Instance, "pulling image x: not found").WithHint("check the image name")
	if err := (dataset.Instance{ID: "a"}).ExplainImage(missing); fault.KindOf(err) != fault.Instance ||
		err.Error() != missing.Error() || !strings.Contains(fault.HintOf(err), "set column image_name") {
		t.Errorf("got %v, hint %q; want an Instance fault, error %v, %q",
			err, fault.HintOf(err), missing.Error(), "set column image_name")
	}
	if err := (dataset.Instance{ID: "a", Image: "x"}).ExplainImage(missing); fault.HintOf(err) != "check the image name" {
		t.Errorf("the hint concerns the image name although the row has one: %q", fault.HintOf(err))
	}
	gone := fault.Newf(fault.Host, "no engine").WithHint("start it")
	if err := (dataset.Instance{ID: "a"}).ExplainImage(gone); fault.HintOf(err) != "start it" {
		t.Errorf("the hint concerns the image name although that is not the cause: %q", fault.HintOf(err))
	}
	if err := (dataset.Instance{ID: "a"}).ExplainImage(nil); err != nil {
		t.Errorf("got error %v for a valid name", err)
	}
}

func TestDamagedParquetIsAnErrorNotAPanic(t *testing.T) {
	whole, err := os.ReadFile(shared(t, "SWE-bench_Lite-dev.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range 200 {
		data := bytes.Clone(whole)
		data[(i*7919+len(data)-1-i*13)%len(data)] ^= 0xff
		data[len(data)-9-i*3] ^= 0x55 // the footer
		_, err := dataset.Open(t.Context(), dataset.Source{Name: write(t, filepath.Join(dir, "d.parquet"), data)})
		if err != nil && fault.KindOf(err) != fault.Usage {
			t.Fatalf("damage %d: got %v, want no error, or a Usage fault", i, err)
		}
	}
}

func TestMissingDatasets(t *testing.T) {
	dir := t.TempDir()
	near := write(t, filepath.Join(dir, "rows.jsonl"), []byte("{}"))
	for _, c := range []struct{ name, file, text string }{
		{"a misspelled file", filepath.Join(dir, "row.jsonl"), "did you mean " + near},
		{"a misspelled alias", "verifed", "did you mean verified"},
		{"a file that reads like an id", "data/rows.parquet", "no such file"},
		{"a glob without files", filepath.Join(dir, "*.parquet"), "no file matches"},
		{"no name", "", "no name given"},
		{"no demo", "demo", "embeds no demo"},
		{"an alias that is for tests alone", "_tst", "one of: demo full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := dataset.Open(t.Context(), dataset.Source{Name: c.file})
			wantUsage(t, err, c.text)
			if strings.Contains(fault.HintOf(err), "_test") {
				t.Errorf("%s names an internal alias", fault.HintOf(err))
			}
		})
	}
}
