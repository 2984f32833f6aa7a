package evaluate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/grade"
)

// What a patch makes the eval script write before the tests decides as if the patch had the file.
func TestWhatRunsBeforeTheTestsWrites(t *testing.T) {
	const marks = "\n: '>>>>> Start Test Output'\necho conftest: $(cat conftest.py)\n: '>>>>> End Test Output'\n"
	nonce := `$(sed -n "s/^echo 'batch \(.*\) files'.*/\1/p" "$0" | head -n 1)`
	for name, tt := range map[string]struct{ script, want string }{
		"nothing":              {"true", ""},
		"a conftest.py":        {"echo x > conftest.py; echo x > build.py", "conftest.py"},
		"what the tests read":  {"echo x > shop/plug.py; echo x > shop/other.py", "shop/plug.py"},
		"a start-up file":      {"echo x > $VENV/site-packages/a.pth; echo x > $VENV/site-packages/old.pth", "a.pth"},
		"an installed module":  {"echo x > $VENV/site-packages/plug.py; cp shop/a.py $VENV/site-packages/", "plug.py"},
		"the project's own":    {"mkdir -p build/lib; echo x > build/lib/conftest.py; echo x > shop/_version.py; echo x > $VENV/site-packages/__editable___shop_finder.py", ""},
		"a cache":              {"mkdir -p tests/__pycache__; echo x > tests/__pycache__/a.pyc; trap 'ls tests/__pycache__' EXIT", ""},
		"a plug-in":            {"mkdir -p $VENV/site-packages/e.dist-info; echo x > $VENV/site-packages/e.dist-info/entry_points.txt", "entry_points.txt"},
		"a link":               {"echo x > shop/x.txt; ln -sf shop/x.txt conftest.py", "conftest.py"},
		"behind a link":        {"echo x > $VENV/../../behind", "/behind"},
		"a large file":         {"head -c 2000000 /dev/zero > conftest.py", "conftest.py"},
		"an escaped name":      {`echo x > $VENV/site-packages/'a\b'.pth`, `a\b.pth`},
		"the standard library": {"mkdir $VENV/unittest; echo x > $VENV/unittest/case.py", "case.py"},
		"another's version":    {"mkdir $VENV/site-packages/plug; echo x > $VENV/site-packages/plug/_version.py", "_version.py"},
		"set -e":               {"set -eE; trap 'echo failed' ERR; echo x > conftest.py", "conftest.py"},
		"forged lists":         {"echo x > conftest.py; for i in 1 2; do echo; echo batch " + nonce + " files; done", "conftest.py"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repo(t, map[string]string{"conftest.py": "pytest_plugins = ['shop.plug']\n", "shop/plug.py": "y\n", "shop/other.py": "y\n", "shop/a.py": "a\n", "tests/a.py": "a\n"})
			venv := filepath.Join(t.TempDir(), "lib", "python3.9")
			write(t, venv, map[string]string{"site-packages/old.pth": "x\n"})
			env := filepath.Dir(filepath.Dir(venv))
			write(t, env, map[string]string{"bin/python": "", "behind": "x = 1\n"})
			if err := os.Symlink("../../behind", filepath.Join(venv, "sitecustomize.py")); err != nil { // as Debian's
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(env, "bin", "python"), 0o755); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
			t.Setenv("VIRTUAL_ENV", env)
			script := "export VENV=" + venv + " PATH=" + env + "/bin:$PATH\n"
			job := Job{Workdir: dir, Script: script + tt.script + marks, TestFiles: []string{"tests/a.py"}, Patch: []byte(newFile("notes.txt"))}
			e := evaluateLocally(t, dir, job)
			job.Ran = e.Ran
			list := WrittenDeciders(job, e.Written)
			if len(list) > 1 || len(list) == 0 && tt.want != "" || len(list) == 1 && (tt.want == "" || !strings.HasSuffix(list[0].Path, tt.want)) {
				t.Errorf("deciders %+v, want %q\n%s", list, tt.want, e.Log.Text)
			}
			if text := string(e.Log.Text); strings.Contains(text, "\nbatch "+e.Log.Nonce) || strings.Contains(text, "a.pyc") || !strings.Contains(text, grade.StartMarker(e.Log.Nonce)) || name != "forged lists" && (strings.Contains(text, "  ./") || strings.HasPrefix(text, "\n") || strings.Contains(text, "\n\n") || strings.Contains(text, "\nfailed")) {
				t.Errorf("the log has\n%s", text)
			}
			if len(list) == 0 {
				return
			}
			if filepath.IsAbs(list[0].Path) { // as in a new container
				if err := os.Remove(list[0].Path); err != nil {
					t.Fatal(err)
				}
			}
			git(t, dir, "reset", "-q", "--hard")
			git(t, dir, "clean", "-fdq")
			job.Without = []string{list[0].Path}
			e = evaluateLocally(t, dir, job)
			if text := string(e.Log.Text); name == "a conftest.py" && !strings.Contains(text, "conftest: pytest_plugins") {
				t.Errorf("the file is not as it was before the script:\n%s", text)
			}
			if _, err := os.Stat(list[0].Path); name == "a start-up file" && err == nil {
				t.Error("it is still there")
			}
		})
	}
}
