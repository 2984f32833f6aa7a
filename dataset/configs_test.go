package dataset_test

import (
	"crypto/sha1" //nolint:gosec // the hub's etags are git's
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/hub"
)

// serve starts a hub with one dataset, o/d, of these files.
func serve(t *testing.T, files map[string]string) hub.Config {
	t.Helper()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Repo-Commit", commit)
		if r.URL.Path == "/api/datasets/o/d/revision/main" {
			type sibling struct {
				Name string `json:"rfilename"`
			}
			var all []sibling
			for name := range files {
				all = append(all, sibling{name})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": all})
			return
		}
		name, _ := strings.CutPrefix(r.URL.Path, "/datasets/o/d/resolve/"+commit+"/")
		text, ok := files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)))) //nolint:gosec // see above
		fmt.Fprint(w, text)
	}))
	t.Cleanup(srv.Close)
	return hub.Config{Endpoint: srv.URL, CacheDir: t.TempDir()}
}

// The rows and refusals are those of load_dataset, by huggingface/datasets at b7cb10b0e3: load.py,
// data_files.py and utils/metadata.py.
func TestConfigurationsAreReadAsTheCardSays(t *testing.T) {
	const two = `
- config_name: verified
  data_files:
  - split: test
    path: verified/test.jsonl
- config_name: lite
  data_files:
  - {split: test, path: [lite/b.jsonl, lite/a.jsonl]}
  - {split: dev, path: "lite/d*.jsonl"}
`
	twoFiles := []string{"verified/test.jsonl", "lite/a.jsonl", "lite/b.jsonl", "lite/dev.jsonl", "old/test.jsonl"}
	for _, c := range []struct {
		name, configs string
		files         []string // each has one row, whose id is the file's name
		config, split string
		want          string // ids, or "error: " and its text
	}{
		{"none of several is the default", two, twoFiles, "", "", "error: several configurations, and not one that is the default; its configurations: verified, lite"},
		{"a named one", two, twoFiles, "verified", "", "verified/test.jsonl"},
		{"its lists in their order", two, twoFiles, "lite", "", "lite/b.jsonl lite/a.jsonl"},
		{"its other split", two, twoFiles, "lite", "dev", "lite/dev.jsonl"},
		{"a split it does not have", two, twoFiles, "verified", "dev", `error: no split "dev"; it has test`},
		{"a name that is not there", two, twoFiles, "full", "", `error: no configuration "full"; its configurations: verified, lite`},
		{"the default by its field", strings.Replace(two, "config_name: lite", "config_name: lite\n  default: true", 1), twoFiles, "", "", "lite/b.jsonl lite/a.jsonl"},
		{"the default by its name", strings.Replace(two, "config_name: verified", "config_name: default", 1), twoFiles, "", "", "verified/test.jsonl"},
		{"two defaults", strings.ReplaceAll(two, "  data_files:", "  default: true\n  data_files:"), twoFiles, "", "", "error: not one that is the default"},
		{"the only one, whatever its name", "\n- config_name: x\n  data_files: final/*.jsonl\n", []string{"final/rows.jsonl", "old/test.jsonl"}, "", "", "final/rows.jsonl"},
		{"patterns without splits are train", "\n- config_name: x\n  data_files: [a.jsonl, b*.jsonl]\n", []string{"a.jsonl", "b1.jsonl", "c.jsonl"}, "", "test", `error: no split "test"; it has train`},
		{"a data_dir", "\n- config_name: x\n  data_dir: final\n- config_name: y\n  data_dir: ./old/\n", []string{"final/dev.jsonl", "final/test.jsonl", "old/test.jsonl", "older/test.jsonl"}, "y", "", "old/test.jsonl"},
		{"patterns in a data_dir", "\n- config_name: x\n  data_dir: final\n  data_files: '**'\n", []string{"final/a/test.jsonl", "final/b.jsonl", "final/.c/d.jsonl", "final/__x/y.jsonl", "e.jsonl"}, "", "", "final/a/test.jsonl final/b.jsonl"},
		{"folders at any depth", "\n- config_name: x\n  data_files: 'd/**/t[!x]*.jsonl'\n", []string{"d/ta.jsonl", "d/e/f/tb.jsonl", "d/tx.jsonl", "ta.jsonl"}, "", "", "d/e/f/tb.jsonl d/ta.jsonl"},
		{"a file of two patterns", "\n- config_name: x\n  data_files: ['*.jsonl', 'a*']\n", []string{"a.jsonl"}, "", "", "a.jsonl"},
		{"a file that is not there", "\n- config_name: x\n  data_files: none.jsonl\n", []string{"test.jsonl"}, "", "", "error: names none.jsonl"},
		{"no file", "\n- config_name: x\n  data_files: 'none*'\n", []string{"test.jsonl"}, "", "", "error: no data files"},
		{"stars within a name", "\n- config_name: x\n  data_files: '**.jsonl'\n", []string{"test.jsonl"}, "", "", "error: ** must stand alone"},
		{"a map of splits", "\n- config_name: x\n  data_files: {test: test.jsonl}\n", []string{"test.jsonl"}, "", "", "error: README.md"},
		{"a split twice", "\n- config_name: x\n  data_files:\n  - {split: a, path: a}\n  - {split: a, path: b}\n", []string{"test.jsonl"}, "", "", "error: a split of its own"},
		{"no name", "\n- data_files: test.jsonl\n", []string{"test.jsonl"}, "", "", "error: no config_name"},
		{"no list of configurations", " []", []string{"test.jsonl"}, "default", "", "test.jsonl"},
		{"a configuration where there is none", " []", []string{"test.jsonl"}, "lite", "", "error: its configurations: none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"README.md": "---\r\nlicense: mit\nconfigs:" + c.configs + "\n---\n# Data\n"}
			for _, name := range c.files {
				files[name] = `{"instance_id":"` + strings.ReplaceAll(name, "/", "__") + `"}`
			}
			s := dataset.Source{Name: "o/d", Split: c.split, Hub: serve(t, files)}
			if c.config != "" {
				s.Name += "/" + c.config
			}
			check := func(where string, s dataset.Source) {
				d, err := dataset.Open(t.Context(), s)
				if want, fails := strings.CutPrefix(c.want, "error: "); fails {
					wantUsage(t, err, want)
				} else if err != nil {
					t.Errorf("%s: %v", where, err)
				} else if got := strings.ReplaceAll(ids(d), "__", "/"); got != strings.ReplaceAll(c.want, "__", "/") {
					t.Errorf("%s: got %q, want %q", where, got, c.want)
				}
			}
			check("hub", s)
			if s.Hub.Offline = true; !strings.HasPrefix(c.want, "error: ") {
				check("its cache", s)
			}
			if c.config != "" {
				return // a folder's are chosen by their files
			}
			dir := t.TempDir()
			for name, text := range files {
				write(t, filepath.Join(dir, filepath.FromSlash(name)), []byte(text))
			}
			check("folder", dataset.Source{Name: dir, Split: c.split})
		})
	}
}

// Offline, configurations cannot be known without the card.
func TestAConfigurationIsNotGuessedOffline(t *testing.T) {
	conf := serve(t, map[string]string{"test.jsonl": `{"instance_id":"a"}`})
	open(t, dataset.Source{Name: "o/d", Hub: conf})
	conf.Offline = true
	_, err := dataset.Open(t.Context(), dataset.Source{Name: "o/d/x", Hub: conf})
	wantUsage(t, err, "README.md", "not in the cache")
}

// owner/name/CONFIG is a path where owner/name is one.
func TestAMistypedPathIsNoConfiguration(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "o", "d", "rows.jsonl"), []byte(`{"instance_id":"a"}`))
	t.Chdir(dir)
	for name, want := range map[string]string{"o/d/rows": filepath.Join(dir, "o/d/rows"), "o/e/rows": "o/e/rows"} {
		if got := dataset.Locate(name, dir); got != want {
			t.Errorf("%s: located at %q, want %q", name, got, want)
		}
	}
	_, err := dataset.Open(t.Context(), dataset.Source{Name: "o/d/rows", Hub: serve(t, nil)})
	wantUsage(t, err, "no such file")
	d, err := dataset.Open(t.Context(), dataset.Source{Name: "o/d/rows", ID: true, Hub: serve(t, map[string]string{
		"README.md": "---\nconfigs:\n- config_name: rows\n  data_files: b.jsonl\n---\n", "a.jsonl": "", "b.jsonl": `{"instance_id":"b"}`,
	})})
	if err != nil || !slices.Equal(strings.Fields(ids(d)), []string{"b"}) {
		t.Errorf("a recorded id: got %v, %v, want the row b", d, err)
	}
}

func TestAPatternOfManyStarsEnds(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, strings.Repeat("d/", 25))
	card := "---\nconfigs:\n- config_name: a\n  data_files: '" + strings.Repeat("**/", 12) + "x.jsonl'\n---\n"
	if err := errors.Join(os.MkdirAll(deep, 0o755), os.WriteFile(filepath.Join(deep, "y.jsonl"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "README.md"), []byte(card), 0o600)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := dataset.Open(t.Context(), dataset.Source{Name: dir}); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v; want an error at once", time.Since(began), err)
	}
}

func TestACardThatIsAPipeIsNotRead(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "README.md"), 0o600),
		os.WriteFile(filepath.Join(dir, "test.jsonl"), []byte(`{"instance_id":"a__a-1","problem_statement":"p"}`+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if d, err := dataset.Open(t.Context(), dataset.Source{Name: dir}); err != nil || len(d.Instances) != 1 {
		t.Errorf("got %v, %v; want one row", d, err)
	}
}
