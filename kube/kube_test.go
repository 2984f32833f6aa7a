package kube

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/kubetest"
	"batch.example/batch/sandbox/engine"
	conformance "batch.example/batch/sandbox/engine/enginetest"
)

const testRepo = "batch-kube-test"

// madeImage is the name of the tests' image once it is made.
var madeImage string

// imageOnce makes the tests' image and copies it to the node.
var imageOnce = sync.OnceValues(func() (string, error) {
	root, err := enginetest.Root(strings.Fields(conformance.Tools), map[string]string{"testbed/.keep": ""})
	if err != nil {
		return "", err
	}
	name := testRepo + ":" + strings.ToLower(rand.Text())
	cmd := exec.Command("docker", "import", "-", name)
	cmd.Stdin = bytes.NewReader(root)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("docker import: %w: %s", err, out)
	}
	madeImage = name
	return name, nil
})

func testImage(t testing.TB) string {
	t.Helper()
	name, err := imageOnce()
	if err != nil {
		t.Fatal(err)
	}
	loadOnce.Do(func() { kubetest.Load(t, name) })
	return name
}

var loadOnce sync.Once

func TestMain(m *testing.M) {
	code := m.Run()
	if madeImage != "" {
		_ = exec.Command("docker", "rmi", madeImage).Run()
	}
	os.Exit(code)
}

// namespace makes a namespace with a level of Pod Security. It is removed at the end of the test.
func namespace(t testing.TB, api *cluster, level string) string {
	t.Helper()
	name := "test-" + strings.ToLower(rand.Text()[:12])
	err := api.core.Post().Resource("namespaces").Body(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": level},
	}}).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.core.Delete().Resource("namespaces").Name(name).Do(context.Background()).Error(); err != nil {
			t.Log(err)
		}
	})
	account := func() error {
		return api.core.Get().AbsPath("/api/v1/namespaces/" + name + "/serviceaccounts/default").Do(t.Context()).Error()
	}
	for end := time.Now().Add(2 * time.Minute); account() != nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) { // no pod is admitted before
	}
	return name
}

// open connects to a namespace of the tests' cluster.
func open(t testing.TB, space string) *fleet {
	t.Helper()
	c := Config{Files: []string{kubetest.Config(t)}, Target: "/" + space}
	e, err := c.Open(t.Context(), engine.Options{Pod: []byte(`{"imagePullPolicy": "Never"}`)}) // no registry is there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e.(*fleet)
}

func TestConformance(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	conformance.Run(t, conformance.Options{
		Open:  func(t testing.TB, _ string) engine.Engine { return open(t, "default") },
		Image: testImage,

		NoFiles: true, // Debian's containerd is older than image volumes
	})
}
