package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
)

func testProcess(t *testing.T, variables ...string) Process {
	t.Helper()
	return NewProcess([]string{"run"}, variables, t.TempDir())
}

// configsIn writes files with these names and arbitrary content.
func configsIn(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("agent: {step_limit: 7}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPathsOfARequestAreThoseOfItsFolder(t *testing.T) {
	dir, own := t.TempDir(), t.TempDir()
	configsIn(t, dir, "rows.jsonl", "my.yaml", "sub/a=b.yaml", "lite/test.jsonl")
	configsIn(t, own, "own.yaml")
	t.Chdir(t.TempDir())
	p := testProcess(t, "MSWEA_CONFIG_DIR="+own)
	r := NewRequest()
	r.Dir, r.Subset, r.InstancesFile, r.Replay = dir, "rows.jsonl", "ids", "recorded"
	r.Configs = []string{"my", "tools", "agent.step_limit=3", "own.yaml", "sub/a.yaml"}
	_, err := p.Absolute(r)
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "sub/a.yaml") {
		t.Errorf("got %v, want a usage fault that names the file", err)
	}
	configsIn(t, dir, "sub/a.yaml")
	got, err := p.Absolute(r)
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	want := r
	want.Subset, want.InstancesFile, want.Replay = in("rows.jsonl"), in("ids"), in("recorded")
	want.Configs = []string{in("my.yaml"), "tools", "agent.step_limit=3", "own.yaml", in("sub/a.yaml")}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if again, err := p.Absolute(got); err != nil || cmp.Diff(got, again) != "" {
		t.Errorf("absolute paths change: %v, %+v", err, again)
	}
	for name, path := range map[string]string{"./lite": in("lite"), "lite": "lite", "owner/name": "owner/name", "-": "-"} {
		r.Subset, r.Configs = name, nil
		if r.InstancesFile = ""; name == "-" {
			r.Subset, r.InstancesFile, path = "", "-", ""
		}
		if got, err := p.Absolute(r); err != nil || got.Subset != path || name == "-" && got.InstancesFile != "-" {
			t.Errorf("%s: got %q and %q, %v; want %q", name, got.Subset, got.InstancesFile, err, path)
		}
	}
}

// Messages show file names as people write them, and the names open the same files.
func TestFilesAreShownAsTheyAreWritten(t *testing.T) {
	dir := t.TempDir()
	configsIn(t, dir, "rows.jsonl", "lite/test.jsonl", "tools", "tools.yaml", "a=b/my.yaml")
	t.Chdir(dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	for path, want := range map[string]string{
		in("rows.jsonl"): "rows.jsonl", in("lite"): in("lite"), "lite": "lite", "owner/name": "owner/name", "/elsewhere/x.jsonl": "/elsewhere/x.jsonl",
	} {
		if got := subset(Request{Subset: path}); got != want {
			t.Errorf("%s is shown as %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{
		in("tools"): in("tools"), in("tools.yaml"): "tools.yaml", "tools": "tools", "a=b": "a=b", in("a=b/my.yaml"): in("a=b/my.yaml"), "/elsewhere/x.yaml": "/elsewhere/x.yaml",
	} {
		r := Request{Configuration: Configuration{Configs: []string{path}}}
		if got := configs(r)[0]; got != want {
			t.Errorf("%s is shown as %s, want %s", path, got, want)
		}
	}
	r := Request{Configuration: Configuration{Configs: []string{in("a=b/my.yaml")}}}
	if cfg, err := testProcess(t).LoadConfig(r); err != nil || cfg.Agent.StepLimit != 7 {
		t.Errorf("%v; want the file to be read", err)
	}
}

// A request hides the same secrets as a command line, in every member.
func TestNoMemberOfARequestHasASecret(t *testing.T) {
	for _, secret := range []string{"https://bob:hunter2pw@m.local", "token=hunter2"} {
		var r Request
		fill(reflect.ValueOf(&r).Elem(), secret)
		r.Dir, r.Subset, r.InstancesFile, r.Replay, r.Assets, r.Output = "/d", "/d/s", "/d/i", "/d/r", "/d/a", "/d/o" // paths
		r.Configs = []string{"model.api_base=" + secret}
		text, err := json.Marshal(Masked(r))
		if err != nil || strings.Contains(string(text), "hunter2") {
			t.Errorf("%v: %s", err, text)
		}
	}
	path := filepath.Join(t.TempDir(), "token=1", "c.yaml")
	if r := Masked(Request{Configuration: Configuration{Configs: []string{path}}}); r.Configs[0] != path || r.Secret() != "" {
		t.Errorf("a path is taken for a secret: %q", r.Configs)
	}
}

// fill sets all texts in v.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	}
}

// If a run is continued where a folder has the name of its hub dataset, it still uses the
// hub's.
func TestADatasetOfTheHubStaysOne(t *testing.T) {
	t.Chdir(t.TempDir())
	configsIn(t, ".", "own/ds/rows.jsonl")
	p := testProcess(t, "HF_ENDPOINT=http://127.0.0.1:1", "HF_HUB_OFFLINE=1")
	r := NewRequest()
	r.Dir, r.Subset = "/elsewhere", "own/ds"
	if _, _, err := p.LoadDataset(t.Context(), r); err == nil || strings.Contains(err.Error(), "rows.jsonl") {
		t.Errorf("got %v, want that the hub was asked", err)
	}
}

func TestAConfigurationOfTheVariableIsFoundByIt(t *testing.T) {
	a, b, dir := t.TempDir(), t.TempDir(), t.TempDir()
	configsIn(t, a, "mine.yaml")
	configsIn(t, b, "mine.yaml")
	configsIn(t, dir, "confs/inner.yaml")
	t.Chdir(dir)
	r := NewRequest()
	r.Configs = []string{"mine"}
	stored, err := testProcess(t, "MSWEA_CONFIG_DIR="+a).Absolute(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	configsIn(t, ".", "mine.yaml") // which is another one
	if err := os.WriteFile(filepath.Join(b, "mine.yaml"), []byte("agent: {step_limit: 9}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, err := testProcess(t, "MSWEA_CONFIG_DIR="+b).LoadConfig(stored); err != nil || cfg.Agent.StepLimit != 9 {
		t.Errorf("%v; want the file of the variable", err)
	}
	stored.Configs = []string{"inner"}
	if _, err := testProcess(t, "MSWEA_CONFIG_DIR=confs").LoadConfig(stored); err != nil {
		t.Errorf("%v; want a relative variable to start in the folder of the run", err)
	}
}

// made writes a manifest, and returns its folder.
func made(t *testing.T, m map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, manifest.File), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestARequestIsReadFromItsDirectory(t *testing.T) {
	at := t.TempDir()
	configsIn(t, at, "rows.jsonl")
	r := NewRequest()
	r.Dir, r.Subset, r.Named, r.InstancesFile, r.CostLimit = at, filepath.Join(at, "rows.jsonl"), []string{"a"}, "-", 3
	dir := made(t, map[string]any{"format_version": 2, "command": "run", "argv": []string{"run", "--anything"}, "request": r, "dataset": map[string]any{"instances": []string{"a", "b"}}})
	got, m, err := ReadRequest(dir, testProcess(t))
	if err != nil {
		t.Fatal(err)
	}
	r.Output, r.Also, r.Only = dir, []string{"a", "b"}, []string{"a", "b"}
	if d := cmp.Diff(r, got); d != "" || !slices.Equal(m.Argv, []string{"run", "--anything"}) {
		t.Errorf("argv %q (-want +got):\n%s", m.Argv, d)
	}
	r.Configs = []string{"model.model_kwargs.api_key=S3CRET"}
	for what, m := range map[string]map[string]any{
		"a hidden secret":  {"format_version": 2, "command": "run", "request": Masked(r)},
		"grades":           {"format_version": 2, "command": "grade"},
		"a conversation":   {"format_version": 2, "command": "chat", "request": r},
		"a newer version":  {"format_version": 3, "command": "run", "request": r},
		"no command":       {"format_version": 2, "request": r},
		"an older version": {"format_version": 1, "command": "run", "request": r},
		"no request":       {"format_version": 2, "command": "run", "argv": []string{"run"}},
	} {
		if _, _, err := ReadRequest(made(t, m), testProcess(t)); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: got %v (%s); want a usage fault with a hint", what, err, fault.HintOf(err))
		}
	}
}

func TestTheRequestOfACellIsInItsFolder(t *testing.T) {
	r := NewRequest()
	r.Dir, r.Model, r.Replay = "/from", "m", "/from/recorded"
	c := sweeps.Cell{Folder: "m@1", Request: &r}
	got, err := CellRequest("s", c, testProcess(t))
	if err != nil || got.Output != "s/m@1" || got.Replay != "/from/recorded/m@1" {
		t.Errorf("%v; output %s, replay %s", err, got.Output, got.Replay)
	}
	masked := Masked(Request{Configuration: Configuration{Configs: []string{"model.model_kwargs.api_key=S3CRET"}}})
	c.Request = &masked
	if _, err := CellRequest("s", c, testProcess(t)); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want a usage fault that names the secret", err)
	}
}
