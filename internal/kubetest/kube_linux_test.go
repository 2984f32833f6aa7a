package kubetest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tests never change a cluster that scripts/kube did not make.
func TestConfigRefusesAnotherCluster(t *testing.T) {
	if os.Getenv("BATCH_KUBE_TEST_REFUSES") != "" {
		Config(t)
		return
	}
	other := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(other, []byte("apiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kube, config, want string }{
		{"", other, "--- SKIP"},
		{"1", other, "not the file of a cluster that scripts/kube made"},
		{"require", "", "BATCH_KUBE=require: KUBECONFIG= names no file"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestConfigRefusesAnotherCluster$", "-test.v")
		cmd.Env = append(os.Environ(), "BATCH_KUBE_TEST_REFUSES=1", "BATCH_KUBE="+c.kube, "KUBECONFIG="+c.config)
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), c.want) || (err == nil) != (c.want == "--- SKIP") {
			t.Errorf("BATCH_KUBE=%s KUBECONFIG=%s: %v, want %s\n%s", c.kube, cmp.Or(c.config, "(none)"), err, c.want, out)
		}
	}
}
