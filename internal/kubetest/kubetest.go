// Package kubetest gives tests the Kubernetes cluster of one node that scripts/kube starts. All
// tests share it: what a test makes has names of its own.
//
// BATCH_KUBE says that there is one, and KUBECONFIG names its file; scripts/kube up prints it:
//
//	env BATCH_KUBE=1 $(scripts/kube up) go test ./kube/...
//
// Without BATCH_KUBE the tests are skipped. BATCH_KUBE=require, which scripts/test sets where a cluster is
// possible, turns each skip into a failure.
package kubetest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mark begins a kubeconfig of scripts/kube. Tests never use another cluster.
const mark = "# scripts/kube made this file"

// Config returns the path of the cluster's kubeconfig, whose user may do everything. It skips the
// test where no cluster runs.
func Config(t testing.TB) string {
	t.Helper()
	if os.Getenv("BATCH_KUBE") == "" {
		t.Skip("BATCH_KUBE is not set: needs a Kubernetes cluster, see scripts/kube")
	}
	path := os.Getenv("KUBECONFIG")
	text, err := os.ReadFile(path)
	switch {
	case path == "" || errors.Is(err, fs.ErrNotExist):
		lacks(t, "KUBECONFIG=%s names no file: run scripts/kube up, and set what it prints", path)
	case err != nil:
		t.Fatal(err)
	case !bytes.HasPrefix(text, []byte(mark)):
		t.Fatalf("KUBECONFIG=%s is not the file of a cluster that scripts/kube made, which tests may change", path)
	}
	return path
}

// Host returns the address at which the cluster's pods reach servers of this machine. They reach
// no other address of it.
func Host(t testing.TB) string {
	t.Helper()
	host, err := os.ReadFile(filepath.Join(dir(t), "host"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(host))
}

// Load copies images of the Docker engine to the node, where they have the same names.
func Load(t testing.TB, images ...string) {
	t.Helper()
	script(t, append([]string{"load"}, images...)...)
}

// Stop ends one of the cluster's programs, such as kubelet, and starts it again when the test ends,
// unless the test did. The cluster has no use for other tests meanwhile.
func Stop(t testing.TB, program string) {
	t.Helper()
	t.Cleanup(func() { Start(t, program) })
	script(t, "stop", program)
}

// Start starts a stopped program of the cluster, and returns when it works.
func Start(t testing.TB, program string) {
	t.Helper()
	script(t, "start", program)
}

// dir returns the folder of the cluster.
func dir(t testing.TB) string {
	t.Helper()
	return filepath.Dir(Config(t))
}

// script runs scripts/kube for the cluster.
func script(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.Command(Script(t), args...)
	cmd.Env = append(os.Environ(), "BATCH_KUBE_DIR="+dir(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("scripts/kube %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Script returns the path of scripts/kube in the module that contains the test.
func Script(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; at != filepath.Dir(at); at = filepath.Dir(at) {
		path := filepath.Join(at, "scripts", "kube")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatal("no folder above the test has scripts/kube")
	return ""
}

// lacks skips a test for something that this machine lacks. Where BATCH_KUBE=require, the test
// fails: it would pass there without testing.
func lacks(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("BATCH_KUBE") == "require" {
		t.Fatalf("BATCH_KUBE=require: "+format, args...)
	}
	t.Skipf(format, args...)
}
