package grading

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

const (
	tinyImage = "batch-demo/tiny:latest"
	tinyID    = "tiny__tiny-1"

	tinyPatch = `diff --git a/tiny.c b/tiny.c
--- a/tiny.c
+++ b/tiny.c
@@ -1,5 +1,5 @@
 #include <Python.h>
 
-static PyObject *answer(PyObject *self, PyObject *args) { return PyLong_FromLong(41); }
+static PyObject *answer(PyObject *self, PyObject *args) { return PyLong_FromLong(42); }
 
 static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
`
	// tinyScript installs what the patch changed, and tests what is installed.
	tinyScript = `#!/bin/bash
set -uxo pipefail
cd /testbed
export PIP_INDEX_URL=http://%s/simple PIP_TRUSTED_HOST=%s
python3 -m pip install --break-system-packages --root-user-action ignore --force-reinstall --no-deps .
cd /
: '>>>>> Start Test Output'
python3 -c 'import tiny
print("PASSED test_import")
print("PASSED test_answer" if tiny.answer() == 42 else "FAILED test_answer")'
: '>>>>> End Test Output'
`
)

// A patch to a C file counts where it can be built, as in the harness, and a verdict on code that
// was not built says so.
func TestAPatchOfCompiledCodeIsBuilt(t *testing.T) {
	tier.Rest(t, "grade", "run/grading", "cmd/batch/grade*.go", "sandbox/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	buildTiny(t)
	index := startIndex(t, wheels(t))
	for name, c := range map[string]struct {
		index   string
		flags   []string
		verdict vocab.Verdict
		failed  bool
	}{
		"with an index":                  {index, nil, vocab.VerdictResolved, false},
		"without a network":              {index, []string{"--network", "none"}, vocab.VerdictUnresolved, true},
		"without an answer of the index": {strings.Split(index, ":")[0] + ":9", nil, vocab.VerdictUnresolved, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeTiny(t, dir, c.index)
			args := append([]string{"grade", "preds.json", "--subset", "rows.jsonl", "-o", "out", "-q"}, c.flags...)
			code, said := e2e.ExitCode(t, e2e.Batch(t, dir, args...))
			list, err := grades.Read(filepath.Join(dir, "out"))
			if err != nil || code != 0 || len(list) != 1 {
				t.Fatalf("exit code %d, %d grades, %v\n%s", code, len(list), err, said)
			}
			g := list[0]
			log, _ := os.ReadFile(filepath.Join(dir, "out", filepath.FromSlash(g.Log), "test_output.txt"))
			if g.Verdict != c.verdict || (g.FailedInstall != "") != c.failed || strings.Contains(said, "an install of the eval script failed") != c.failed {
				t.Errorf("%s (%s), failed install %q\n%s\n%s", g.Verdict, g.Why, g.FailedInstall, said, log)
			}
			if c.failed && bytes.Contains(log, []byte("Retrying")) && c.flags != nil {
				t.Errorf("pip waited for an index that it cannot reach:\n%s", log)
			}
		})
	}
}

func writeTiny(t *testing.T, dir, index string) {
	t.Helper()
	host, _, _ := strings.Cut(index, ":")
	row := map[string]any{
		"instance_id": tinyID, "repo": "tiny/tiny", "base_commit": "base", "version": "1", "problem_statement": "p", "image_name": tinyImage,
		"patch": tinyPatch, "test_patch": "", "eval_script": fmt.Sprintf(tinyScript, index, host), "log_parser": "parse_log_pytest",
		"eval_type": "pass_and_fail", "FAIL_TO_PASS": []string{"test_answer"}, "PASS_TO_PASS": []string{"test_import"},
	}
	preds := map[string]any{tinyID: map[string]string{"model_name_or_path": "m", "instance_id": tinyID, "model_patch": tinyPatch}}
	files := map[string]string{}
	for name, v := range map[string]any{"rows.jsonl": row, "preds.json": preds} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text) + "\n"
	}
	e2e.WriteFiles(t, dir, files)
}

// buildTiny builds the image, once on a machine: its packages are Debian's. It is one container's,
// since a builder leaves an image of each step.
func buildTiny(t *testing.T) {
	t.Helper()
	docker := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
		return string(out), err
	}
	if _, err := docker("image", "inspect", tinyImage); err == nil {
		return
	}
	name := "batch-tiny-" + strings.ToLower(rand.Text()[:8])
	t.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", name).Run() })
	const start = "docker create -i --name %s -w /testbed -e CC=tcc -e 'LDSHARED=tcc -shared' batch-demo/base:latest bash build.sh" +
		" && docker cp testdata/tiny/. %[1]s:/testbed"
	if out, err := exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf(start, name)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := docker("start", "-a", name); err != nil {
		if !strings.Contains(out, "pip") {
			t.Skipf("no container reaches Debian's packages: %s", out)
		}
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := docker("commit", "--change", `CMD ["bash"]`, name, tinyImage); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// wheels takes the wheels of what builds the package out of the image.
func wheels(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "docker", "run", "--rm", "--network", "none", tinyImage, "tar", "-C", "/usr/share/python-wheels", "-c", ".")
	untar := exec.CommandContext(t.Context(), "tar", "-C", dir, "-x")
	var err error
	if untar.Stdin, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if out, err := untar.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startIndex serves the wheels of a folder as a package index, and returns the address at which
// containers reach it.
func startIndex(t *testing.T, dir string) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /simple/{project}/", func(w http.ResponseWriter, r *http.Request) {
		found, _ := filepath.Glob(filepath.Join(dir, r.PathValue("project")+"-*.whl"))
		if len(found) == 0 {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintln(w, "<!DOCTYPE html><html><body>")
		for _, path := range found {
			fmt.Fprintf(w, "<a href=\"/files/%s\">%[1]s</a>\n", filepath.Base(path))
		}
		fmt.Fprintln(w, "</body></html>")
	})
	mux.Handle("GET /files/", http.StripPrefix("/files/", http.FileServer(http.Dir(dir))))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", machineAddress(t)+":0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux} //nolint:gosec // of a test
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// machineAddress is the address of this machine in its own network, which containers reach too.
func machineAddress(t *testing.T) string {
	t.Helper()
	route, err := (&net.Dialer{}).DialContext(t.Context(), "udp4", "192.0.2.1:9") // sends nothing
	if err != nil {
		t.Skipf("this machine has no network: %v", err)
	}
	defer route.Close()
	return route.LocalAddr().(*net.UDPAddr).IP.String()
}
